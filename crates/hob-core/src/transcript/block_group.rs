//! The blocks of one message: a step of a run with the outputs of its calls, or a single message.
//! Notices and questions of a run are in its last group.

use super::call_blocks::{CallBlocks, result_text, set_result};
use super::changes::{Changes, close_with};
use super::input::{CallOutcome, STOPPED_MARK, StepRef};
use super::markdown::{MarkdownSplitter, TextPiece};
use hob_wire::block::{Block, BlockContent, BlockDetails, BlockKind, BlockStatus};
use hob_wire::content::{ContentPart, Message, MessageContent, Role, ToolCall, ToolResult};
use hob_wire::id::RunId;

/// The blocks of one message, in order.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct BlockGroup {
    /// The beginning of the ids of its blocks: `RUN/STEP/ATTEMPT` or `mSEQ`.
    prefix: String,
    pub(super) run: Option<RunId>,
    pub(super) step: Option<StepRef>,
    /// The `seq` of its message; `None` until that is stored.
    pub(super) seq: Option<u64>,
    /// The highest `seq` of its messages, including the results of its calls.
    pub(super) last_seq: u64,
    created_at: Option<u64>,
    /// The bytes of the text and of the reasoning received so far.
    text_bytes: u64,
    thinking_bytes: u64,
    splitter: MarkdownSplitter,
    thinking: Option<Block>,
    texts: Vec<Block>,
    calls: Vec<CallBlocks>,
    /// Notices, and questions that belong to no call.
    notices: Vec<Block>,
}

/// The parts of a stored answer, each kind joined.
#[derive(Debug, Default)]
struct AnswerParts {
    text: String,
    thinking: String,
    calls: Vec<ToolCall>,
    mime_types: Vec<String>,
}

impl BlockGroup {
    /// The group of a step that is not stored yet.
    pub(super) fn of_step(at: StepRef) -> Self {
        BlockGroup {
            run: Some(at.run),
            step: Some(at),
            ..BlockGroup::new(format!("{}/{}/{}", at.run, at.step, at.attempt))
        }
    }

    /// The group of a message that belongs to no step.
    pub(super) fn of_message(seq: u64, created_at: Option<u64>, run: Option<RunId>) -> Self {
        BlockGroup {
            run,
            seq: Some(seq),
            last_seq: seq,
            created_at,
            ..BlockGroup::new(format!("m{seq}"))
        }
    }

    /// An empty group for notices and questions of a run.
    pub(super) fn of_run(run: RunId, seq: Option<u64>) -> Self {
        BlockGroup {
            run: Some(run),
            seq,
            last_seq: seq.unwrap_or(0),
            ..BlockGroup::new(run.to_string())
        }
    }

    fn new(prefix: String) -> Self {
        BlockGroup {
            prefix,
            run: None,
            step: None,
            seq: None,
            last_seq: 0,
            created_at: None,
            text_bytes: 0,
            thinking_bytes: 0,
            splitter: MarkdownSplitter::default(),
            thinking: None,
            texts: Vec::new(),
            calls: Vec::new(),
            notices: Vec::new(),
        }
    }

    /// Its blocks in order.
    pub(super) fn blocks(&self) -> impl DoubleEndedIterator<Item = &Block> {
        let answer = self.thinking.iter().chain(&self.texts);
        let calls = self.calls.iter().flat_map(CallBlocks::blocks);
        answer.chain(calls).chain(&self.notices)
    }

    /// Returns true if none of its blocks changes any more by itself.
    pub(super) fn is_complete(&self) -> bool {
        self.seq.is_some()
            && self
                .blocks()
                .all(|block| block.status == BlockStatus::Closed)
    }

    /// Adds a piece of the streamed text.
    pub(super) fn push_text(&mut self, offset: u64, text: &str, changes: &mut Changes) {
        let Some(text) = new_part(&mut self.text_bytes, offset, text) else {
            return;
        };
        let mut pieces = Vec::new();
        self.splitter.push(text, &mut pieces);
        for piece in pieces {
            match piece {
                TextPiece::Boundary => self.close_text(changes),
                TextPiece::Text(text) => self.append_text(&text, changes),
            }
        }
    }

