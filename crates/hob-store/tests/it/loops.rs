//! Loops: what is written together, what may be repeated, what is kept.

use crate::runs::rig::{in_state, run as new_run};
use crate::support::{Home, Open};
use hob_store::{
    FinishedIteration, IterationPrompt, LoopResumePoint, LoopStart, LoopStartResult, MemoryKind,
    MemoryUpdate, NewLoopRow, StepWrite, StoreError,
};
use hob_wire::RunId;
use hob_wire::rooms::agent::{Cost, RunState};
use hob_wire::rooms::loops::{LoopConfig, LoopEnd, LoopHistoryParams, MonitorOutput, WorkOutcome};

async fn make(store: &Open, name: &str) {
    let new = NewLoopRow {
        name: name.to_owned(),
        config: LoopConfig::default(),
        persistent: String::new(),
        working: "once".to_owned(),
        by: "me".to_owned(),
        rules: Vec::new(),
    };
    store.create_loop(new).await.unwrap();
}

fn ended(number: u32, success: bool, end: Option<LoopEnd>) -> FinishedIteration {
    FinishedIteration {
        name: "l".to_owned(),
        number,
        success,
        outcome: if success {
            WorkOutcome::Ran
        } else {
            WorkOutcome::Failed
        },
        cause: None,
        message: (!success).then(|| "it broke".to_owned()),
        denied_calls: 0,
        failed_calls: 0,
        is_reported: true,
        errors: u32::from(!success),
        cost: Cost::default(),
        next_at: Some(77),
        end: end.map(|end| (end, "over".to_owned())),
    }
}

/// Runs an iteration up to its answer.
async fn ask(store: &Open, number: u32) -> RunId {
    store.begin_iteration("l", number).await.unwrap();
    store.show_memories("l", number).await.unwrap();
    let run = new_run(&format!("loop:l:{number}"), &format!("prompt {number}"));
    let run = store.accept_run(run).await.unwrap().run;
    let prompted = || IterationPrompt {
        name: "l".to_owned(),
        number,
        run: run.id,
        monitor: Some(MonitorOutput::default()),
    };
    store.prompt_iteration(prompted()).await.unwrap();
    store.prompt_iteration(prompted()).await.unwrap();
    run.id
}

async fn answer(store: &Open, run: RunId, words: &str) {
    let mut summary = in_state(RunState::Done);
    words.clone_into(&mut summary.text);
    let step = StepWrite::new(run, 0, summary);
    store.write_step(step).await.unwrap();
}

fn topics(events: &[hob_bus::LoggedEvent]) -> Vec<&str> {
    let of_loops = events.iter().filter(|event| &*event.source == "loops");
    of_loops.map(|event| &*event.topic).collect()
}

#[tokio::test]
async fn an_iteration_is_written_once_whoever_repeats_it() {
    let home = Home::new();
    let store = home.open();
    make(&store, "l").await;
    let again = || LoopStart::Continuous;
    let started = store.start_loop("l", again()).await.unwrap();
    assert_eq!(started, LoopStartResult::Now { iteration: 0 });
    let second = store.start_loop("l", again()).await.unwrap_err();
    assert!(matches!(second, StoreError::Conflict(_)));
    assert_eq!(
        store.loop_resume_point("l").await.unwrap(),
        LoopResumePoint::Started
    );
    let skipped = store.begin_iteration("l", 2).await.unwrap_err();
    assert!(matches!(skipped, StoreError::Conflict(_)));
    let run = ask(&store, 1).await;
    assert_eq!(
        store.loop_resume_point("l").await.unwrap(),
        LoopResumePoint::Asking
    );
    answer(&store, run, "well").await;
    for _ in 0..2 {
        store.end_iteration(ended(1, true, None)).await.unwrap();
    }
    let asleep = LoopResumePoint::Asleep { next_at: 77 };
    assert_eq!(store.loop_resume_point("l").await.unwrap(), asleep);
    let shown = store.get_loop("l").await.unwrap();
    assert_eq!((shown.working.revision, &*shown.working.text), (2, ""));
    assert_eq!(shown.state.last_response.as_deref(), Some("well"));
    let events = store.replay(0, 100).await;
    let expected = [
        "loop.config",
        "loop.state",
        "loop.iteration",
        "loop.prompt",
        "loop.response",
        "loop.state",
        "loop.config",
    ];
    assert_eq!(topics(&events), expected);
    let published = store.published_at_least(events.len()).await;
    for (read, told) in events.iter().zip(&published) {
        assert_eq!(read.payload, told.payload, "{}", read.topic);
    }
    store.close().await;
}

