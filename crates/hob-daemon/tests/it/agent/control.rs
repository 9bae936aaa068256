//! Who may go when: queue, steering, refusing, repeating, stopping.

use super::bench::{self, Hang, World};
use super::house::{folder, house, in_time, results, saying, task, thinking, until, waiting};
use hob_sim::{Answer, Gate};
use hob_wire::ErrorCode;
use hob_wire::rooms::agent::{
    Abort, AgentListParams, AgentRunParams, ContextPolicy, QueueMode, RunEndCause, RunSelector,
    RunState, ToolCallState,
};
use hob_wire::rooms::session::{Fork, SessionForkParams};
use serde_json::json;
use std::time::{Duration, Instant};

#[tokio::test]
async fn runs_of_a_session_go_in_the_order_they_came_and_sessions_do_not_wait_for_each_other() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| {
        let last = asked.messages.last().expect("a message").text.clone();
        let answer = Answer::words(format!("re {last}"));
        if last == "first" {
            answer.held(&held)
        } else {
            answer
        }
    });
    let house = house(folder.path(), &sim);
    for words in ["first", "second", "third"] {
        house.run(task("a", words)).await;
    }
    let other = house.run(waiting("b", "elsewhere")).await;
    assert_eq!(other.response.as_deref(), Some("re elsewhere"));
    assert_eq!(house.heard("run.completed").len(), 1, "the others wait");
    gate.open();
    let completed = house.hears("run.completed", 4).await;
    let said: Vec<&str> = completed[1..]
        .iter()
        .filter_map(|event| event["response"].as_str())
        .collect();
    assert_eq!(said, ["re first", "re second", "re third"]);
    house.close().await;
}

#[tokio::test]
async fn a_session_that_is_busy_refuses_what_does_not_want_to_wait() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("ok").held(&held));
    let house = house(folder.path(), &sim);
    house.run(task("a", "first")).await;
    let rejecting = AgentRunParams {
        mode: Some(QueueMode::Reject),
        ..task("a", "second")
    };
    let refused = house
        .try_run(rejecting.clone())
        .await
        .expect_err("is refused");
    assert_eq!(refused.code, ErrorCode::Conflict);
    gate.open();
    house.hears("run.completed", 1).await;
    house.run(rejecting).await;
    house.hears("run.completed", 2).await;
    house.close().await;
}

#[tokio::test]
async fn words_for_a_running_task_reach_it_at_its_next_step() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |asked| {
        if asked.messages.iter().any(|said| said.text == "in French") {
            return Answer::words("Oui.");
        }
        Answer::words("Yes, of course.").held_after(1, &held)
    });
    let house = house(folder.path(), &sim);
    let first = house.run(task("a", "Well?")).await;
    until(|| gate.waiting() == 1).await;
    let steering = AgentRunParams {
        mode: Some(QueueMode::Steer),
        idempotency_key: Some("k".to_owned()),
        ..task("a", "in French")
    };
    let steered = house.run(steering.clone()).await;
    assert_eq!(steered.run_id, first.run_id);
    let again = house.run(steering).await;
    assert_eq!(again.run_id, first.run_id);
    gate.open();
    let completed = house.hears("run.completed", 1).await;
    assert_eq!(completed[0]["response"], "Oui.");
    let last = sim.asked().pop().expect("was asked");
    let said = last.messages.iter().filter(|said| said.text == "in French");
    assert_eq!(said.count(), 1, "said twice with one key is said once");
    house.close().await;
}

#[tokio::test]
async fn one_key_is_one_run() {
    let (folder, sim) = (folder(), saying("Once."));
    let house = house(folder.path(), &sim);
    let keyed = AgentRunParams {
        idempotency_key: Some("k".to_owned()),
        ..waiting("a", "Do it.")
    };
    let first = house.run(keyed.clone()).await;
    let again = house.run(keyed).await;
    assert_eq!(again.run_id, first.run_id);
    assert_eq!(again.response.as_deref(), Some("Once."));
    assert_eq!(sim.asked_count(), 1);
    house.close().await;
}

