//! A random session for the tests of this folder: valid inputs of the fold, and the pages that a
//! daemon would answer.

use super::*;
use hob_wire::block::{Block, BlockChange, QuestionKind};
use hob_wire::content::{ContentPart, Message, MessageContent, Role, ToolCall, ToolResult};
use hob_wire::id::RunId;
use hob_wire::work::{RunEndCause, ToolCallState};
use proptest::prelude::*;

/// One thing that happens in a session.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    Text(String),
    Thinking(String),
    CallText(u32),
    Retry,
    /// The answer is stored with this many calls. If `differs`, its text is not the streamed one.
    Answer {
        calls: usize,
        differs: bool,
    },
    CallBegun(usize),
    Output(usize, String),
    Result(usize, bool),
    Ask(usize),
    AnswerQuestions,
    Steer,
    Send,
    End(bool),
}

pub(super) fn happening() -> impl Strategy<Value = Happening> {
    let text = prop_oneof![
        Just("word "),
        Just("\n\n"),
        Just("- item\n"),
        Just("```\ncode\n"),
        Just("# Title\n"),
        Just("\u{1f600}"),
        Just("text\n"),
    ];
    let text = prop::collection::vec(text, 1..4).prop_map(|parts| parts.concat());
    prop_oneof![
        8 => text.clone().prop_map(Happening::Text),
        2 => text.clone().prop_map(Happening::Thinking),
        2 => (0_u32..3).prop_map(Happening::CallText),
        1 => Just(Happening::Retry),
        3 => (0_usize..4, prop::bool::weighted(0.2))
            .prop_map(|(calls, differs)| Happening::Answer { calls, differs }),
        3 => (0_usize..4).prop_map(Happening::CallBegun),
        3 => (0_usize..4, text).prop_map(|(call, text)| Happening::Output(call, text)),
        4 => (0_usize..4, any::<bool>()).prop_map(|(call, more)| Happening::Result(call, more)),
        1 => (0_usize..4).prop_map(Happening::Ask),
        1 => Just(Happening::AnswerQuestions),
        1 => Just(Happening::Steer),
        2 => Just(Happening::Send),
        1 => any::<bool>().prop_map(Happening::End),
    ]
}

/// The daemon's side of a session.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) fold: TranscriptFold,
    /// Every change so far.
    pub(super) changes: Vec<BlockChange>,
    /// What is stored: messages and the ends of runs.
    pub(super) stored: Vec<TranscriptInput>,
    seq: u64,
    runs: u128,
    run: Option<RunId>,
    step: u32,
    attempt: u32,
    text: String,
    thinking: String,
    /// The calls of the stored answer without a result.
    calls: Vec<ToolCall>,
    /// Results are due before the next step.
    is_model: bool,
    questions: Vec<String>,
}

impl Session {
    pub(super) fn new() -> Self {
        Session {
            fold: TranscriptFold::new(0, 0),
            changes: Vec::new(),
            stored: Vec::new(),
            seq: 0,
            runs: 0,
            run: None,
            step: 0,
            attempt: 0,
            text: String::new(),
            thinking: String::new(),
            calls: Vec::new(),
            is_model: false,
            questions: Vec::new(),
        }
    }

    pub(super) fn happens(&mut self, what: Happening) {
        let Some(run) = self.run else {
            if matches!(what, Happening::Send) {
                return self.message(Role::User, MessageContent::from("sent"), None);
            }
            return self.begin_run();
        };
        let at = self.at(run);
        match what {
            Happening::Text(text) if self.is_model => {
                let offset = self.text.len() as u64;
                self.text.push_str(&text);
                self.apply(TranscriptInput::Text { at, offset, text });
            }
            Happening::Thinking(text) if self.is_model => {
                let offset = self.thinking.len() as u64;
                self.thinking.push_str(&text);
                self.apply(TranscriptInput::Thinking { at, offset, text });
            }
            Happening::CallText(index) if self.is_model => {
                let (name, text) = ("exec".to_owned(), "{\"a\":".to_owned());
                self.apply(TranscriptInput::CallText {
                    at,
                    index,
                    name,
                    text,
                });
            }
            Happening::Retry if self.is_model => {
                self.begin_attempt(run, self.step, self.attempt + 1);
            }
            Happening::Answer { calls, differs } if self.is_model => {
                self.answer(run, calls, differs);
            }
            Happening::CallBegun(index) => {
                if let Some(call_id) = self.call(index) {
                    self.apply(TranscriptInput::CallBegun { run, call_id });
                }
            }
            Happening::Output(index, text) => {
                if let Some(call_id) = self.call(index) {
                    self.apply(TranscriptInput::CallOutput { run, call_id, text });
                }
            }
            Happening::Result(index, is_same) => self.result(run, index, is_same),
            Happening::Ask(index) => self.ask(run, index),
            Happening::AnswerQuestions => {
                for id in std::mem::take(&mut self.questions) {
                    self.apply(TranscriptInput::Answered { run, id });
                }
            }
            Happening::Steer => self.message(Role::User, MessageContent::from("steer"), Some(at)),
            Happening::Send => self.message(Role::User, MessageContent::from("sent"), None),
            Happening::End(has_notes) => self.end(run, has_notes),
            _ => {}
        }
    }

