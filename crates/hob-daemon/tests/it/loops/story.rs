//! Consecutive iterations: their prompts, memories, history and events.

use super::{call, change, get, history, make, start, stop};
use crate::agent::house::{folder, house, thinking, until};
use hob_sim::{Answer, Gate};
use hob_wire::rooms::loops::{
    LoopEnd, LoopPersistentParams, LoopPhase, LoopUpdateParams, LoopWorkingParams, Persistent,
    Update, Working,
};
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[tokio::test]
async fn each_iteration_sees_the_last_answer_until_the_last_one() {
    let folder = folder();
    let count = AtomicUsize::new(0);
    let sim = thinking(move |_| {
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        Answer::words(format!("answer {number}"))
    });
    let house = house(folder.path(), &sim);
    let config =
        json!({ "system": "Be kind.", "user": "Go on.", "intervalMs": 1000, "maxIterations": 3 });
    make(&house, "build", config).await;
    let persistent = LoopPersistentParams {
        name: "build".to_owned(),
        text: Some("The sky is blue.".to_owned()),
        ..LoopPersistentParams::default()
    };
    call::<Persistent>(&house, persistent).await;
    let working = LoopWorkingParams {
        name: "build".to_owned(),
        text: "Only once.".to_owned(),
    };
    call::<Working>(&house, working).await;
    let started = start(&house, "build").await;
    assert!(started.state.running);
    house.hears("loop.stopped", 1).await;
    let seen = history(&house, "build").await;
    assert_eq!(seen.len(), 3);
    for (number, iteration) in (1_u32..).zip(&seen) {
        assert_eq!(iteration.iteration, number);
        assert_eq!(iteration.session_key, format!("loop:build:{number}"));
        assert_eq!(iteration.success, Some(true));
        assert_eq!(iteration.response, Some(format!("answer {number}")));
        let prompt = &iteration.prompt;
        assert!(prompt.starts_with("## Persistent Memory\n\nThe sky is blue."));
        assert!(prompt.ends_with(&format!("Go on.\n\n---\nIteration: {number}")));
        assert_eq!(prompt.contains("Only once."), number == 1, "{prompt}");
        let previous = format!("## Previous Response\n\nanswer {}", number - 1);
        assert_eq!(prompt.contains(&previous), number > 1, "{prompt}");
    }
    let done = get(&house, "build").await;
    assert_eq!(done.state.stopped, Some(LoopEnd::MaxIterations));
    assert_eq!(
        (done.state.running, done.state.phase),
        (false, LoopPhase::Idle)
    );
    assert_eq!(done.state.last_response.as_deref(), Some("answer 3"));
    assert_eq!((done.state.iteration, done.state.since_start), (3, 3));
    assert_eq!(done.state.cost.calls, 3);
    assert_eq!(
        (&*done.working.text, &*done.persistent.text),
        ("", "The sky is blue.")
    );
    assert_eq!(done.working.by, "loop:build:1");
    let asked = sim.asked();
    assert_eq!(asked.len(), 3);
    let system = &asked[0].system;
    assert!(system.contains("Be kind."), "{system}");
    start(&house, "build").await;
    house.hears("loop.stopped", 2).await;
    let done = get(&house, "build").await;
    // A start counts from nothing, however far the loop came before it was answered.
    assert_eq!((done.state.iteration, done.state.since_start), (6, 3));
    let numbers: Vec<u32> = history(&house, "build")
        .await
        .iter()
        .map(|it| it.iteration)
        .collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6]);
    house.close().await;
}

#[tokio::test]
async fn events_come_in_their_order_and_can_be_read_again() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let config = json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 2, "monitor": { "command": "echo seen" } });
    make(&house, "order", config).await;
    start(&house, "order").await;
    house.hears("loop.stopped", 1).await;
    let each = [
        "loop.iteration",
        "loop.monitor",
        "loop.prompt",
        "loop.response",
        "loop.state",
    ];
    let mut expected = vec!["loop.config", "loop.state"];
    expected.extend(each);
    expected.extend(each);
    expected.push("loop.stopped");
    assert_eq!(house.topics_of("loops"), expected);
    let prompts = house.heard("loop.prompt");
    assert_eq!(prompts[1]["iteration"], 2);
    assert!(
        prompts[1]["prompt"]
            .as_str()
            .is_some_and(|text| text.contains("seen"))
    );
    let responses = house.heard("loop.response");
    assert_eq!(responses[0]["response"], "well");
    let log = house.store.event_log();
    let mut logged = Vec::new();
    let mut after = 0;
    loop {
        let page = log.page(after, 100).await.expect("reads");
        let Some(last) = page.last() else { break };
        after = last.seq;
        logged.extend(page);
    }
    for (topic, heard) in [("loop.prompt", prompts), ("loop.response", responses)] {
        let of_topic = logged.iter().filter(|event| &*event.topic == topic);
        let read: Vec<serde_json::Value> = of_topic
            .map(|event| {
                serde_json::from_slice(event.payload.as_deref().expect("has one")).expect("is JSON")
            })
            .collect();
        assert_eq!(read, heard, "{topic}");
    }
    house.close().await;
}