    /// Adds a piece of the streamed reasoning.
    pub(super) fn push_thinking(&mut self, offset: u64, text: &str, changes: &mut Changes) {
        let Some(text) = new_part(&mut self.thinking_bytes, offset, text) else {
            return;
        };
        if let Some(block) = &mut self.thinking {
            block.text.push_str(text);
            return changes.append(block, text);
        }
        let mut block = self.new_block("k", BlockKind::Thinking);
        block.text.push_str(text);
        changes.insert(&block);
        self.thinking = Some(block);
    }

    /// Adds a piece of the arguments of a call.
    pub(super) fn push_call(&mut self, index: u32, name: &str, text: &str, changes: &mut Changes) {
        let known = self.calls.iter_mut().find(|call| call.is_written_as(index));
        if let Some(call) = known {
            return call.push_arguments(text, changes);
        }
        let block = self.new_block(&format!("c{}", self.calls.len() + 1), BlockKind::ToolCall);
        self.calls
            .push(CallBlocks::written(block, index, name, text, changes));
    }

    /// Replaces what was streamed by the stored answer.
    pub(super) fn store_answer(&mut self, message: &Message, changes: &mut Changes) {
        self.seq = Some(message.seq);
        self.last_seq = self.last_seq.max(message.seq);
        self.created_at = Some(message.at);
        let (seq, created_at) = (self.seq, self.created_at);
        for block in self.answer_mut() {
            block.details.seq = seq;
            block.details.created_at = created_at;
        }
        let parts = AnswerParts::of(&message.content);
        self.store_thinking(parts.thinking, changes);
        let text = parts.text.as_str();
        let answer = text.strip_suffix(STOPPED_MARK);
        let answer = answer.filter(|_| self.step.is_some()).unwrap_or(text);
        self.store_texts(split(answer), changes);
        self.store_calls(parts.calls, changes);
    }

    /// Adds the text of a message that no model wrote.
    pub(super) fn store_text(&mut self, message: &Message, changes: &mut Changes) {
        let parts = AnswerParts::of(&message.content);
        let mut block = self.new_block("t1", BlockKind::Text);
        block.details.role = Some(message.role);
        if !parts.mime_types.is_empty() {
            let mime_types = parts.mime_types;
            block.details.content = Some(BlockContent::Images { mime_types });
        }
        changes.insert(&block);
        close_with(&mut block, parts.text, changes);
        self.texts.push(block);
    }

    /// Adds the result of a call.
    pub(super) fn store_result(
        &mut self,
        seq: u64,
        result: &ToolResult,
        outcome: Option<&CallOutcome>,
        changes: &mut Changes,
    ) {
        self.last_seq = self.last_seq.max(seq);
        if let Some((number, mut call)) = self.take_call(&result.id) {
            let output = self.new_output(number + 1);
            call.settle(result, outcome, output, changes);
            self.calls.insert(number, call);
        }
    }

    /// Adds a result whose call is not known.
    pub(super) fn store_lone_result(&mut self, result: &ToolResult, changes: &mut Changes) {
        let mut output = self.new_output(self.notices.len() + 1);
        set_result(&mut output, result);
        changes.insert(&output);
        close_with(&mut output, result_text(result), changes);
        self.notices.push(output);
    }

    /// The blocks of a stored call.
    pub(super) fn call_mut(&mut self, id: &str) -> Option<&mut CallBlocks> {
        self.calls.iter_mut().find(|call| call.id() == Some(id))
    }

    pub(super) fn has_call(&self, id: &str) -> bool {
        self.calls.iter().any(|call| call.id() == Some(id))
    }

    /// Adds a piece of the output of a running call.
    pub(super) fn push_output(&mut self, call: &str, text: &str, changes: &mut Changes) {
        if let Some((number, mut call)) = self.take_call(call) {
            let output = self.new_output(number + 1);
            call.push_output(text, output, changes);
            self.calls.insert(number, call);
        }
    }

