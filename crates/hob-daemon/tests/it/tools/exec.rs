//! Commands behind real walls, at both levels of the sandbox. Each refusal stands beside the same
//! act, granted, which works.

use super::{House, house_running, start, words};
use crate::permissions::settings;
use hob_daemon::tool::Commands;
use hob_exec::{Level, Spawner, SpawnerParts};
use hob_kit::world::Env;
use hob_wire::rooms::tool::{Cancel, CancelParams, Executed};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::time::{Duration, Instant};

/// Longer than anything takes on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn shim() -> Vec<OsString> {
    vec![env!("CARGO_BIN_EXE_hob-daemon-rig").into()]
}

/// A house whose commands run at this level; the machine must have it.
async fn house_at(level: Level, text: &str) -> House {
    let outside = Env::capture();
    let path = outside.os("PATH").expect("a path").to_owned();
    // Where bubblewrap is looked for decides the level.
    let search = match level {
        Level::Bubblewrap => path.clone(),
        _ => OsString::new(),
    };
    let searched = Env::from_pairs([("PATH", search)]);
    let facts = hob_exec::spawner::probe(&shim(), &searched).await;
    let facts = facts.expect("the shim answers");
    assert_eq!(facts.level(), level, "{}", facts.remedy());
    house_running(text, |fixture| {
        let env = [("PATH", path), ("HOB_CANARY", "canary-env".into())];
        Some(Commands {
            spawner: Spawner::new(SpawnerParts {
                shim: shim(),
                env: Env::from_pairs(env),
                tasks: fixture.tasks.clone(),
                facts: Some(facts),
            }),
            settings: settings(text),
            person_home: None,
        })
    })
}

const LEVELS: [Level; 2] = [Level::Bubblewrap, Level::Landlock];

/// Runs a command that a person approves.
async fn exec(house: &House, call: &str, args: Value) -> Executed {
    let approved = house.approved(house.call(call, "exec", args)).await;
    house.execute(&approved).await.expect("is answered")
}

fn metadata<'e>(executed: &'e Executed, name: &str) -> &'e Value {
    &executed.metadata.as_ref().expect("is there")[name]
}

#[tokio::test]
async fn a_command_runs_in_the_workspace_with_its_real_exit_code() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let command = "cat a.txt; echo new > b.txt; echo oops >&2; exit 3";
        let done = exec(&house, "c1", json!({ "command": command })).await;
        assert_eq!(words(&done), "hello\n[stderr]\noops\n(exit code 3)");
        assert!(!done.is_error);
        assert_eq!(metadata(&done, "exitCode"), 3);
        assert_eq!(metadata(&done, "sandbox"), level.name());
        assert_eq!(metadata(&done, "cause"), "itself");
        let made = std::fs::read_to_string(house.workspace.path().join("b.txt"));
        assert_eq!(made.expect("was written"), "new\n");
        house.fixture.close().await;
    }
}

#[tokio::test]
async fn a_command_that_takes_too_long_is_ended_with_its_children() {
    let house = house_at(Level::Bubblewrap, "").await;
    let command = "trap '' TERM; sleep 1000 & echo begun; sleep 1000";
    let begun = Instant::now();
    let done = exec(
        &house,
        "c1",
        json!({ "command": command, "timeoutMs": 500 }),
    )
    .await;
    assert!(begun.elapsed() < PATIENCE);
    assert!(
        done.is_error && words(&done).starts_with("begun\n"),
        "{}",
        words(&done)
    );
    assert!(
        words(&done).contains("took longer than 500 ms"),
        "{}",
        words(&done)
    );
    assert_eq!(metadata(&done, "cause"), "deadline");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_stopped_command_ends_and_says_how_far_it_came() {
    for level in LEVELS {
        let house = house_at(level, "").await;
        let args = json!({ "command": "echo begun; sleep 1000" });
        let call = house.approved(house.call("c1", "exec", args)).await;
        let context = call.context.clone();
        let running = start(&house, call);
        let (_, output) = house.fixture.heard("tool.output").await;
        assert_eq!(output["text"], "begun\n");
        let stop = CancelParams {
            run_id: context.run_id.expect("a run"),
            call_id: context.call_id.expect("a call"),
        };
        let stopped = house.fixture.caller().call::<Cancel>(&stop).await;
        assert!(stopped.expect("is answered").stopped);
        let done = running.await.expect("ends").expect("is answered");
        assert!(
            done.is_error && words(&done).starts_with("begun\n"),
            "{}",
            words(&done)
        );
        assert_eq!(metadata(&done, "cause"), "cancelled");
        house.fixture.close().await;
    }
}
