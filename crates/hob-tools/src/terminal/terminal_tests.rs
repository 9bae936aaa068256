//! What a call asks for, what is refused before anybody is asked, and what each is told. The way
//! to a room and back is in the tests of the tool room.

use super::*;
use crate::trial::{TestWorkspace, words};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{CommandOrigin, CommandState, TerminalCommand};
use serde_json::Value;

fn request(args: Value) -> Result<TerminalRequest, String> {
    let args = TerminalArguments::deserialize(args).expect("is of the form");
    args.request().map_err(|ToolRefusal(reason)| reason)
}

fn command(state: CommandState, exit_code: Option<i32>, output: &str) -> TerminalCommand {
    TerminalCommand {
        id: "00000000-0000-7000-8000-000000000001"
            .parse::<CommandId>()
            .expect("is an id"),
        terminal: "main".to_owned(),
        by: CommandOrigin::Model,
        command: Some("uptime".to_owned()),
        reason: None,
        state,
        exit_code,
        duration_ms: None,
        queued_at: 1,
        started_at: Some(2),
        ended_at: None,
        output: Some(output.to_owned()),
        output_bytes: 0,
        recorded: None,
        truncated: false,
        detail: None,
    }
}

fn terminal(state: TerminalState) -> TerminalInfo {
    TerminalInfo {
        name: "main".to_owned(),
        state,
        detail: None,
        shell: "bash".to_owned(),
        folder: Some("/home/ada/lab".to_owned()),
        pid: None,
        columns: 80,
        rows: 24,
        queued: 2,
        running: None,
        attached: 1,
        created_at: 0,
    }
}

#[test]
fn arguments_of_another_action_are_refused() {
    // A rule that allows the command must not let the keys through.
    let stray = request(json!({ "action": "keys", "command": "ls", "text": "rm -rf /\n" }));
    assert_eq!(
        stray,
        Err("'command' does not belong to this action; leave it out.".to_owned())
    );
    for args in [
        json!({ "action": "run", "command": "ls", "reason": "to see", "text": "x" }),
        json!({ "action": "capture", "command": "ls" }),
        json!({ "action": "list", "lines": 3 }),
        json!({ "action": "run", "command": "ls", "reason": "to see", "keys": ["Enter"] }),
        json!({ "action": "keys" }),
    ] {
        assert!(request(args.clone()).is_err(), "{args}");
    }
    assert_eq!(
        request(json!({ "action": "list" })),
        Ok(TerminalRequest::List)
    );
}

#[test]
fn a_command_needs_a_reason_and_may_not_end_the_terminal() {
    let run = |command: &str, reason: Option<&str>| {
        let mut args = json!({ "action": "run", "command": command });
        if let Some(reason) = reason {
            args["reason"] = json!(reason);
        }
        request(args)
    };
    let none = run("uptime", None).expect_err("is refused");
    assert!(none.contains("'reason'"), "{none}");
    assert!(run("uptime", Some(" ")).is_err());
    assert!(run(" ", Some("to see")).is_err());
    assert!(run("a\0b", Some("to see")).is_err());
    let exit = run("exit", Some("to leave")).expect_err("is refused");
    assert!(exit.contains("would end the terminal"), "{exit}");
    let line = TerminalCommandLine {
        command: "uptime".to_owned(),
        reason: "to see".to_owned(),
        timeout_ms: None,
    };
    assert_eq!(
        run(" uptime ", Some("to see")),
        Ok(TerminalRequest::Run(line))
    );
}

#[test]
fn a_person_sees_the_command_its_reason_the_folder_and_that_there_are_no_walls() {
    let request =
        request(json!({ "action": "run", "command": "df -h", "reason": "to see the disks" }));
    let request = request.expect("is one");
    let idle = terminal(TerminalState::Idle);
    let text = presentation::preview("main", &request, Some(&idle));
    assert_eq!(
        text,
        "$ df -h\nwhy: to see the disks\nterminal: main (idle)\nin: /home/ada/lab\n\
         Not sandboxed: runs with your full access"
    );
    let text = presentation::preview("main", &request, Some(&terminal(TerminalState::Busy)));
    assert!(text.contains("busy, 2 waiting"), "{text}");
    let text = presentation::preview("lab", &request, None);
    assert!(text.contains("lab (does not exist yet"), "{text}");
    assert!(text.contains("in: your home folder"), "{text}");
}