    /// Adds a sentence for people.
    pub(super) fn push_notice(
        &mut self,
        id: String,
        text: &str,
        code: &str,
        changes: &mut Changes,
    ) {
        let mut block = self.new_block("", BlockKind::Notice);
        block.id = id;
        block.details.content = Some(BlockContent::Notice {
            code: code.to_owned(),
        });
        changes.insert(&block);
        close_with(&mut block, text.to_owned(), changes);
        self.notices.push(block);
    }

    /// Adds a question, behind its call if it has one here.
    pub(super) fn push_question(
        &mut self,
        id: String,
        content: BlockContent,
        sentence: &str,
        changes: &mut Changes,
    ) {
        let mut block = self.new_block("", BlockKind::Question);
        sentence.clone_into(&mut block.text);
        block.id = id;
        block.details.content = Some(content);
        let call = block.details.content.as_ref().and_then(question_call);
        let call = call.and_then(|id| self.calls.iter_mut().find(|call| call.id() == Some(id)));
        if call.is_none() {
            // It belongs to the run, whatever becomes of the step.
            block.details.step = None;
            block.details.attempt = None;
        }
        changes.insert(&block);
        match call {
            Some(call) => call.questions.push(block),
            None => self.notices.push(block),
        }
    }

    /// Drops the question with this id; returns true if it was here.
    pub(super) fn drop_question(&mut self, id: &str, changes: &mut Changes) -> bool {
        self.drop_questions(|block| block.id == id, changes)
    }

    /// Drops everything that waits for a person, and closes calls without a result.
    pub(super) fn end_run(&mut self, changes: &mut Changes) {
        self.drop_questions(|_| true, changes);
        for call in &mut self.calls {
            call.cancel(changes);
        }
    }

    /// Drops all its blocks.
    pub(super) fn drop_all(&self, changes: &mut Changes) {
        for block in self.blocks() {
            changes.drop(block);
        }
    }

    fn drop_questions(&mut self, which: impl Fn(&Block) -> bool, changes: &mut Changes) -> bool {
        let mut found = false;
        let mut keep = |block: &Block| {
            let drops = block.kind == BlockKind::Question && which(block);
            if drops {
                changes.drop(block);
                found = true;
            }
            !drops
        };
        for call in &mut self.calls {
            call.questions.retain(&mut keep);
        }
        self.notices.retain(&mut keep);
        found
    }

    fn close_text(&mut self, changes: &mut Changes) {
        if let Some(block) = self.texts.last_mut().filter(|block| is_open(block)) {
            block.status = BlockStatus::Closed;
            changes.close(block, "");
        }
    }

    fn append_text(&mut self, text: &str, changes: &mut Changes) {
        if let Some(block) = self.texts.last_mut().filter(|block| is_open(block)) {
            block.text.push_str(text);
            return changes.append(block, text);
        }
        let mut block = self.new_text(self.texts.len() + 1);
        block.text.push_str(text);
        changes.insert(&block);
        self.texts.push(block);
    }

    fn store_thinking(&mut self, text: String, changes: &mut Changes) {
        match (&mut self.thinking, text.is_empty()) {
            (None, true) => {}
            (Some(block), true) => {
                changes.drop(block);
                self.thinking = None;
            }
            (Some(block), false) => close_with(block, text, changes),
            (None, false) => {
                let mut block = self.new_block("k", BlockKind::Thinking);
                changes.insert(&block);
                close_with(&mut block, text, changes);
                self.thinking = Some(block);
            }
        }
    }

    fn store_texts(&mut self, texts: Vec<String>, changes: &mut Changes) {
        self.splitter = MarkdownSplitter::default();
        for block in self.texts.drain(texts.len().min(self.texts.len())..) {
            changes.drop(&block);
        }
        for (index, text) in texts.into_iter().enumerate() {
            let fresh = self.new_text(index + 1);
            let Some(block) = self.texts.get_mut(index) else {
                let mut fresh = fresh;
                changes.insert(&fresh);
                close_with(&mut fresh, text, changes);
                self.texts.push(fresh);
                continue;
            };
            if is_open(block) {
                close_with(block, text, changes);
            } else if block.text != text {
                // The stored answer is not the streamed one: a closed block does not change, so
                // another one takes its place.
                changes.drop(block);
                let revision = block.revision + 1;
                *block = Block { revision, ..fresh };
                changes.insert(block);
                close_with(block, text, changes);
            }
        }
    }