#[tokio::test]
async fn an_abort_reaches_the_provider_within_a_second_and_keeps_what_was_said() {
    let (folder, gate) = (folder(), Gate::new());
    let held = gate.clone();
    let sim = thinking(move |_| Answer::words("one two three four").held_after(2, &held));
    let house = house(folder.path(), &sim);
    let reply = house.run(task("a", "Count.")).await;
    let queued = house.run(task("a", "And again.")).await;
    house.hears("run.delta", 2).await;
    let view = house.status(&reply).await;
    assert_eq!((view.text.as_str(), view.running), ("one two ", true));
    let began = Instant::now();
    let selector = RunSelector {
        session_key: Some("a".to_owned()),
        run_id: None,
    };
    let aborted = house.caller().call::<Abort>(&selector).await;
    let aborted = aborted.expect("is stopped").runs;
    until(|| sim.cut_streams() == 1).await;
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    let ids: Vec<_> = aborted.iter().map(|view| view.run_id).collect();
    assert_eq!(ids, [queued.run_id, reply.run_id]);
    assert!(
        aborted
            .iter()
            .all(|view| view.cause == Some(RunEndCause::Aborted))
    );
    assert_eq!(aborted[1].text, "one two ");
    let completed = house.hears("run.completed", 2).await;
    assert_eq!(completed.len(), 2);
    assert_eq!(
        house.topics().last().map(String::as_str),
        Some("run.completed")
    );
    assert_eq!(sim.asked_count(), 1, "the waiting one never began");
    house.close().await;
}

#[tokio::test]
async fn an_abort_stops_a_tool_and_says_what_is_not_known() {
    let (folder, world) = (folder(), World::default());
    world.hang(Some(("pure", Hang::Before)));
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("pure", json!({})),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    let waiter = house.begin(waiting("a", "Do it."));
    until(|| world.runs("pure") == 1).await;
    let view = house
        .store
        .list_runs(AgentListParams::default())
        .await
        .expect("lists");
    let began = Instant::now();
    let selector = RunSelector {
        session_key: None,
        run_id: Some(view.runs[0].id),
    };
    let aborted = house.caller().call::<Abort>(&selector).await;
    assert!(
        began.elapsed() < Duration::from_secs(1),
        "{:?}",
        began.elapsed()
    );
    let aborted = aborted.expect("is stopped").runs;
    assert_eq!(aborted[0].calls[0].state, ToolCallState::Cancelled);
    assert_eq!(world.cancelled(), 1, "the tool was told");
    let reply = in_time(waiter).await.expect("ends").expect("is answered");
    assert_eq!(reply.cause, Some(RunEndCause::Aborted));
    assert_eq!(reply.state, RunState::Done);
    // The hanging service would hold up a polite end.
    house.crash().await;
}

#[tokio::test]
async fn what_a_run_sees_of_the_past_is_its_callers_choice() {
    let folder = folder();
    let sim = thinking(|asked| Answer::words(format!("{}", asked.messages.len())));
    let house = house(folder.path(), &sim);
    house.run(waiting("a", "one")).await;
    let all = house.run(waiting("a", "two")).await;
    assert_eq!(all.response.as_deref(), Some("3"));
    let with = |context| AgentRunParams {
        context: Some(context),
        ..waiting("a", "three")
    };
    let fresh = house.run(with(ContextPolicy::Fresh)).await;
    assert_eq!(fresh.response.as_deref(), Some("1"));
    let fork = house.run(with(ContextPolicy::Fork)).await;
    assert_eq!(fork.response.as_deref(), Some("7"));
    assert_ne!(fork.session_key, "a");
    let on = house.run(waiting(&fork.session_key, "four")).await;
    assert_eq!(
        on.response.as_deref(),
        Some("9"),
        "a fork remembers its parent"
    );
    let copy = SessionForkParams {
        session_key: fork.session_key.clone(),
        ..SessionForkParams::default()
    };
    let copy = house.caller().call::<Fork>(&copy).await.expect("forks");
    let copied = house.run(waiting(&copy.session.session_key, "six")).await;
    assert_eq!(
        copied.response.as_deref(),
        Some("11"),
        "a copy of a fork remembers the same"
    );
    let back = house.run(waiting("a", "five")).await;
    assert_eq!(
        back.response.as_deref(),
        Some("7"),
        "the parent does not know it"
    );
    house.close().await;
}
