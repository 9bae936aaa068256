//! `tool.*` through the bus: the tools of the house, and those of services outside.
//!
//! - `exec`: commands behind real walls, at both levels of the sandbox
//! - `processes`: what runs on in the background
//! - `files`: tools that change files
//! - `offers`: what a service may put on the shelf, and how long it stays there
//! - `cannot_run`: calls that nobody is asked about
//! - `calls`: calls of a service's tools that stop, fail, flood or are looked up
//! - `terminal`: typing into a shared terminal
//! - `secrets`: what is masked in what tools say, and what is not

mod calls;
mod cannot_run;
mod exec;
mod files;
mod offers;
mod processes;
mod rooms;
mod secrets;
mod terminal;

use crate::fixture::{Fixture, code};
use crate::permissions::{house_with, run};
use hob_bus::PeerIdentity;
use hob_daemon::tool::CommandRunner;
use hob_kit::mask::SecretMask;
use hob_wire::content::ContentPart;
use hob_wire::rooms::permission::{
    Answer, Ask, PermissionAnswerParams, PermissionAskParams, PermissionDecision,
    PermissionQuestion,
};
use hob_wire::rooms::tool::{
    Describe, Execute, List, ToolDescribeParams, ToolExecuteParams, ToolExecuteResult,
    ToolListParams,
};
use hob_wire::work::{ToolContext, ToolSpec};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::task::JoinHandle;

/// A house with tools and permissions, and a workspace with one file.
struct House {
    fixture: Fixture,
    workspace: tempfile::TempDir,
    /// The secrets the house knows.
    mask: SecretMask,
}

fn house() -> House {
    house_saying("")
}

fn house_saying(text: &str) -> House {
    house_running(text, |_| None)
}

/// A house that runs programs as `commands` says.
fn house_running(text: &str, commands: impl FnOnce(&Fixture) -> Option<CommandRunner>) -> House {
    let fixture = house_with(text);
    let mask = fixture.context.mask.clone();
    hob_daemon::tool::serve(&fixture.context, commands(&fixture)).expect("is served");
    let workspace = tempfile::tempdir().expect("a folder");
    std::fs::write(workspace.path().join("a.txt"), "hello").expect("writes");
    House {
        fixture,
        workspace,
        mask,
    }
}

impl House {
    fn context(&self, call: &str) -> ToolContext {
        ToolContext {
            session_key: Some("chat:main".to_owned()),
            run_id: Some(run(1)),
            call_id: Some(call.to_owned()),
            key: Some("key-1".to_owned()),
            workspace: self.workspace.path().to_str().map(str::to_owned),
        }
    }

    fn call(&self, call: &str, name: &str, args: Value) -> ToolExecuteParams {
        ToolExecuteParams {
            name: name.to_owned(),
            args,
            context: self.context(call),
            ticket: None,
        }
    }

    async fn execute(&self, params: &ToolExecuteParams) -> Result<ToolExecuteResult, WireError> {
        self.fixture.caller().call::<Execute>(params).await
    }

    async fn names(&self) -> Vec<String> {
        let listed = self
            .fixture
            .caller()
            .call::<List>(&ToolListParams::default())
            .await;
        let tools = listed.expect("lists").tools.into_iter();
        tools.map(|tool| tool.name).collect()
    }

    /// The call with a ticket, whether a rule gives it or the person of this test.
    async fn approved(&self, mut params: ToolExecuteParams) -> ToolExecuteParams {
        let caller = self.fixture.caller();
        let name = params.name.clone();
        let describe = ToolDescribeParams { name, wait: false };
        let tool = caller.call::<Describe>(&describe).await;
        let ask = PermissionAskParams {
            tool: tool.expect("is there"),
            args: params.args.clone(),
            context: params.context.clone(),
            ceiling: None,
            approved: None,
            channel: None,
            unattended: false,
        };
        let ruling = tokio::select! {
            ruling = caller.call::<Ask>(&ask) => ruling,
            never = self.say_yes() => never,
        };
        let ruling = ruling.expect("is decided");
        assert_eq!(ruling.decision, PermissionDecision::Allow);
        params.ticket = ruling.ticket;
        params
    }

    /// Says yes to every question, for ever.
    async fn say_yes<T>(&self) -> T {
        loop {
            self.say_yes_once().await;
        }
    }

    /// Says yes to the next question.
    async fn say_yes_once(&self) -> PermissionQuestion {
        let (_, payload) = self.fixture.heard("permission.requested").await;
        let question: PermissionQuestion = serde_json::from_value(payload).expect("is a question");
        let answer = PermissionAnswerParams {
            id: question.id.clone(),
            decision: PermissionDecision::Allow,
            scope: None,
            digest: Some(question.digest.clone()),
        };
        let answered = self.fixture.caller().call::<Answer>(&answer).await;
        answered.expect("counts");
        question
    }