#[tokio::test]
async fn what_a_crash_leaves_says_what_was_under_way() {
    let home = Home::new();
    let store = home.open();
    make(&store, "l").await;
    let once = || LoopStart::Once {
        key: Some("slot".to_owned()),
    };
    store.start_loop("l", once()).await.unwrap();
    store.begin_iteration("l", 1).await.unwrap();
    let left = home.remains();
    let next = left.try_open(true).unwrap();
    assert_eq!(next.running_loops().await.unwrap(), ["l"]);
    assert_eq!(
        next.loop_resume_point("l").await.unwrap(),
        LoopResumePoint::Opened
    );
    assert_eq!(
        next.start_loop("l", once()).await.unwrap(),
        LoopStartResult::AlreadyRequested
    );
    let over = ended(1, false, Some(LoopEnd::Once));
    next.end_iteration(over).await.unwrap();
    assert!(next.running_loops().await.unwrap().is_empty());
    assert_eq!(
        next.start_loop("l", once()).await.unwrap(),
        LoopStartResult::AlreadyRequested
    );
    let state = next.get_loop("l").await.unwrap().state;
    assert_eq!((state.stopped, state.next_at), (Some(LoopEnd::Once), None));
    assert_eq!(state.last_error.as_deref(), Some("it broke"));
    next.close().await;
    store.close().await;
}

#[tokio::test]
async fn only_the_memory_that_was_shown_is_cleared() {
    let home = Home::new();
    let store = home.open();
    make(&store, "l").await;
    store.start_loop("l", LoopStart::Continuous).await.unwrap();
    let run = ask(&store, 1).await;
    let typed = MemoryUpdate {
        name: "l".to_owned(),
        kind: MemoryKind::Working,
        text: Some("later".to_owned()),
        by: "me".to_owned(),
        if_revision: None,
        key: None,
    };
    store.update_memory(typed).await.unwrap();
    answer(&store, run, "well").await;
    store.end_iteration(ended(1, true, None)).await.unwrap();
    let shown = store.get_loop("l").await.unwrap();
    assert_eq!(shown.working.text, "later");
    store.close().await;
}

#[tokio::test]
async fn a_keyed_change_happens_once_and_old_revisions_go() {
    let home = Home::new();
    let store = home.open();
    make(&store, "l").await;
    let set = |number: u32| MemoryUpdate {
        name: "l".to_owned(),
        kind: MemoryKind::Persistent,
        text: Some(format!("text {number}")),
        by: "loop:l:1".to_owned(),
        if_revision: None,
        key: Some(format!("key {number}")),
    };
    for number in 1..=120 {
        for _ in 0..2 {
            let made = store.update_memory(set(number)).await.unwrap();
            assert_eq!(made.revision, u64::from(number));
        }
    }
    let kept = store
        .memories("l", MemoryKind::Persistent, 500)
        .await
        .unwrap();
    assert_eq!((kept.memory.revision, kept.earlier.len()), (120, 99));
    store.close().await;
}

#[tokio::test]
async fn history_comes_in_pages_and_the_oldest_go() {
    let home = Home::new();
    let store = home.open();
    make(&store, "l").await;
    store.start_loop("l", LoopStart::Continuous).await.unwrap();
    for number in 1..=5 {
        let run = ask(&store, number).await;
        answer(&store, run, &format!("answer {number}")).await;
        store
            .end_iteration(ended(number, true, None))
            .await
            .unwrap();
    }
    let page = |before| LoopHistoryParams {
        name: "l".to_owned(),
        before,
        limit: Some(2),
    };
    let first = store.loop_history(page(None)).await.unwrap();
    assert!(first.more);
    assert_eq!(
        (first.iterations[0].iteration, &*first.iterations[0].prompt),
        (5, "prompt 5")
    );
    assert_eq!(first.iterations[1].response.as_deref(), Some("answer 4"));
    let last = store.loop_history(page(Some(2))).await.unwrap();
    assert_eq!((last.iterations.len(), last.more), (1, false));
    let busy = store.delete_loop("l", Vec::new()).await.unwrap_err();
    assert!(matches!(busy, StoreError::Conflict(_)));
    assert!(!store.delete_iterations("l", 2).await.unwrap());
    let left = store.loop_history(page(None)).await.unwrap();
    let numbers: Vec<u32> = left.iterations.iter().map(|it| it.iteration).collect();
    assert_eq!((numbers, left.more), (vec![5, 4], false));
    assert_eq!(store.session_count().await.unwrap(), 2);
    store
        .end_loop("l", LoopEnd::Stopped, "It was stopped.")
        .await
        .unwrap();
    store.delete_iterations("l", 0).await.unwrap();
    store.delete_loop("l", Vec::new()).await.unwrap();
    assert!(store.loop_row("l").await.unwrap().is_none());
    assert_eq!(store.session_count().await.unwrap(), 0);
    store.close().await;
}
