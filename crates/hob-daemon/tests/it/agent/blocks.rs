//! Following a session as blocks: whatever happens, the blocks that a client has followed are those
//! that the stored messages make.

use super::bench::{self, Hang, World};
use super::house::{DEADLINE, House, folder, house, in_time, results, task, thinking, until};
use super::resume::say_yes;
use hob_bus::{Caller, ReceivedEvent, Room, SessionTag};
use hob_core::transcript::{BlockList, BlockPage, BlockRequest};
use hob_sim::{Answer, Fault, Gate};
use hob_wire::rooms::agent::{Abort, AgentRunParams, QueueMode, RunSelector, ToolCallState};
use hob_wire::rooms::session::{
    Block, BlockContent, BlockKind, BlockStatus, Blocks, Send, SessionBlock, SessionBlockPayload,
    SessionBlocks, SessionBlocksParams, SessionSendParams,
};
use serde_json::json;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// More blocks than any test makes.
const MANY: usize = 100_000;

/// A client that follows one session.
struct Follower {
    list: BlockList,
    changes: Arc<Mutex<VecDeque<SessionBlockPayload>>>,
    caller: Caller,
    session: String,
}

impl Follower {
    /// Subscribes first; asks with the first step.
    async fn join(house: &House, name: &'static str, session: &str) -> Follower {
        let changes = Arc::new(Mutex::new(VecDeque::new()));
        let received = Arc::clone(&changes);
        let room = Room::new(name).subscribe("session.block", move |event: ReceivedEvent| {
            let payload = event.payload.as_deref().unwrap_or_default();
            let change = serde_json::from_slice(payload).expect("a change");
            received.lock().expect("is sound").push_back(change);
            async {}
        });
        house.bus.serve(room).expect("is served");
        let emitter = house.bus.emitter("test");
        let any = SessionTag {
            id: "any".into(),
            key: None,
        };
        until(|| emitter.has_followers::<SessionBlock>(&any)).await;
        Follower {
            list: BlockList::new(MANY),
            changes,
            caller: house.caller(),
            session: session.to_owned(),
        }
    }

    async fn step(&mut self) {
        let changes: Vec<_> = self.changes.lock().expect("is sound").drain(..).collect();
        for change in changes {
            if change.session_key == self.session {
                self.list.apply_change(change.change, &mut Vec::new());
            }
        }
        while let Some(request) = self.list.next_request() {
            let params = match request {
                BlockRequest::Latest => params(&self.session),
                BlockRequest::Before(before) => SessionBlocksParams {
                    before: Some(before),
                    ..params(&self.session)
                },
                BlockRequest::After(after) => SessionBlocksParams {
                    after: Some(after),
                    ..params(&self.session)
                },
            };
            let page = self.caller.call::<Blocks>(&params).await.expect("a page");
            let page = BlockPage {
                blocks: page.blocks,
                before: page.before,
                after: page.after,
                settled: page.settled,
                position: page.position,
            };
            self.list.apply_page(page, &mut Vec::new());
        }
    }