    /// Waits until the tool is there, or is not.
    async fn until(&self, name: &str, there: bool) {
        let wait = async {
            while self.names().await.iter().any(|known| known == name) != there {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(30), wait).await;
        waited.unwrap_or_else(|_| panic!("{name} there: {there}"));
    }
}

#[expect(clippy::disallowed_methods, reason = "a test has no Tasks")]
fn start(
    house: &House,
    params: ToolExecuteParams,
) -> JoinHandle<Result<ToolExecuteResult, WireError>> {
    let caller = house.fixture.caller();
    tokio::spawn(async move { caller.call::<Execute>(&params).await })
}

/// The names of the house's tools and of these, in order.
fn house_tools(others: &[&str]) -> Vec<String> {
    let house: Vec<String> = hob_tools::entries()
        .iter()
        .map(|entry| (entry.spec)().name)
        .collect();
    let others = others.iter().map(ToString::to_string);
    let mut names: Vec<String> = house.into_iter().chain(others).collect();
    names.sort_unstable();
    names
}

fn words(executed: &ToolExecuteResult) -> &str {
    match &executed.content[..] {
        [ContentPart::Text { text }] => text,
        other => panic!("one text: {other:?}"),
    }
}

fn spec(name: &str, effect: &str) -> Value {
    json!({
        "name": name,
        "description": "Does something.",
        "parameters": {
            "type": "object",
            "properties": { "n": { "type": "integer" } },
            "additionalProperties": false,
        },
        "tier": "external",
        "effect": effect,
        "approval": "Do {n}",
    })
}

#[tokio::test]
async fn the_tools_of_the_house_are_listed_and_described() {
    let house = house();
    assert_eq!(house.names().await, house_tools(&[]));
    let caller = house.fixture.caller();
    let describe = |name: &str| ToolDescribeParams {
        name: name.to_owned(),
        wait: false,
    };
    let read = caller.call::<Describe>(&describe("read")).await;
    assert_eq!(read.expect("is there").approval, "Read {path}");
    let missing = caller.call::<Describe>(&describe("raed")).await;
    let missing = missing.expect_err("is not there");
    assert_eq!(missing.code, ErrorCode::NotFound);
    assert!(
        missing.message.contains("Did you mean 'read'?"),
        "{missing}"
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn a_persons_own_act_needs_control_and_no_ticket() {
    let house = house();
    let mut call = house.call("c1", "read", json!({ "path": "a.txt" }));
    call.context.run_id = None;
    assert_eq!(words(&house.execute(&call).await.expect("runs")), "hello");
    let peer = PeerIdentity {
        name: "chatter".to_owned(),
        surface: "ws",
        principal: "t1".to_owned(),
        scopes: Scopes::rank(Scope::Chat),
    };
    let chatter = house.fixture.bus.caller_as(peer).expect("connects");
    let refused = chatter.call::<Execute>(&call).await;
    assert_eq!(code(refused), ErrorCode::Forbidden);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_of_a_run_needs_its_ticket_and_uses_it_up() {
    let house = house();
    let bare = house.call("c1", "read", json!({ "path": "a.txt" }));
    assert_eq!(code(house.execute(&bare).await), ErrorCode::Forbidden);
    let mut forged = bare.clone();
    forged.ticket = Some("forged".to_owned());
    assert_eq!(code(house.execute(&forged).await), ErrorCode::Forbidden);
    let call = house.approved(bare).await;
    assert_eq!(words(&house.execute(&call).await.expect("runs")), "hello");
    assert_eq!(code(house.execute(&call).await), ErrorCode::Forbidden);
    house.fixture.close().await;
}

#[tokio::test]
async fn what_runs_is_what_was_approved() {
    let house = house();
    std::fs::write(house.workspace.path().join("b.txt"), "SECRET").expect("writes");
    let bare = || house.call("c1", "read", json!({ "path": "a.txt" }));
    let changes: [fn(&mut ToolExecuteParams); 4] = [
        |call| call.args["path"] = json!("b.txt"),
        |call| call.context.workspace = Some("/".to_owned()),
        |call| call.context.call_id = Some("c2".to_owned()),
        |call| (call.name, call.args) = ("time".to_owned(), json!({})),
    ];
    for change in changes {
        let mut call = house.approved(bare()).await;
        change(&mut call);
        assert_eq!(code(house.execute(&call).await), ErrorCode::Forbidden);
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn what_a_model_gets_wrong_is_told_to_it() {
    let house = house();
    for (name, args, told) in [
        ("raed", json!({}), "Did you mean 'read'?"),
        (
            "xyz",
            json!({}),
            "The tools are: agent_status, calculate, config_read,",
        ),
        ("read", json!("{\"path\": "), "must be one JSON object"),
        ("read", json!(["a.txt"]), "must be one JSON object"),
        ("read", json!({}), "'path' is missing."),
        (
            "read",
            json!({ "path": 7 }),
            "'path' must be of type string",
        ),
        (
            "read",
            json!({ "path": "a", "pth": 1 }),
            "'pth' is not known here",
        ),
        (
            "read",
            json!({ "path": "a", "offset": 0 }),
            "'offset' must be at least 1",
        ),
    ] {
        let call = house.call("c1", name, args);
        let answer = house.execute(&call).await.expect("is answered");
        assert!(answer.is_error, "{name}");
        assert!(words(&answer).contains(told), "{}", words(&answer));
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_listed_can_be_read_back_as_a_declaration() {
    let house = house();
    let listed = house
        .fixture
        .caller()
        .call::<List>(&ToolListParams::default())
        .await;
    for tool in listed.expect("lists").tools {
        let json = serde_json::to_value(&tool).expect("is plain");
        let read: ToolSpec = serde_json::from_value(json).expect("reads");
        let fingerprint = hob_core::permission::tool_fingerprint;
        assert_eq!(fingerprint(&read), fingerprint(&tool));
    }
    house.fixture.close().await;
}
