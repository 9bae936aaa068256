//! The tool `terminal` through the bus, with a terminal room that only plays one.

use super::{House, house, words};
use hob_bus::Room;
use hob_wire::rooms::permission::{
    Add, Answer, Ask, PermissionAnswerParams, PermissionAskParams, PermissionDecision,
    PermissionQuestion, PermissionRuling,
};
use hob_wire::rooms::terminal::{
    Cancel, Capture, Command, CommandOrigin, CommandState, Execute as Type, History, Keys, List,
    TerminalCancelResult, TerminalCaptureResult, TerminalCommand, TerminalExecuteParams as Typing,
    TerminalExecuteResult as TypedIn, TerminalHistoryResult, TerminalInfo, TerminalKeysParams,
    TerminalKeysResult, TerminalListResult, TerminalState,
};
use hob_wire::rooms::tool::{
    Describe, Execute, Preview, Probe, ToolDescribeParams, ToolExecuteParams, ToolExecuteResult,
    ToolOutput, ToolProbeResult,
};
use hob_wire::{CommandId, ErrorCode, EventTopic, WireError};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const FOLDER: &str = "/home/ada/lab";

/// A terminal that remembers what it was told, and ends commands as the test says.
#[derive(Clone, Default)]
struct Played(Arc<Mutex<Play>>);

#[derive(Default)]
struct Play {
    commands: Vec<(Typing, TerminalCommand)>,
    keys: Vec<TerminalKeysParams>,
    cancelled: Vec<CommandId>,
    folder: Option<String>,
    problem: Option<String>,
}