    async fn until(&mut self, so: impl Fn(&[Block]) -> bool) {
        let wait = async {
            loop {
                self.step().await;
                if self.list.is_current() && so(self.list.blocks()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        in_time(wait).await;
    }

    /// Follows until its blocks are those of the stored messages.
    async fn until_stored(&mut self, house: &House) {
        let wait = async {
            loop {
                self.until(is_closed).await;
                // Read anew each time: the event of the run's end comes before its last change.
                if plain(self.list.blocks()) == plain(&all(house, &self.session).await) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        if tokio::time::timeout(DEADLINE, wait).await.is_err() {
            let stored = plain(&all(house, &self.session).await);
            assert_eq!(plain(self.list.blocks()), stored);
        }
    }
}

fn params(session: &str) -> SessionBlocksParams {
    SessionBlocksParams {
        session_key: session.to_owned(),
        ..SessionBlocksParams::default()
    }
}

async fn page(house: &House, params: SessionBlocksParams) -> SessionBlocks {
    let page = house.caller().call::<Blocks>(&params).await;
    page.expect("a page")
}

/// Every block, read in small pages from the end.
async fn all(house: &House, session: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut before = None;
    loop {
        let limit = Some(2);
        let params = SessionBlocksParams {
            before,
            limit,
            ..params(session)
        };
        let page = page(house, params).await;
        blocks.splice(0..0, page.blocks);
        before = page.before;
        if before.is_none() {
            let ids: BTreeSet<&str> = blocks.iter().map(|block| block.id.as_str()).collect();
            assert_eq!(ids.len(), blocks.len(), "an id is used once");
            return blocks;
        }
    }
}

/// The blocks without what depends on how they were followed.
fn plain(blocks: &[Block]) -> Vec<Block> {
    let plain = |block: &Block| Block {
        revision: 0,
        ..block.clone()
    };
    blocks.iter().map(plain).collect()
}

/// The joined texts of all answers.
fn answers(blocks: &[Block]) -> String {
    let texts = blocks
        .iter()
        .filter(|block| block.kind == BlockKind::Text && block.details.step.is_some());
    texts.map(|block| block.text.as_str()).collect()
}

fn kinds(blocks: &[Block]) -> Vec<BlockKind> {
    blocks.iter().map(|block| block.kind).collect()
}

fn is_closed(blocks: &[Block]) -> bool {
    let closed = |block: &Block| block.status == BlockStatus::Closed;
    !blocks.is_empty() && blocks.iter().all(closed)
}

async fn send(house: &House, session: &str, text: &str) {
    let params = SessionSendParams {
        session_key: session.to_owned(),
        content: text.into(),
        role: None,
        idempotency_key: None,
    };
    house.caller().call::<Send>(&params).await.expect("is sent");
}

#[tokio::test]
async fn two_followers_of_a_run_with_tools_end_with_the_stored_blocks() {
    use BlockKind::{Text, Thinking, ToolCall, ToolOutput};
    let (folder, world, gate) = (folder(), World::default(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| match results(asked) {
        0 => Answer::words("# First\n\nI look it up.")
            .thinking("Let me see.")
            .calls([("pure", json!({"n": 1})), ("pure", json!({"n": 2}))]),
        _ => Answer::words("One.\n\nTwo is *here*.\n\n- a\n- b\n").held_after(3, &held),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let mut early = Follower::join(&house, "early", "a").await;
    house.run(task("a", "Look.")).await;
    until(|| gate.waiting() == 1).await;
    let mut late = Follower::join(&house, "late", "a").await;
    // It joins in the middle of an answer.
    late.until(|blocks| answers(blocks).contains("One.")).await;
    early.until(|blocks| answers(blocks).contains("One.")).await;
    assert_eq!(plain(early.list.blocks()), plain(late.list.blocks()));
    gate.open();
    house.hears("run.completed", 1).await;
    early.until_stored(&house).await;
    late.until_stored(&house).await;
    let blocks = early.list.blocks();
    assert!(is_closed(blocks), "{blocks:?}");
    let expected = [
        Text, Thinking, Text, Text, ToolCall, ToolOutput, ToolCall, ToolOutput, Text, Text, Text,
    ];
    assert_eq!(kinds(blocks), expected);
    // Nobody gets these events by a wildcard, and none is in the log.
    assert!(house.heard("session.block").is_empty());
    house.close().await;
}

#[tokio::test]
async fn a_run_that_nobody_follows_is_shown_as_it_is_when_somebody_asks() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("One two three four.").held_after(2, &held));
    let house = house(folder.path(), &sim);
    house.run(task("a", "Count.")).await;
    until(|| gate.waiting() == 1).await;
    until(|| !house.heard("run.delta").is_empty()).await;
    let shown = page(&house, params("a")).await;
    assert!(answers(&shown.blocks).starts_with("One"), "{shown:?}");
    assert_eq!(shown.blocks[1].status, BlockStatus::Open);
    gate.open();
    house.hears("run.completed", 1).await;
    assert_eq!(answers(&all(&house, "a").await), "One two three four.");
    house.close().await;
}

#[tokio::test]
async fn a_new_attempt_replaces_the_blocks_of_the_former_one() {
    let (folder, gate) = (folder(), Gate::new());
    let (held, tries) = (gate.clone(), Arc::new(Mutex::new(0)));
    let sim = thinking(move |_| {
        let mut tries = tries.lock().expect("is sound");
        *tries += 1;
        let answer = Answer::words("This is the whole answer.");
        match *tries {
            1 => answer.held_after(2, &held).fault(Fault::ErrorAfter(3)),
            _ => answer,
        }
    });
    let house = house(folder.path(), &sim);
    let mut follower = Follower::join(&house, "follower", "a").await;
    house.run(task("a", "Go.")).await;
    follower
        .until(|blocks| answers(blocks).starts_with("This"))
        .await;
    let first = follower.list.blocks()[1].id.clone();
    gate.open();
    house.hears("run.completed", 1).await;
    follower.until_stored(&house).await;
    let blocks = follower.list.blocks();
    assert_eq!(answers(blocks), "This is the whole answer.");
    assert!(blocks.iter().all(|block| block.id != first), "{blocks:?}");
    assert!(blocks.iter().any(|block| block.details.attempt == Some(2)));
    house.close().await;
}

#[tokio::test]
async fn an_aborted_answer_keeps_what_was_stored_of_it() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("Once upon a time.").held_after(2, &held));
    let house = house(folder.path(), &sim);
    let mut follower = Follower::join(&house, "follower", "a").await;
    let run = house.run(task("a", "Tell.")).await;
    follower
        .until(|blocks| answers(blocks).starts_with("Once"))
        .await;
    let selector = RunSelector {
        run_id: Some(run.run_id),
        session_key: None,
    };
    house
        .caller()
        .call::<Abort>(&selector)
        .await
        .expect("stops");
    house.hears("run.completed", 1).await;
    follower.until_stored(&house).await;
    let blocks = follower.list.blocks();
    assert!(answers(blocks).starts_with("Once"), "{blocks:?}");
    let end = blocks.last().expect("a block");
    assert_eq!(end.kind, BlockKind::Notice);
    assert_eq!(end.id, format!("{}/end", run.run_id));
    assert!(is_closed(blocks));
    house.close().await;
}

#[tokio::test]
async fn texts_that_come_while_a_call_runs_stand_behind_its_group() {
    let (folder, world, gate) = (folder(), World::default(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| {
        let mut said = asked.messages.iter();
        if said.all(|said| said.tool_results.is_empty()) {
            return Answer::asks("keyed", json!({}));
        }
        Answer::words("Done.").held(&held)
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let mut follower = Follower::join(&house, "follower", "a").await;
    house.run(task("a", "Do it.")).await;
    // The call waits for a person; meanwhile others write to the session.
    let is_question = |block: &Block| block.kind == BlockKind::Question;
    follower
        .until(|blocks| blocks.iter().any(is_question))
        .await;
    send(&house, "a", "from elsewhere").await;
    house
        .run(AgentRunParams {
            mode: Some(QueueMode::Steer),
            ..task("a", "in French")
        })
        .await;
    follower
        .until(|blocks| blocks.iter().any(|block| block.text == "from elsewhere"))
        .await;
    let yes = say_yes(&house);
    until(|| gate.waiting() == 1).await;
    follower
        .until(|blocks| !blocks.iter().any(is_question))
        .await;
    gate.open();
    house.hears("run.completed", 1).await;
    yes.abort();
    follower.until_stored(&house).await;
    let blocks = follower.list.blocks();
    let texts: Vec<&str> = blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "Do it.",
            "",
            "keyed is done",
            "from elsewhere",
            "in French",
            "Done."
        ]
    );
    house.close().await;
}

#[tokio::test]
async fn a_denied_call_says_so_in_history_too() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("opaque", json!({})),
        _ => Answer::words("Then not."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let mut follower = Follower::join(&house, "follower", "a").await;
    let run = AgentRunParams {
        unattended: true,
        ..task("a", "Do it.")
    };
    house.run(run).await;
    house.hears("run.completed", 1).await;
    follower.until_stored(&house).await;
    let call = follower.list.blocks()[1].details.content.clone();
    let Some(BlockContent::Call { state, denial, .. }) = call else {
        panic!("no call: {:?}", follower.list.blocks());
    };
    assert_eq!(state, ToolCallState::Denied);
    assert_eq!(denial.expect("a denial").by, "unattended");
    house.close().await;
}

#[tokio::test]
async fn a_crash_in_the_middle_of_an_answer_leaves_nothing_twice_and_nothing_missing() {
    let (folder, world, gate) = (folder(), World::default(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| match results(asked) {
        0 => Answer::words("I look.").call("pure", json!({})),
        _ => Answer::words("The whole answer.\n\nAnd its end.").held_after(2, &held),
    });
    let first = house(folder.path(), &sim);
    bench::serve(&first, &world).await;
    let mut follower = Follower::join(&first, "follower", "a").await;
    first.run(task("a", "Look.")).await;
    follower
        .until(|blocks| answers(blocks).contains("The"))
        .await;
    let mut list = follower.list;
    let path = first.crash().await;
    gate.open();
    let second = house(&path, &sim);
    bench::serve(&second, &world).await;
    list.disconnect();
    let mut follower = Follower {
        list,
        ..Follower::join(&second, "follower", "a").await
    };
    second.hears("run.completed", 1).await;
    follower.until_stored(&second).await;
    let blocks = follower.list.blocks();
    assert_eq!(answers(blocks), "I look.The whole answer.\n\nAnd its end.");
    assert!(is_closed(blocks), "{blocks:?}");
    second.close().await;
}

#[tokio::test]
async fn a_call_in_doubt_is_a_question_for_a_follower_that_comes_after_the_crash() {
    let (folder, world) = (folder(), World::default());
    world.hang(Some(("opaque", Hang::Before)));
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("opaque", json!({})),
        _ => Answer::words("Done."),
    });
    let first = house(folder.path(), &sim);
    bench::serve(&first, &world).await;
    let yes = say_yes(&first);
    first.run(task("a", "Do it.")).await;
    until(|| world.runs("opaque") == 1).await;
    yes.abort();
    let path = first.crash().await;
    let second = house(&path, &sim);
    bench::serve(&second, &world).await;
    second.hears("run.in_doubt", 1).await;
    let mut follower = Follower::join(&second, "follower", "a").await;
    let in_doubt = |block: &Block| {
        matches!(&block.details.content, Some(BlockContent::Call { state, .. })
            if *state == ToolCallState::InDoubt)
    };
    let asks = |block: &Block| block.kind == BlockKind::Question;
    follower
        .until(|blocks| blocks.iter().any(in_doubt) && blocks.iter().any(asks))
        .await;
    let run = second.heard("run.in_doubt").remove(0);
    let run = run["runId"]
        .as_str()
        .expect("an id")
        .parse()
        .expect("an id");
    let selector = RunSelector {
        run_id: Some(run),
        session_key: None,
    };
    second
        .caller()
        .call::<Abort>(&selector)
        .await
        .expect("ends");
    follower.until_stored(&second).await;
    assert!(is_closed(follower.list.blocks()));
    second.close().await;
}

#[tokio::test]
async fn pages_and_single_blocks_are_the_same_blocks() {
    let (folder, world) = (folder(), World::default());
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::words("I look.").call("pure", json!({})),
        _ => Answer::words("One.\n\nTwo.\n\nThree."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    for round in 1..=3 {
        house.run(task("a", "Look.")).await;
        house.hears("run.completed", round).await;
        send(&house, "a", "a note of mine").await;
    }
    let whole = all(&house, "a").await;
    assert_eq!(whole.len(), 3 * (1 + 1 + 1 + 2 + 3));
    let mut forward: Vec<Block> = Vec::new();
    let mut after = Some(0);
    while let Some(start) = after {
        let limit = Some(3);
        let params = SessionBlocksParams {
            after: Some(start),
            limit,
            ..params("a")
        };
        let page = page(&house, params).await;
        after = page.after;
        forward.extend(page.blocks);
    }
    assert_eq!(forward, whole);
    for block in &whole {
        let ids = vec![block.id.clone(), "m999/t1".to_owned()];
        let params = SessionBlocksParams { ids, ..params("a") };
        assert_eq!(
            page(&house, params).await.blocks,
            std::slice::from_ref(block)
        );
    }
    house.close().await;
}
