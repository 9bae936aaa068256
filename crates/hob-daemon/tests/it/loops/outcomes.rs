//! Outcomes of iterations with denials, cost ceilings and calls in doubt.

use super::{call, change, get, history, make, start};
use crate::agent::house::{House, config, folder, house, results, thinking, until};
use crate::agent::resume::copy;
use hob_sim::Answer;
use hob_wire::rooms::agent::RunEndCause;
use hob_wire::rooms::loops::{LoopEnd, LoopUpdateParams, Update, WorkOutcome};
use hob_wire::rooms::permission;
use serde_json::json;

#[tokio::test]
async fn a_denied_call_makes_no_clean_iteration_until_it_is_granted() {
    let folder = folder();
    let place = tempfile::tempdir().expect("a folder");
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("exec", json!({ "command": "touch made" })),
        _ => Answer::words("well"),
    });
    let house = house(folder.path(), &sim);
    let settings = json!({
        "user": "Go.", "intervalMs": 1000, "maxIterations": 1, "workspace": place.path(),
    });
    make(&house, "build", settings).await;
    start(&house, "build").await;
    house.hears("loop.stopped", 1).await;
    let seen = history(&house, "build").await;
    assert_eq!(seen[0].success, Some(true), "the model answered");
    assert_eq!(seen[0].outcome, Some(WorkOutcome::RanWithDenials));
    assert_eq!((seen[0].denied_calls, seen[0].failed_calls), (1, 0));
    let told = seen[0].message.as_deref().unwrap_or_default();
    assert!(told.contains("Denied: exec"), "{told}");
    assert!(told.contains("hob loop update build --allow"), "{told}");
    let state = get(&house, "build").await.state;
    assert_eq!(state.outcome, Some(WorkOutcome::RanWithDenials));
    assert_eq!((state.errors, state.last_error), (0, None));
    let events = house.hears("loop.state", 2).await;
    let ended = events.iter().find(|event| !event["outcome"].is_null());
    let ended = ended.expect("an event tells of it");
    assert_eq!(ended["outcome"], "ran_with_denials");
    assert_eq!(ended["message"], told);
    // Granted, it is clean; taken away behind the loop's back, it is denied again.
    let granted = LoopUpdateParams {
        name: "build".to_owned(),
        config: change(json!({ "grants": [{ "tool": "exec" }] })),
    };
    let changed = call::<Update>(&house, granted).await;
    assert_eq!(changed.config.grants.len(), 1);
    start(&house, "build").await;
    house.hears("loop.stopped", 2).await;
    assert!(place.path().join("made").exists());
    let seen = history(&house, "build").await;
    assert_eq!(seen[1].outcome, Some(WorkOutcome::Ran), "{:?}", seen[1]);
    let listed =
        call::<permission::List>(&house, permission::PermissionListParams::default()).await;
    let gone = permission::PermissionRemoveParams {
        id: listed.rules[0].id.clone(),
    };
    call::<permission::Remove>(&house, gone).await;
    let described = LoopUpdateParams {
        name: "build".to_owned(),
        config: change(json!({ "user": "Go on." })),
    };
    let changed = call::<Update>(&house, described).await;
    assert!(changed.config.grants.is_empty(), "{:?}", changed.config);
    start(&house, "build").await;
    house.hears("loop.stopped", 3).await;
    let seen = history(&house, "build").await;
    assert_eq!(seen[2].outcome, Some(WorkOutcome::RanWithDenials));
    house.close().await;
}

#[tokio::test]
async fn a_ceiling_ends_an_iteration_and_not_the_loop() {
    let folder = folder();
    let sim = thinking(|_| Answer::words("well").usage(1_000, 500));
    let text = config(&sim, "cost.day_max = \"0.000001\"");
    let house = House::open(folder.path(), &text);
    let settings = json!({
        "user": "Go.", "intervalMs": 1000, "maxIterations": 3,
        "backoff": { "maxMs": 1000, "errorsMax": 1 },
    });
    make(&house, "dear", settings).await;
    start(&house, "dear").await;
    house.hears("loop.stopped", 1).await;
    assert_eq!(sim.asked_count(), 0, "nothing was spent");
    let one = get(&house, "dear").await;
    assert_eq!(one.state.stopped, Some(LoopEnd::MaxIterations));
    assert_eq!(one.state.errors, 0);
    let seen = history(&house, "dear").await;
    assert_eq!(seen.len(), 3);
    for iteration in &seen {
        assert_eq!(iteration.cause, Some(RunEndCause::Budget));
        assert_eq!(iteration.outcome, Some(WorkOutcome::Failed));
        let told = iteration.message.as_deref().unwrap_or_default();
        assert!(told.contains("The day's budget of"), "{told}");
        assert!(told.contains("Nobody is there"), "{told}");
    }
    house.close().await;
}

#[tokio::test]
async fn a_sub_agent_that_was_cut_off_in_a_command_is_given_up() {
    let folder = folder();
    let place = tempfile::tempdir().expect("a folder");
    let sim = thinking(|asked| {
        let is_child = asked.messages.iter().any(|said| said.text == "Work below.");
        match (is_child, results(asked)) {
            (true, 0) => Answer::asks("exec", json!({ "command": "touch began; sleep 600" })),
            (false, 0) => Answer::asks("sessions_spawn", json!({ "task": "Work below." })),
            _ => Answer::words("well"),
        }
    });
    let first = house(folder.path(), &sim);
    let settings = json!({
        "user": "Go.", "intervalMs": 1000, "maxIterations": 1, "workspace": place.path(),
        "grants": [{ "tool": "exec" }, { "tool": "sessions_spawn" }],
    });
    make(&first, "family", settings).await;
    start(&first, "family").await;
    until(|| place.path().join("began").exists()).await;
    let left = copy(folder.path());
    first.crash().await;
    let second = House::open(left.path(), &config(&sim, ""));
    second.hears("loop.stopped", 1).await;
    let seen = history(&second, "family").await;
    assert_eq!(seen[0].success, Some(true), "{:?}", seen[0]);
    let ended = second.hears("run.completed", 2).await;
    let child = ended.iter().find(|run| run["cause"] == "given-up");
    let told = child.expect("the child was given up")["message"].to_string();
    assert!(told.contains("(exec)"), "{told}");
    second.close().await;
}