    /// The answer to `session.blocks`. `page_groups`: a page after a `seq` has this many positions.
    pub(super) fn page(&self, request: BlockRequest, page_seqs: u64) -> BlockPage {
        let settled = self.fold.settled();
        let stored = TranscriptFold::read_stored(self.stored.clone());
        let is_final = |block: &Block| block.details.seq.is_some_and(|seq| seq <= settled);
        let mut blocks: Vec<Block> = stored.into_iter().filter(is_final).collect();
        blocks.extend(self.fold.blocks().cloned());
        let first = match request {
            BlockRequest::After(after) => after,
            BlockRequest::Latest | BlockRequest::Before(_) => 0,
        };
        blocks.retain(|block| block.details.seq.is_none_or(|seq| seq > first));
        let last = first + page_seqs;
        let has_more = blocks
            .iter()
            .any(|block| block.details.seq.is_none_or(|seq| seq > last));
        let is_cut = matches!(request, BlockRequest::After(_)) && has_more && last < settled;
        if is_cut {
            blocks.retain(|block| block.details.seq.is_some_and(|seq| seq <= last));
        }
        BlockPage {
            blocks,
            before: None,
            after: is_cut.then_some(last),
            settled,
            position: self.fold.position(),
        }
    }

    /// Every block of the session.
    pub(super) fn all(&self) -> Vec<Block> {
        self.page(BlockRequest::Latest, 0).blocks
    }

    /// Ends the run, if one is in progress.
    pub(super) fn finish(&mut self) {
        if let Some(run) = self.run {
            self.end(run, true);
        }
    }

    fn at(&self, run: RunId) -> StepRef {
        StepRef {
            run,
            step: self.step,
            attempt: self.attempt,
        }
    }

    fn apply(&mut self, input: TranscriptInput) {
        if matches!(
            input,
            TranscriptInput::Message(_) | TranscriptInput::RunEnded { .. }
        ) {
            self.stored.push(input.clone());
        }
        self.fold.apply(input, &mut self.changes);
    }

    fn begin_run(&mut self) {
        self.runs += 1;
        let run: RunId = uuid(self.runs);
        self.run = Some(run);
        self.step = 0;
        self.apply(TranscriptInput::RunBegun { run });
        self.message(Role::User, MessageContent::from("task"), Some(self.at(run)));
        self.begin_attempt(run, 1, 1);
    }

    fn begin_attempt(&mut self, run: RunId, step: u32, attempt: u32) {
        (self.step, self.attempt, self.is_model) = (step, attempt, true);
        self.text.clear();
        self.thinking.clear();
        self.apply(TranscriptInput::Attempt(self.at(run)));
    }

    fn answer(&mut self, run: RunId, calls: usize, differs: bool) {
        let mut text = std::mem::take(&mut self.text);
        if differs {
            text = format!("{}other", &text[..text.floor_char_boundary(text.len() / 2)]);
        }
        let mut parts = Vec::new();
        if !self.thinking.is_empty() {
            let text = std::mem::take(&mut self.thinking);
            let signature = None;
            parts.push(ContentPart::Thinking { text, signature });
        }
        parts.push(ContentPart::Text { text });
        for index in 0..calls {
            let call = ToolCall {
                id: format!("call{}-{index}", self.seq),
                name: "exec".to_owned(),
                args: serde_json::json!({ "n": index }),
            };
            self.calls.push(call.clone());
            parts.push(ContentPart::ToolCall(call));
        }
        self.is_model = false;
        self.message(
            Role::Assistant,
            MessageContent::Parts(parts),
            Some(self.at(run)),
        );
        if calls == 0 {
            self.begin_attempt(run, self.step + 1, 1);
        }
    }

