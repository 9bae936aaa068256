//! Runs that run commands: stopped, cut off by a crash, and told when they are undone.

use super::house::{House, config, folder, house, results, task, thinking, until};
use super::resume::{copy, say_yes};
use hob_sim::{Answer, Sim};
use hob_wire::rooms::agent::{Abort, AgentRunParams, RunSelector, RunState, ToolCallState};
use hob_wire::rooms::tool::{ToolUndoParams, Undo};
use serde_json::json;
use std::path::Path;
use std::time::{Duration, Instant};

/// A model that has one command run.
fn running(command: String) -> Sim {
    thinking(move |asked| match results(asked) {
        0 => Answer::asks("exec", json!({ "command": command })),
        _ => Answer::words("Done."),
    })
}

fn in_folder(workspace: &Path) -> AgentRunParams {
    AgentRunParams {
        workspace: Some(workspace.display().to_string()),
        ..task("chat:main", "Run it.")
    }
}

/// Living processes with the word among their arguments.
fn alive(mark: &str) -> usize {
    let entries = std::fs::read_dir("/proc").expect("readable").flatten();
    let carries = |entry: &std::fs::DirEntry| {
        let line = std::fs::read(entry.path().join("cmdline"));
        line.is_ok_and(|line| String::from_utf8_lossy(&line).contains(mark))
    };
    entries.filter(carries).count()
}

#[tokio::test]
async fn an_abort_ends_the_command_and_all_it_started() {
    let (folder, workspace) = (folder(), folder());
    let mark = format!("2000.{}", std::process::id());
    let sim = running(format!(
        "trap '' TERM; setsid sleep {mark} & touch began; sleep {mark}"
    ));
    let house = house(folder.path(), &sim);
    let yes = say_yes(&house);
    let reply = house.run(in_folder(workspace.path())).await;
    until(|| workspace.path().join("began").exists() && alive(&mark) >= 2).await;
    let selector = RunSelector {
        session_key: None,
        run_id: Some(reply.run_id),
    };
    let began = Instant::now();
    let aborted = house.caller().call::<Abort>(&selector).await;
    let took = began.elapsed();
    let aborted = aborted.expect("is stopped").runs;
    assert!(took < Duration::from_millis(1_500), "{took:?}");
    assert_eq!(aborted[0].calls[0].state, ToolCallState::Cancelled);
    until(|| alive(&mark) == 0).await;
    assert!(began.elapsed() < Duration::from_secs(5));
    yes.abort();
    house.close().await;
}

#[tokio::test]
async fn a_command_that_a_crash_cut_off_is_in_doubt_and_not_run_again() {
    let (origin, workspace) = (folder(), folder());
    let sim = running("echo once >> ran; sleep 1000".to_owned());
    let first = House::open(origin.path(), &config(&sim, ""));
    let yes = say_yes(&first);
    first.run(in_folder(workspace.path())).await;
    until(|| workspace.path().join("ran").exists()).await;
    let copied = copy(origin.path());
    yes.abort();
    first.crash().await;
    let second = House::open(copied.path(), &config(&sim, ""));
    let doubt = second.hears("run.in_doubt", 1).await.remove(0);
    assert_eq!(doubt["call"]["name"], "exec");
    let ran = std::fs::read_to_string(workspace.path().join("ran"));
    assert_eq!(ran.expect("ran"), "once\n");
    second.close().await;
}

#[tokio::test]
async fn undoing_a_run_names_the_commands_it_cannot_undo() {
    let (folder, workspace) = (folder(), folder());
    let sim = running("echo made > made.txt".to_owned());
    let house = house(folder.path(), &sim);
    let yes = say_yes(&house);
    let reply = house.run(in_folder(workspace.path())).await;
    house.hears("run.completed", 1).await;
    let run_id = reply.run_id;
    assert_eq!(house.status(&reply).await.state, RunState::Done);
    let undone = house
        .caller()
        .call::<Undo>(&ToolUndoParams { run_id })
        .await;
    let notes = undone.expect("answers").notes;
    assert!(
        notes[0].contains("cannot be undone") && notes[0].contains("`echo made > made.txt`"),
        "{notes:?}"
    );
    assert!(workspace.path().join("made.txt").exists());
    yes.abort();
    house.close().await;
}