    fn store_calls(&mut self, calls: Vec<ToolCall>, changes: &mut Changes) {
        for extra in self.calls.drain(calls.len().min(self.calls.len())..) {
            extra.blocks().for_each(|block| changes.drop(block));
        }
        for (index, call) in calls.into_iter().enumerate() {
            let block = self.new_block(&format!("c{}", index + 1), BlockKind::ToolCall);
            match self.calls.get_mut(index) {
                Some(known) => known.store(call, changes),
                None => self.calls.push(CallBlocks::stored(block, call, changes)),
            }
        }
    }

    /// Takes a call out, with its index.
    fn take_call(&mut self, id: &str) -> Option<(usize, CallBlocks)> {
        let number = self.calls.iter().position(|call| call.id() == Some(id))?;
        Some((number, self.calls.remove(number)))
    }

    fn new_text(&self, number: usize) -> Block {
        let mut block = self.new_block(&format!("t{number}"), BlockKind::Text);
        block.details.role = Some(Role::Assistant);
        block
    }

    fn new_output(&self, number: usize) -> Block {
        self.new_block(&format!("o{number}"), BlockKind::ToolOutput)
    }

    fn new_block(&self, name: &str, kind: BlockKind) -> Block {
        Block {
            id: format!("{}/{name}", self.prefix),
            revision: 1,
            kind,
            run_id: self.run,
            status: BlockStatus::Open,
            start: 0,
            text: String::new(),
            details: BlockDetails {
                step: self.step.map(|at| at.step),
                attempt: self.step.map(|at| at.attempt),
                seq: self.seq,
                created_at: self.created_at,
                ..BlockDetails::default()
            },
        }
    }

    /// The blocks of the answer and its calls.
    fn answer_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let answer = self.thinking.iter_mut().chain(&mut self.texts);
        let calls = self.calls.iter_mut().flat_map(CallBlocks::blocks_mut);
        answer.chain(calls)
    }
}

impl AnswerParts {
    fn of(content: &MessageContent) -> AnswerParts {
        let mut parts = AnswerParts::default();
        let content = match content {
            MessageContent::Text(text) => {
                parts.text.clone_from(text);
                return parts;
            }
            MessageContent::Parts(content) => content,
        };
        for part in content {
            match part {
                ContentPart::Text { text } => parts.text.push_str(text),
                ContentPart::Thinking { text, .. } => parts.thinking.push_str(text),
                ContentPart::Image { mime_type, .. } => parts.mime_types.push(mime_type.clone()),
                ContentPart::ToolCall(call) => parts.calls.push(call.clone()),
                ContentPart::ToolResult(_) => {}
            }
        }
        parts
    }
}

/// Returns the part of a streamed piece that is new. A piece behind a gap is left out: the stored
/// answer has it.
fn new_part<'t>(known: &mut u64, offset: u64, text: &'t str) -> Option<&'t str> {
    let skip = usize::try_from(known.checked_sub(offset)?).ok()?;
    let new = text.get(skip..).filter(|new| !new.is_empty())?;
    *known += new.len() as u64;
    Some(new)
}

/// The texts of the blocks of a complete answer.
fn split(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut splitter = MarkdownSplitter::default();
    splitter.push(text, &mut pieces);
    splitter.finish(&mut pieces);
    let mut texts: Vec<String> = Vec::new();
    let mut begins = true;
    for piece in pieces {
        match piece {
            TextPiece::Boundary => begins = true,
            TextPiece::Text(text) if begins => {
                texts.push(text);
                begins = false;
            }
            TextPiece::Text(text) => {
                if let Some(last) = texts.last_mut() {
                    last.push_str(&text);
                }
            }
        }
    }
    texts
}

fn is_open(block: &Block) -> bool {
    block.status == BlockStatus::Open
}

/// The call that a question is about.
fn question_call(content: &BlockContent) -> Option<&str> {
    match content {
        BlockContent::Question { call_id, .. } => call_id.as_deref(),
        _ => None,
    }
}