    fn result(&mut self, run: RunId, index: usize, is_same: bool) {
        let Some(id) = self.call(index) else {
            return;
        };
        self.calls.retain(|call| call.id != id);
        let outputs = self.fold.blocks().filter(|block| {
            matches!(&block.details.content, Some(hob_wire::block::BlockContent::Output { call_id, .. }) if *call_id == id)
        });
        let streamed = outputs.map(|block| block.text.clone()).next();
        let text = match streamed {
            Some(text) if is_same => format!("{text} end"),
            _ => "result".to_owned(),
        };
        let content = vec![ContentPart::Text { text }];
        let is_error = !is_same;
        let result = ToolResult {
            id,
            content,
            is_error,
        };
        let outcome = is_error.then_some(CallOutcome {
            state: ToolCallState::Denied,
            denial: None,
        });
        let origin = MessageOrigin {
            step: self.at(run),
            outcome,
        };
        let content = MessageContent::Parts(vec![ContentPart::ToolResult(result)]);
        self.store(Role::Tool, content, Some(origin));
        if self.calls.is_empty() {
            self.begin_attempt(run, self.step + 1, 1);
        }
    }

    fn ask(&mut self, run: RunId, index: usize) {
        let call_id = self.call(index);
        let asks = match call_id {
            Some(_) if index == 0 => QuestionKind::Doubt,
            Some(_) => QuestionKind::Permission,
            None => QuestionKind::Money,
        };
        let id = format!("q{}-{index}", self.seq);
        self.questions.push(id.clone());
        let sentence = "May it?".to_owned();
        self.apply(TranscriptInput::Asked {
            run,
            asks,
            id,
            call_id,
            sentence,
        });
    }

    fn end(&mut self, run: RunId, has_notes: bool) {
        let text = std::mem::take(&mut self.text);
        if self.is_model && !text.is_empty() && has_notes {
            let content = MessageContent::Text(format!("{text}\n[The answer was stopped here.]"));
            self.message(Role::Assistant, content, Some(self.at(run)));
        }
        self.apply(TranscriptInput::RunEnded {
            run,
            cause: RunEndCause::Aborted,
            message: has_notes.then(|| "Stopped.".to_owned()),
            notes: has_notes
                .then(|| "A note.".to_owned())
                .into_iter()
                .collect(),
        });
        self.run = None;
        self.is_model = false;
        self.calls.clear();
        self.questions.clear();
    }

    fn call(&self, index: usize) -> Option<String> {
        let index = index.checked_rem(self.calls.len())?;
        self.calls.get(index).map(|call| call.id.clone())
    }

    fn message(&mut self, role: Role, content: MessageContent, at: Option<StepRef>) {
        let origin = at.map(|step| MessageOrigin {
            step,
            outcome: None,
        });
        self.store(role, content, origin);
    }

    fn store(&mut self, role: Role, content: MessageContent, origin: Option<MessageOrigin>) {
        self.seq += 1;
        let message = Message {
            id: uuid(1_000 + u128::from(self.seq)),
            seq: self.seq,
            role,
            content,
            at: 1_000 * self.seq,
        };
        self.apply(TranscriptInput::Message(StoredMessage::new(
            message, origin,
        )));
    }
}

/// An id made of a number.
pub(super) fn uuid<T: std::str::FromStr<Err: std::fmt::Debug>>(number: u128) -> T {
    let hex = format!("{number:032x}");
    let text = format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    );
    text.parse().unwrap()
}

/// The blocks without their revisions, which count how a block came about.
pub(super) fn without_revisions(blocks: &[Block]) -> Vec<Block> {
    let plain = |block: &Block| Block {
        revision: 1,
        ..block.clone()
    };
    blocks.iter().map(plain).collect()
}