#[test]
fn no_line_of_a_command_passes_for_one_of_the_approval() {
    let command = "ls\nNot sandboxed: no";
    let request = request(json!({ "action": "run", "command": command, "reason": "a\nwhy: b" }));
    let text = presentation::preview("main", &request.expect("is one"), None);
    assert!(
        text.starts_with("$ ls\n> Not sandboxed: no\nwhy: a why: b\n"),
        "{text}"
    );
    assert_eq!(text.matches("\nNot sandboxed: ").count(), 1, "{text}");
}

#[test]
fn an_approval_is_bound_to_the_terminal_and_its_folder() {
    let here = terminal(TerminalState::Idle);
    let elsewhere = TerminalInfo {
        folder: Some("/".to_owned()),
        ..here.clone()
    };
    let none = CommandScripts::default();
    assert_eq!(
        state("main", Some(&here), &none),
        state("main", Some(&terminal(TerminalState::Busy)), &none)
    );
    assert_ne!(
        state("main", Some(&here), &none),
        state("main", Some(&elsewhere), &none)
    );
    assert_ne!(
        state("main", Some(&here), &none),
        state("main", None, &none)
    );
    assert_ne!(state("main", None, &none), state("lab", None, &none));
}

#[test]
fn the_end_of_a_command_is_told_as_it_was() {
    let told = |state, code, output: &str| {
        let told = presentation::ended_answer(&command(state, code, output));
        (words(&told), told.is_error)
    };
    let done = CommandState::Done;
    assert_eq!(
        told(done, Some(0), "up 3 days\n"),
        ("up 3 days\n".into(), false)
    );
    assert_eq!(told(done, Some(0), ""), ("(no output)".into(), false));
    assert_eq!(told(done, Some(7), "x"), ("x\n(exit code 7)".into(), false));
    let (text, failed) = told(CommandState::Timeout, Some(130), "");
    assert!(failed && text.contains("longer than allowed"), "{text}");
    let (text, failed) = told(CommandState::Lost, None, "half\n");
    assert!(failed && text.starts_with("half\n(the terminal"), "{text}");
    let mut dropped = command(CommandState::Cancelled, None, "");
    dropped.started_at = None;
    assert!(words(&presentation::ended_answer(&dropped)).contains("before it began"));
    let runs = presentation::ended_answer(&command(CommandState::Running, None, "so far"));
    assert!(!runs.is_error && words(&runs).contains("It still runs"));
    let facts = runs.metadata.expect("has some");
    assert_eq!(
        (&facts["terminal"], &facts["state"]),
        (&json!("main"), &json!("running"))
    );
}

#[tokio::test]
async fn without_rooms_nothing_is_typed() {
    let trial = TestWorkspace::new();
    let args = json!({ "action": "run", "command": "ls", "reason": "to see" });
    let (text, failed) = trial.say("terminal", args).await;
    assert!(
        failed && text.contains("Other rooms cannot be called"),
        "{text}"
    );
    let work = trial.work("terminal", json!({ "action": "keys", "text": "x" }));
    let probed = probe(&work, &trial.env).await;
    assert!(
        matches!(probed, ToolProbeResult::Unknown { .. }),
        "{probed:?}"
    );
    let work = trial.work("terminal", json!({ "action": "capture" }));
    assert_eq!(probe(&work, &trial.env).await, ToolProbeResult::No);
}

#[test]
fn what_a_command_printed_is_masked_and_half_a_secret_waits() {
    const KEY: &str = "sk-live-0123456789abcdef";
    let mask = hob_kit::mask::SecretMask::new();
    mask.add(KEY);
    let shown =
        |state, output: &str| command_run::masked(command(state, None, output), &mask).output;
    let half = format!("key {}", &KEY[..12]);
    let whole = format!("key {KEY}\n");
    assert_eq!(shown(CommandState::Running, &half).as_deref(), Some("key "));
    assert_eq!(
        shown(CommandState::Running, &whole).as_deref(),
        Some("key [masked]\n")
    );
    assert_eq!(
        shown(CommandState::Done, &whole).as_deref(),
        Some("key [masked]\n")
    );
    // It ended so: it is no secret after all.
    assert_eq!(shown(CommandState::Done, &half), Some(half.clone()));
}
