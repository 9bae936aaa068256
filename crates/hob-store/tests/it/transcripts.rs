//! Transcripts: groups are whole, on one page each, in both directions, whatever stands between an
//! answer and its results.

use crate::runs::rig::{run, step};
use crate::support::{Home, Open, alter};
use hob_core::transcript::{CallOutcome, StoredMessage};
use hob_kit::randomness::Randomness;
use hob_store::{NewMessage, RunRow, StepOrigin, TranscriptPage, TranscriptPlace};
use hob_wire::rooms::agent::{RunState, ToolCallState};
use hob_wire::rooms::session::SessionSendParams;
use hob_wire::work::RunEndCause;
use hob_wire::{ContentPart, MessageContent, Role, ToolCall, ToolResult};
use serde_json::json;
use std::collections::BTreeMap;

const SESSION: &str = "s";

/// A session under construction.
struct Conversation {
    store: Open,
    run: RunRow,
    index: u64,
    step: u32,
}

impl Conversation {
    async fn begin(home: &Home) -> Conversation {
        let store = home.open();
        let run = store.accept(run(SESSION, "go on")).await;
        let mut conversation = Conversation {
            store,
            run,
            index: 0,
            step: 0,
        };
        let task = NewMessage::new(Role::User, MessageContent::from("go on"));
        conversation.write(task, RunState::Running).await;
        conversation
    }

    async fn write(&mut self, message: NewMessage, state: RunState) {
        let mut write = step(&self.run, self.index, state);
        self.index += 1;
        write.messages = vec![message];
        write.summary.notes = vec!["a note".to_owned()];
        self.store.write_step(write).await.expect("it is written");
    }

    async fn answer(&mut self, calls: u32) {
        self.step += 1;
        let call = |number| {
            ContentPart::ToolCall(ToolCall {
                id: format!("{}-{number}", self.step),
                name: "read".to_owned(),
                args: json!({}),
            })
        };
        let content = MessageContent::Parts((0..calls).map(call).collect());
        let message = NewMessage::new(Role::Assistant, content).of_step(self.origin(None));
        self.write(message, RunState::Running).await;
    }

    async fn result(&mut self, number: u32, outcome: Option<CallOutcome>) {
        let result = ContentPart::ToolResult(ToolResult {
            id: format!("{}-{number}", self.step),
            content: Vec::new(),
            is_error: outcome.is_some(),
        });
        let message = NewMessage::new(Role::Tool, MessageContent::Parts(vec![result]));
        let message = message.of_step(self.origin(outcome));
        self.write(message, RunState::Running).await;
    }

    fn origin(&self, outcome: Option<CallOutcome>) -> StepOrigin {
        StepOrigin {
            step: self.step,
            attempt: 2,
            outcome,
        }
    }

    async fn send(&self, text: &str) {
        let sent = SessionSendParams {
            session_key: SESSION.to_owned(),
            content: MessageContent::from(text),
            role: None,
            idempotency_key: None,
        };
        self.store.send_message(sent).await.expect("it is sent");
    }

    async fn page(&self, place: TranscriptPlace, groups: usize) -> TranscriptPage {
        let page = self.store.transcript(SESSION, place, groups).await;
        page.expect("it is read")
    }

    /// Every page, oldest first, read backward.
    async fn read_back(&self, groups: usize) -> Vec<TranscriptPage> {
        let (mut pages, mut before) = (Vec::new(), Some(u64::MAX));
        while let Some(end) = before {
            let page = self.page(TranscriptPlace::Before(end), groups).await;
            before = page.before;
            pages.insert(0, page);
        }
        pages
    }

    async fn read_on(&self, groups: usize) -> Vec<TranscriptPage> {
        let (mut pages, mut after) = (Vec::new(), Some(0));
        while let Some(start) = after {
            let page = self
                .page(TranscriptPlace::After(start, u64::MAX), groups)
                .await;
            after = page.after;
            pages.push(page);
        }
        pages
    }
}

#[tokio::test]
async fn each_group_is_whole_and_on_one_page_in_both_directions() {
    let seed = Randomness::system().u64();
    let random = Randomness::seeded(seed);
    let home = Home::new();
    let mut conversation = Conversation::begin(&home).await;
    for _ in 0..30 {
        let calls = u32::try_from(random.below(4)).expect("few");
        conversation.answer(calls).await;
        for number in 0..calls {
            for _ in 0..random.below(3) {
                conversation.send("meanwhile").await;
            }
            conversation.result(number, None).await;
        }
    }
    conversation
        .write(
            NewMessage::new(Role::User, MessageContent::from("too late")),
            RunState::Done,
        )
        .await;
    let whole = conversation
        .page(TranscriptPlace::Before(u64::MAX), 1_000)
        .await;
    let count = usize::try_from(whole.message_count).expect("few");
    assert_eq!(whole.messages.len(), count);
    assert_eq!(
        (whole.before, whole.after, whole.runs.len()),
        (None, None, 1)
    );
    for groups in [1, 2, 3, 7] {
        for pages in [
            conversation.read_back(groups).await,
            conversation.read_on(groups).await,
        ] {
            let on_page = pages_of(&pages);
            assert_eq!(
                on_page.len(),
                count,
                "each message is on one page (seed {seed})"
            );
            for page in &pages {
                assert_groups_are_whole(page);
            }
            let heads = |page: &TranscriptPage| {
                let heads = page
                    .messages
                    .iter()
                    .filter(|it| it.message.role != Role::Tool);
                heads.count()
            };
            assert!(pages.iter().all(|page| (1..=groups).contains(&heads(page))));
            let ended: Vec<_> = pages.iter().flat_map(|page| &page.runs).collect();
            assert_eq!(ended.len(), 1);
            assert_eq!(ended[0], &whole.runs[0]);
        }
    }
    conversation.store.close().await;
}