#[tokio::test]
async fn what_is_typed_during_an_iteration_is_shown_to_the_next() {
    let folder = folder();
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let sim = thinking(move |_| Answer::words("well").held(&held));
    let house = house(folder.path(), &sim);
    make(&house, "type", json!({ "user": "Go.", "intervalMs": 1000 })).await;
    let type_in = |text: &str| LoopWorkingParams {
        name: "type".to_owned(),
        text: text.to_owned(),
    };
    call::<Working>(&house, type_in("for the first")).await;
    start(&house, "type").await;
    until(|| gate.waiting() == 1).await;
    let typed = call::<Working>(&house, type_in("for the second")).await;
    assert_eq!(typed.revision, 2);
    let under_way = get(&house, "type").await;
    assert_eq!(under_way.state.phase, LoopPhase::Prompt);
    assert!(under_way.state.run_id.is_some());
    gate.open();
    house.hears("loop.response", 2).await;
    stop(&house, "type").await;
    let seen = history(&house, "type").await;
    assert!(seen[0].prompt.contains("for the first"));
    assert!(seen[1].prompt.contains("for the second"));
    assert_eq!(get(&house, "type").await.working.text, "");
    house.close().await;
}

#[tokio::test]
async fn a_memory_has_revisions_and_can_go_back() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    make(&house, "notes", json!({})).await;
    let set = |text: &str| LoopPersistentParams {
        name: "notes".to_owned(),
        text: Some(text.to_owned()),
        ..LoopPersistentParams::default()
    };
    for (number, text) in (1..).zip(["one", "two", "three"]) {
        let set = call::<Persistent>(&house, set(text)).await;
        assert_eq!((set.memory.revision, &*set.memory.by), (number, "test"));
    }
    let undo = || LoopPersistentParams {
        text: None,
        undo: true,
        ..set("")
    };
    for text in ["two", "one", ""] {
        assert_eq!(call::<Persistent>(&house, undo()).await.memory.text, text);
    }
    let caller = house.caller();
    caller
        .call::<Persistent>(&undo())
        .await
        .expect_err("there is nothing before");
    call::<Persistent>(&house, set("four")).await;
    assert_eq!(call::<Persistent>(&house, undo()).await.memory.text, "");
    let stale = LoopPersistentParams {
        if_revision: Some(1),
        ..set("late")
    };
    caller
        .call::<Persistent>(&stale)
        .await
        .expect_err("is of another revision");
    let shown = LoopPersistentParams {
        text: None,
        earlier: Some(3),
        ..set("")
    };
    let shown = call::<Persistent>(&house, shown).await;
    assert_eq!((shown.memory.revision, shown.earlier.len()), (8, 3));
    assert_eq!(shown.earlier[0].text, "four");
    house.close().await;
}

#[tokio::test]
async fn a_running_loop_takes_a_change_up_with_its_next_iteration() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    make(
        &house,
        "turn",
        json!({ "user": "first words", "intervalMs": 600_000 }),
    )
    .await;
    start(&house, "turn").await;
    house.hears("loop.state", 2).await;
    let asleep = get(&house, "turn").await;
    assert_eq!(asleep.state.phase, LoopPhase::Sleep);
    assert!(asleep.state.next_at.is_some());
    let update = LoopUpdateParams {
        name: "turn".to_owned(),
        config: change(json!({ "user": "second words", "intervalMs": 1000, "maxIterations": 2 })),
    };
    call::<Update>(&house, update).await;
    house.hears("loop.stopped", 1).await;
    let seen = history(&house, "turn").await;
    assert!(seen[0].prompt.contains("first words"));
    assert!(seen[1].prompt.contains("second words"));
    house.close().await;
}

#[tokio::test]
async fn one_iteration_can_be_asked_for_once_and_by_a_key() {
    use hob_wire::rooms::loops::{LoopOnceParams, Once};
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    make(&house, "once", json!({ "user": "Go." })).await;
    let once = |key: &str| LoopOnceParams {
        name: "once".to_owned(),
        idempotency_key: Some(key.to_owned()),
    };
    let begun = call::<Once>(&house, once("a")).await;
    assert_eq!(begun.state.iteration, 1);
    house.hears("loop.stopped", 1).await;
    call::<Once>(&house, once("a")).await;
    call::<Once>(&house, once("b")).await;
    house.hears("loop.stopped", 2).await;
    let done = get(&house, "once").await;
    assert_eq!(
        (done.state.iteration, done.state.stopped),
        (2, Some(LoopEnd::Once))
    );
    assert_eq!(sim.asked_count(), 2);
    house.close().await;
}

#[tokio::test]
async fn results_are_told_to_a_session_once_each() {
    use hob_wire::rooms::session::{History, SessionHistoryParams};
    let folder = folder();
    let sim = thinking(|_| Answer::words("well"));
    let house = house(folder.path(), &sim);
    let config = json!({ "user": "Go.", "intervalMs": 1000, "maxIterations": 2, "notify": { "sessionKey": "chat:main" } });
    make(&house, "told", config).await;
    start(&house, "told").await;
    house.hears("loop.stopped", 1).await;
    until(|| {
        let told = house.heard("session.message");
        told.iter()
            .filter(|message| message["sessionKey"] == "chat:main")
            .count()
            == 2
    })
    .await;
    let params = SessionHistoryParams {
        session_key: "chat:main".to_owned(),
        before: None,
        limit: None,
    };
    let told = call::<History>(&house, params).await;
    let texts: Vec<_> = told
        .messages
        .iter()
        .map(|message| message.content.clone())
        .collect();
    assert_eq!(texts, ["well".into(), "well".into()]);
    house.close().await;
}
