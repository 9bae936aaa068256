//! Runs a part of whose record is gone, and runs that wait for a person for a long time.

use super::bench::{self, Hang, World};
use super::house::{
    House, config, folder, house, in_time, results, task, thinking, until, waiting,
};
use super::resume::say_yes;
use hob_sim::{Answer, Gate, Sim};
use hob_wire::rooms::agent::{
    Abort, AgentRunParams, AgentRunResult, Budget, QueueMode, RunEndCause, RunSelector, RunState,
    Status,
};
use serde_json::json;
use std::path::Path;
use std::time::Duration;

/// More than a row of the store holds, so it is a file of its own.
const LONG: usize = 100 * 1024;

fn of(run: &AgentRunResult) -> RunSelector {
    RunSelector {
        run_id: Some(run.run_id),
        session_key: None,
    }
}

/// A home with a run in `held` and one in `damaged`, both in the middle of a model call, whose
/// journal misses an entry.
async fn damaged(folder: &Path, sim: &Sim, gate: &Gate) -> (AgentRunResult, AgentRunResult) {
    let first = house(folder, sim);
    let held = first.run(task("held", "Wait.")).await;
    until(|| gate.waiting() == 1).await;
    let run = first.run(task("damaged", "Go.")).await;
    until(|| gate.waiting() == 2).await;
    let steered = first
        .run(AgentRunParams {
            mode: Some(QueueMode::Steer),
            ..task("damaged", &"more ".repeat(LONG / 5))
        })
        .await;
    assert_eq!(steered.run_id, run.run_id);
    first.crash().await;
    let blobs = std::fs::read_dir(folder.join("blobs")).expect("has blobs");
    for blob in blobs {
        std::fs::remove_file(blob.expect("reads").path()).expect("removes");
    }
    (held, run)
}

fn held(gate: &Gate) -> Sim {
    let held = gate.clone();
    thinking(move |_| Answer::words("Done.").held(&held))
}

#[tokio::test]
async fn a_run_whose_journal_is_gone_ends_and_its_session_is_free() {
    let (folder, gate) = (folder(), Gate::new());
    let sim = held(&gate);
    let (_, run) = damaged(folder.path(), &sim, &gate).await;
    gate.open();
    let house = house(folder.path(), &sim);
    let waiter = house.begin(waiting("damaged", "Another."));
    let ends = house.hears("run.completed", 3).await;
    let end = ends.iter().find(|end| end["runId"] == json!(run.run_id));
    let end = end.expect("ends");
    assert_eq!(
        (&end["cause"], &end["success"]),
        (&json!("parked"), &json!(false))
    );
    let message = end["message"].as_str().unwrap_or_default();
    assert!(
        message.contains("data of the run cannot be read"),
        "{message}"
    );
    let reply = in_time(waiter).await.expect("ends").expect("is answered");
    assert_eq!(reply.success, Some(true), "the session goes on");
    let view = house.status(&run).await;
    assert_eq!(
        (view.state, view.cause),
        (RunState::Done, Some(RunEndCause::Parked))
    );
    house.close().await;
}

#[tokio::test]
async fn a_run_whose_journal_is_gone_can_be_stopped_while_it_waits() {
    let (folder, gate) = (folder(), Gate::new());
    let sim = held(&gate);
    let (_, run) = damaged(folder.path(), &sim, &gate).await;
    // The other run has the only slot.
    let house = House::open(folder.path(), &config(&sim, "agent.concurrency = 1"));
    until(|| gate.waiting() == 1).await;
    let view = house.caller().call::<Status>(&of(&run)).await;
    let notes = view.expect("is shown").notes;
    assert!(
        notes[0].contains("data of the run cannot be read"),
        "{notes:?}"
    );
    let aborted = house.caller().call::<Abort>(&of(&run)).await;
    let aborted = aborted.expect("is stopped").runs;
    assert_eq!(aborted[0].cause, Some(RunEndCause::Aborted));
    let message = aborted[0].message.clone().unwrap_or_default();
    assert!(
        message.contains("data of the run cannot be read"),
        "{message}"
    );
    gate.open();
    let reply = house.run(waiting("damaged", "Another.")).await;
    assert_eq!(reply.success, Some(true));
    house.close().await;
}

#[tokio::test]
async fn a_run_in_doubt_writes_nothing_however_long_it_waits() {
    let (folder, world) = (folder(), World::default());
    world.hang(Some(("opaque", Hang::Before)));
    let sim = thinking(|asked| match results(asked) {
        0 => Answer::asks("opaque", json!({})),
        _ => Answer::words("Done."),
    });
    let house = house(folder.path(), &sim);
    bench::serve(&house, &world).await;
    // A service that stays silent leaves its call in doubt.
    house.bus.limits().set_request_timeout_ms(50);
    let yes = say_yes(&house);
    let run = house
        .run(AgentRunParams {
            budget: Some(Budget {
                wall_ms: Some(3_000),
                ..Budget::default()
            }),
            ..task("a", "Do it.")
        })
        .await;
    house.hears("run.in_doubt", 1).await;
    let written = || async {
        house
            .store
            .run(&run.run_id)
            .await
            .expect("reads")
            .journal_len
    };
    let before = written().await;
    // Well beyond the run's own time, which does not pass meanwhile.
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(written().await, before);
    let aborted = house.caller().call::<Abort>(&of(&run)).await;
    assert_eq!(aborted.expect("is stopped").runs.len(), 1);
    yes.abort();
    house.crash().await;
}