/// The page of each message; panics on a message that is on two.
fn pages_of(pages: &[TranscriptPage]) -> BTreeMap<u64, usize> {
    let mut found = BTreeMap::new();
    for (number, page) in pages.iter().enumerate() {
        for message in &page.messages {
            let former = found.insert(message.message.seq, number);
            assert_eq!(former, None, "message {} is twice", message.message.seq);
        }
    }
    found
}

fn assert_groups_are_whole(page: &TranscriptPage) {
    let step = |it: &StoredMessage| it.origin.as_ref().map(|origin| origin.step.step);
    for result in page
        .messages
        .iter()
        .filter(|it| it.message.role == Role::Tool)
    {
        let mut answers = page
            .messages
            .iter()
            .filter(|it| it.message.role == Role::Assistant && it.message.seq < result.message.seq);
        assert!(answers.any(|answer| step(answer) == step(result)));
    }
}

#[tokio::test]
async fn a_message_says_where_it_comes_from_and_how_its_call_ended() {
    let home = Home::new();
    let mut conversation = Conversation::begin(&home).await;
    conversation.answer(2).await;
    let cancelled = CallOutcome {
        state: ToolCallState::Cancelled,
        denial: None,
    };
    conversation.result(0, Some(cancelled.clone())).await;
    conversation.result(1, None).await;
    conversation.send("from elsewhere").await;
    let end = NewMessage::new(Role::Assistant, MessageContent::from("done"));
    conversation.step += 1;
    let end = end.of_step(conversation.origin(None));
    conversation.write(end, RunState::Done).await;
    let remains = home.remains();
    let reopened = remains.open();
    for store in [&conversation.store, &reopened] {
        let page = store
            .transcript(SESSION, TranscriptPlace::After(0, u64::MAX), 100)
            .await;
        let page = page.expect("it is read");
        let origin = |seq: usize| page.messages[seq - 1].origin.clone();
        let runs: Vec<_> = page.messages.iter().map(|it| it.origin.is_some()).collect();
        assert_eq!(runs, [true, true, true, true, false, true]);
        assert_eq!(origin(1).expect("a run").step.step, 0);
        let answer = origin(2).expect("a step");
        let step = answer.step;
        assert_eq!(
            (step.run, step.step, step.attempt),
            (conversation.run.id, 1, 2)
        );
        assert_eq!(answer.outcome, None);
        assert_eq!(origin(3).expect("a step").outcome, Some(cancelled.clone()));
        assert_eq!(origin(4).expect("a step").outcome, None);
        let [ended] = &page.runs[..] else {
            panic!("one run ended: {:?}", page.runs);
        };
        assert_eq!((ended.run, ended.last_message), (conversation.run.id, 6));
        assert_eq!(
            (ended.cause, &ended.notes[..]),
            (RunEndCause::Answered, &["a note".to_owned()][..])
        );
        let of_step = store
            .message_of_run(SESSION, conversation.run.id, Some(2))
            .await;
        assert_eq!(of_step.expect("read"), Some(6));
        let last = store
            .message_of_run(SESSION, conversation.run.id, None)
            .await;
        assert_eq!(last.expect("read"), Some(6));
    }
    conversation.store.close().await;
}

#[tokio::test]
async fn damaged_and_missing_messages_are_notes_at_their_place() {
    let home = Home::new();
    let conversation = Conversation::begin(&home).await;
    for number in 2..=6 {
        conversation.send(&format!("message {number}")).await;
    }
    conversation.store.close().await;
    alter(
        &home,
        "UPDATE messages SET content = '\"other\"' WHERE seq = 2",
    );
    alter(&home, "DELETE FROM messages WHERE seq IN (4, 5)");
    let store = home.open();
    for place in [
        TranscriptPlace::After(0, u64::MAX),
        TranscriptPlace::Before(u64::MAX),
    ] {
        let page = store.transcript(SESSION, place, 100).await.expect("read");
        let seqs = |damaged: bool| -> Vec<u64> {
            let those = page.messages.iter().filter(|it| it.damaged == damaged);
            those.map(|it| it.message.seq).collect()
        };
        assert_eq!(seqs(true), [2, 4]);
        assert_eq!(seqs(false), [1, 3, 6]);
        assert_eq!(page.damaged.len(), 2);
    }
    store.close().await;
}