impl Played {
    fn play(&self) -> std::sync::MutexGuard<'_, Play> {
        self.0.lock().expect("is sound")
    }

    /// Waits for a command and says what it has printed.
    async fn prints(&self, output: &str) -> CommandId {
        loop {
            if let Some((_, command)) = self.play().commands.last_mut() {
                command.state = CommandState::Running;
                command.started_at = Some(2);
                command.output = Some(output.to_owned());
                return command.id;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn ends(&self, exit_code: i32, output: &str) {
        let mut play = self.play();
        let (_, command) = play.commands.last_mut().expect("one was typed");
        command.state = CommandState::Done;
        command.exit_code = Some(exit_code);
        command.output = Some(output.to_owned());
    }

    fn typed(&self) -> Vec<String> {
        let play = self.play();
        let typed = play.commands.iter();
        typed.filter_map(|(_, it)| it.command.clone()).collect()
    }

    fn listed(&self) -> TerminalListResult {
        let play = self.play();
        let terminal = TerminalInfo {
            name: "main".to_owned(),
            state: TerminalState::Idle,
            detail: None,
            shell: "bash".to_owned(),
            folder: Some(play.folder.clone().unwrap_or_else(|| FOLDER.to_owned())),
            pid: Some(1),
            columns: 80,
            rows: 24,
            queued: 0,
            running: None,
            attached: 1,
            created_at: 0,
        };
        TerminalListResult {
            terminals: vec![terminal],
            socket: "/nowhere".to_owned(),
            tmux: None,
            problem: play.problem.clone(),
        }
    }

    /// The same key is the same command.
    fn take(&self, params: Typing) -> TerminalCommand {
        let mut play = self.play();
        let same = |(typed, _): &&(Typing, TerminalCommand)| {
            params.idempotency_key.is_some() && typed.idempotency_key == params.idempotency_key
        };
        if let Some((_, known)) = play.commands.iter().find(same) {
            return known.clone();
        }
        let number = play.commands.len() + 1;
        let id = format!("00000000-0000-7000-8000-{number:012}");
        let command = TerminalCommand {
            id: id.parse().expect("is an id"),
            terminal: "main".to_owned(),
            by: CommandOrigin::Model,
            command: params.command.clone(),
            reason: params.reason.clone(),
            state: CommandState::Queued,
            exit_code: None,
            duration_ms: None,
            queued_at: 1,
            started_at: None,
            ended_at: None,
            output: None,
            output_bytes: 0,
            recorded: None,
            truncated: false,
            detail: None,
        };
        play.commands.push((params, command.clone()));
        command
    }

    fn found(&self, id: CommandId) -> Result<TerminalCommand, WireError> {
        let play = self.play();
        let found = play.commands.iter().find(|(_, it)| it.id == id);
        let found = found.map(|(_, command)| command.clone());
        found.ok_or_else(|| WireError::new(ErrorCode::NotFound, "There is no such command."))
    }

    fn room(&self) -> Room {
        let it = || self.clone();
        let (lists, types, shows) = (it(), it(), it());
        let (remembers, presses, cancels) = (it(), it(), it());
        Room::new("terminal")
            .method::<List, _, _>(move |_, _| {
                let listed = lists.listed();
                async move { Ok(listed) }
            })
            .method::<Type, _, _>(move |_, params| {
                let commands = vec![types.take(params)];
                let name = "main".to_owned();
                async move { Ok(TypedIn { name, commands }) }
            })
            .method::<Command, _, _>(move |_, params| {
                let played = shows.clone();
                async move {
                    // Long enough that polling is no spinning, short enough for a test.
                    tokio::time::sleep(Duration::from_millis(5)).await;
                    played.found(params.id)
                }
            })
            .method::<History, _, _>(move |_, params| {
                let play = remembers.play();
                let of_key = |it: &&(Typing, TerminalCommand)| {
                    it.0.idempotency_key == params.idempotency_key
                };
                let found = play.commands.iter().filter(of_key);
                let found = found.map(|(_, it)| TerminalCommand {
                    output: None,
                    ..it.clone()
                });
                let commands = found.collect();
                async move {
                    Ok(TerminalHistoryResult {
                        commands,
                        more: false,
                    })
                }
            })
            .method::<Keys, _, _>(move |_, params| {
                presses.play().keys.push(params);
                async move {
                    Ok(TerminalKeysResult {
                        name: "main".to_owned(),
                    })
                }
            })
            .method::<Cancel, _, _>(move |_, params| {
                let mut play = cancels.play();
                let ended: Vec<CommandId> = params.id.into_iter().collect();
                for (_, command) in &mut play.commands {
                    if ended.contains(&command.id) {
                        command.state = CommandState::Cancelled;
                    }
                }
                play.cancelled.extend(&ended);
                async move {
                    Ok(TerminalCancelResult {
                        name: "main".to_owned(),
                        ended,
                    })
                }
            })
            .method::<Capture, _, _>(|_, _| async {
                Ok(TerminalCaptureResult {
                    name: "main".to_owned(),
                    text: "$ top\n".to_owned(),
                    lines: 1,
                    columns: 80,
                    rows: 24,
                    cursor_column: 0,
                    cursor_row: 1,
                    full_screen: true,
                    past_lines: 0,
                })
            })
    }
}

fn with_terminal() -> (House, Played) {
    let house = house();
    let played = Played::default();
    house.fixture.bus.serve(played.room()).expect("is served");
    (house, played)
}

fn uptime() -> Value {
    json!({ "action": "run", "command": "uptime -p", "reason": "to see how long it runs" })
}

/// Asks for a call and says this to the question.
async fn ask(
    house: &House,
    args: &Value,
    decision: PermissionDecision,
) -> (PermissionQuestion, PermissionRuling) {
    let caller = house.fixture.caller();
    let params = ask_params(house, args).await;
    let answered = async {
        let (_, payload) = house.fixture.heard("permission.requested").await;
        let question: PermissionQuestion = serde_json::from_value(payload).expect("is a question");
        let answer = PermissionAnswerParams {
            id: question.id.clone(),
            decision,
            scope: None,
            digest: Some(question.digest.clone()),
        };
        caller.call::<Answer>(&answer).await.expect("counts");
        question
    };
    let (ruling, question) = tokio::join!(caller.call::<Ask>(&params), answered);
    (question, ruling.expect("is decided"))
}

async fn ask_params(house: &House, args: &Value) -> PermissionAskParams {
    let describe = ToolDescribeParams {
        name: "terminal".to_owned(),
        wait: false,
    };
    let tool = house.fixture.caller().call::<Describe>(&describe).await;
    PermissionAskParams {
        tool: tool.expect("is there"),
        args: args.clone(),
        context: house.context("c1"),
        ceiling: None,
        approved: None,
        channel: None,
        unattended: false,
    }
}

async fn run(house: &House, played: &Played, args: Value) -> ToolExecuteResult {
    let call = house.approved(house.call("c1", "terminal", args)).await;
    played_out(house, played, &call).await
}

/// Runs an approved call in a terminal that prints in two pieces.
async fn played_out(house: &House, played: &Played, call: &ToolExecuteParams) -> ToolExecuteResult {
    let caller = house.fixture.caller();
    let ends = async {
        played.prints("up 2").await;
        tokio::time::sleep(Duration::from_millis(300)).await;
        played.ends(7, "up 2 days\n");
    };
    let (done, ()) = tokio::join!(caller.call::<Execute>(call), ends);
    done.expect("runs")
}

#[tokio::test]
async fn a_person_is_asked_with_everything_and_then_it_is_typed() {
    let (house, played) = with_terminal();
    let (question, ruling) = ask(&house, &uptime(), PermissionDecision::Allow).await;
    assert_eq!(ruling.decision, PermissionDecision::Allow);
    assert_eq!(question.sentence, "Shared terminal: run \"uptime -p\"");
    let preview = question.preview.expect("has one");
    for line in [
        "$ uptime -p",
        "why: to see how long it runs",
        "terminal: main (idle)",
        "in: /home/ada/lab",
        "Not sandboxed: runs with your full access",
    ] {
        assert!(preview.lines().any(|it| it == line), "{line} in {preview}");
    }
    let done = run(&house, &played, uptime()).await;
    assert!(!done.is_error);
    assert_eq!(words(&done), "up 2 days\n(exit code 7)");
    assert_eq!(done.metadata.expect("has some")["exitCode"], 7);
    // The model is the one who asked for it, for this run, by the call's own key.
    let typed = played.play().commands[0].0.clone();
    assert_eq!(typed.run_id, house.context("c1").run_id);
    assert_eq!(typed.idempotency_key, house.context("c1").key);
    assert!(typed.detach && typed.timeout_ms.is_none());
    assert_eq!(typed.reason.as_deref(), Some("to see how long it runs"));
    house.fixture.close().await;
}

#[tokio::test]
async fn what_it_prints_is_told_while_it_runs() {
    let (house, played) = with_terminal();
    let call = house.approved(house.call("c1", "terminal", uptime())).await;
    let told = async {
        let mut text = String::new();
        while !text.contains("days") {
            let (_, payload) = house.fixture.heard(ToolOutput::SPEC.topic).await;
            text.push_str(payload["text"].as_str().unwrap_or_default());
        }
        text
    };
    let (_, told) = tokio::join!(played_out(&house, &played, &call), told);
    assert_eq!(told, "up 2 days\n");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_no_types_nothing() {
    let (house, played) = with_terminal();
    let (_, ruling) = ask(&house, &uptime(), PermissionDecision::Deny).await;
    assert_eq!(
        (ruling.decision, ruling.ticket),
        (PermissionDecision::Deny, None)
    );
    assert!(played.typed().is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn a_shell_that_went_elsewhere_is_another_call() {
    let (house, played) = with_terminal();
    let call = house.call("c1", "terminal", uptime());
    let call = house.approved(call).await;
    played.play().folder = Some("/etc".to_owned());
    let error = house.execute(&call).await.expect_err("is refused");
    assert_eq!(error.code, ErrorCode::Forbidden, "{error}");
    assert!(played.typed().is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn what_would_end_the_terminal_is_refused_and_nobody_is_asked() {
    let (house, played) = with_terminal();
    let leave = json!({ "action": "run", "command": "make; exit", "reason": "to leave" });
    let stray = json!({ "action": "keys", "command": "ls", "text": "x" });
    for args in [leave, stray] {
        let ruled = house.fixture.caller();
        let ruled = ruled.call::<Ask>(&ask_params(&house, &args).await).await;
        let ruled = ruled.expect("is decided");
        assert_eq!(ruled.by, "rule:no-effect");
        let mut call = house.call("c1", "terminal", args);
        call.ticket = ruled.ticket;
        let done = house.execute(&call).await.expect("answers");
        assert!(done.is_error, "{done:?}");
    }
    assert!(played.typed().is_empty() && played.play().keys.is_empty());
    house.fixture.close().await;
}

#[tokio::test]
async fn without_tmux_the_model_is_told_what_to_install() {
    let (house, played) = with_terminal();
    let problem = "tmux is not here. Install it: sudo apt install tmux";
    played.play().problem = Some(problem.to_owned());
    let params = house.call("c1", "terminal", uptime());
    let seen = house.fixture.caller().call::<Preview>(&params).await;
    assert_eq!(seen.expect("looks").would_fail.as_deref(), Some(problem));
    house.fixture.close().await;
}

#[tokio::test]
async fn a_rule_for_the_command_allows_that_command_only() {
    let (house, _played) = with_terminal();
    let rule = json!({
        "tool": "terminal", "decision": "allow", "scope": "always",
        "match": { "command": "uptime *" },
    });
    let rule = serde_json::from_value(rule).expect("is a rule");
    house
        .fixture
        .caller()
        .call::<Add>(&rule)
        .await
        .expect("is stored");
    let mut params = ask_params(&house, &uptime()).await;
    params.unattended = true;
    let ruled = house.fixture.caller().call::<Ask>(&params).await;
    let ruled = ruled.expect("is decided");
    assert_eq!(ruled.decision, PermissionDecision::Allow, "{ruled:?}");
    params.args["command"] = json!("rm -rf lab");
    let ruled = house.fixture.caller().call::<Ask>(&params).await;
    let ruled = ruled.expect("is decided");
    assert_eq!(
        (ruled.decision, ruled.by.as_str()),
        (PermissionDecision::Deny, "unattended")
    );
    let grant = ruled.grant.expect("is named");
    assert_eq!(grant.matches["command"], "rm -rf lab");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_that_was_cut_off_is_found_again_by_its_key() {
    let (house, played) = with_terminal();
    let caller = house.fixture.caller();
    let call = house.call("c1", "terminal", uptime());
    let none = caller.call::<Probe>(&call).await.expect("looks");
    assert_eq!(none, ToolProbeResult::No);
    run(&house, &played, uptime()).await;
    let found = caller.call::<Probe>(&call).await.expect("looks");
    let ToolProbeResult::Yes { outcome } = found else {
        panic!("it happened: {found:?}");
    };
    assert_eq!(words(&outcome), "up 2 days\n(exit code 7)");
    // Another call's command is not taken for it, and the same call types nothing anew.
    let mut other = call.clone();
    other.context.key = Some("key-2".to_owned());
    let found = caller.call::<Probe>(&other).await.expect("looks");
    assert_eq!(found, ToolProbeResult::No);
    run(&house, &played, uptime()).await;
    assert_eq!(played.typed(), ["uptime -p"]);
    let keys = json!({ "action": "keys", "text": "y", "keys": ["Enter"] });
    let keys = house.call("c2", "terminal", keys);
    let found = caller.call::<Probe>(&keys).await.expect("looks");
    assert!(
        matches!(found, ToolProbeResult::Unknown { .. }),
        "{found:?}"
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_stopped_call_stops_its_command() {
    let (house, played) = with_terminal();
    let call = house.approved(house.call("c1", "terminal", uptime())).await;
    let caller = house.fixture.caller();
    let stop = async {
        let id = played.prints("up").await;
        let context = house.context("c1");
        let params = hob_wire::rooms::tool::ToolCancelParams {
            run_id: context.run_id.expect("has one"),
            call_id: "c1".to_owned(),
        };
        let caller = house.fixture.caller();
        let told = caller.call::<hob_wire::rooms::tool::Cancel>(&params).await;
        assert!(told.expect("answers").stopped);
        id
    };
    let (done, id) = tokio::join!(caller.call::<Execute>(&call), stop);
    let done = done.expect("says how far it came");
    assert!(
        done.is_error && words(&done).contains("interrupted"),
        "{done:?}"
    );
    assert_eq!(played.play().cancelled, [id]);
    house.fixture.close().await;
}

#[tokio::test]
async fn keys_are_typed_and_the_screen_is_shown() {
    let (house, played) = with_terminal();
    let args = json!({ "action": "keys", "text": "q", "keys": ["Enter"] });
    let call = house.approved(house.call("c1", "terminal", args)).await;
    let done = house.execute(&call).await.expect("runs");
    assert_eq!(words(&done), "$ top\n\n(A program has the whole screen.)");
    {
        let play = played.play();
        assert_eq!(play.keys[0].text.as_deref(), Some("q"));
        assert_eq!(play.keys[0].keys, ["Enter"]);
        assert_eq!(play.keys[0].run_id, house.context("c1").run_id);
    }
    house.fixture.close().await;
}
