//! `tool.*` through the bus: the tools of the house, and those of services outside.

use crate::fixture::{Fixture, code};
use crate::outside::{Outside, Reply, answers, said};
use crate::permissions::{house_with, run, settings};
use hob_bus::Peer;
use hob_kit::clock::Clock;
use hob_wire::content::Part;
use hob_wire::rooms::permission::{Answer, AnswerParams, Ask, AskParams, Decision, Question};
use hob_wire::rooms::tool::{
    Cancel, CancelParams, Describe, DescribeParams, Execute, ExecuteParams, Executed, List,
    ListParams, Probe, Probed,
};
use hob_wire::work::{ToolContext, ToolSpec};
use hob_wire::{ErrorCode, Scope, Scopes, WireError};
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// A house with tools and permissions, and a workspace with one file.
struct House {
    fixture: Fixture,
    workspace: tempfile::TempDir,
}

fn house() -> House {
    house_saying("")
}

fn house_saying(text: &str) -> House {
    let fixture = house_with(text);
    let room = hob_daemon::tool::room(hob_daemon::tool::Parts {
        bus: fixture.bus.clone(),
        clock: Clock::system(),
        settings: settings(text),
        home: fixture.home.clone(),
    });
    fixture.bus.serve(room).expect("is served");
    let workspace = tempfile::tempdir().expect("a folder");
    std::fs::write(workspace.path().join("a.txt"), "hello").expect("writes");
    House { fixture, workspace }
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

    fn call(&self, call: &str, name: &str, args: Value) -> ExecuteParams {
        ExecuteParams {
            name: name.to_owned(),
            args,
            context: self.context(call),
            ticket: None,
        }
    }

    async fn execute(&self, params: &ExecuteParams) -> Result<Executed, WireError> {
        self.fixture.caller().call::<Execute>(params).await
    }

    async fn names(&self) -> Vec<String> {
        let listed = self.fixture.caller().call::<List>(&ListParams {}).await;
        let tools = listed.expect("lists").tools.into_iter();
        tools.map(|tool| tool.name).collect()
    }

    /// The call with a ticket, whether a rule gives it or the person of this test.
    async fn approved(&self, mut params: ExecuteParams) -> ExecuteParams {
        let caller = self.fixture.caller();
        let name = params.name.clone();
        let describe = DescribeParams { name, wait: false };
        let tool = caller.call::<Describe>(&describe).await;
        let ask = AskParams {
            tool: tool.expect("is there"),
            args: params.args.clone(),
            context: params.context.clone(),
            ceiling: None,
            approved: None,
        };
        let ruling = tokio::select! {
            ruling = caller.call::<Ask>(&ask) => ruling,
            never = self.say_yes() => never,
        };
        let ruling = ruling.expect("is decided");
        assert_eq!(ruling.decision, Decision::Allow);
        params.ticket = ruling.ticket;
        params
    }

    /// Says yes to every question, for ever.
    async fn say_yes<T>(&self) -> T {
        loop {
            let (_, payload) = self.fixture.heard("permission.requested").await;
            let question: Question = serde_json::from_value(payload).expect("is a question");
            let answer = AnswerParams {
                id: question.id,
                decision: Decision::Allow,
                scope: None,
                digest: Some(question.digest),
            };
            let answered = self.fixture.caller().call::<Answer>(&answer).await;
            answered.expect("counts");
        }
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
fn start(house: &House, params: ExecuteParams) -> JoinHandle<Result<Executed, WireError>> {
    let caller = house.fixture.caller();
    tokio::spawn(async move { caller.call::<Execute>(&params).await })
}

fn words(executed: &Executed) -> &str {
    match &executed.content[..] {
        [Part::Text { text }] => text,
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
    assert_eq!(house.names().await, ["read", "time"]);
    let caller = house.fixture.caller();
    let describe = |name: &str| DescribeParams {
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
    let peer = Peer {
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
    let changes: [fn(&mut ExecuteParams); 4] = [
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
        ("xyz", json!({}), "The tools are: read, time."),
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
async fn tools_of_each_effect_are_served_over_the_bus() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |params| {
            said(&format!("{} {}", params["name"], params["args"]["n"]))
        })]),
    )
    .await;
    let classes = ["pure", "keyed", "probeable", "opaque"];
    let specs: Vec<Value> = classes.iter().map(|class| spec(class, class)).collect();
    let offer = json!({ "service": "lab", "tools": specs });
    let offered = service.call("tool.offer", offer).await.expect("is taken");
    assert_eq!(offered, json!({ "names": classes }));
    for class in classes {
        let call = house.call("c1", class, json!({ "n": 3 }));
        let call = house.approved(call).await;
        let answer = house.execute(&call).await.expect("runs");
        assert_eq!(words(&answer), format!("\"{class}\" 3"));
        let (method, params) = service.asked().await;
        assert_eq!(method, "lab.tool_execute");
        assert_eq!(params["context"]["key"], "key-1");
        assert_eq!(params["context"]["callId"], "c1");
        assert_eq!(params.get("ticket"), None, "a ticket stays in the house");
    }
    let wrong = house.call("c1", "pure", json!({ "n": "three" }));
    assert!(house.execute(&wrong).await.expect("is answered").is_error);
    assert!(
        service.was_left_alone().await,
        "what does not fit is not run"
    );
    house.fixture.close().await;
}

#[tokio::test]
async fn an_offer_is_checked() {
    let house = house();
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let other = Outside::serve(&house.fixture, "shop", answers([])).await;
    let taken = json!({ "service": "shop", "tools": [spec("sell", "opaque")] });
    other.call("tool.offer", taken).await.expect("is taken");
    let with = |name: &str, value: Value| {
        let mut changed = spec("mine", "opaque");
        changed[name] = value;
        changed
    };
    for (tool, expected) in [
        (with("name", json!("read")), "CONFLICT"),
        (with("aliases", json!(["time"])), "CONFLICT"),
        (with("name", json!("sell")), "CONFLICT"),
        (with("name", json!("Mine")), "INVALID_PARAMS"),
        (with("name", json!("")), "INVALID_PARAMS"),
        (with("name", json!("a\u{202e}b")), "INVALID_PARAMS"),
        (
            with("description", json!("x".repeat(5_000))),
            "INVALID_PARAMS",
        ),
        (with("approval", json!(" ")), "INVALID_PARAMS"),
        (
            with("parameters", json!({ "type": "string" })),
            "INVALID_PARAMS",
        ),
        (
            with(
                "parameters",
                json!({ "type": "object", "$ref": "http://x" }),
            ),
            "INVALID_PARAMS",
        ),
        (
            with("needs", json!([{ "kind": "path", "arg": "p" }])),
            "INVALID_PARAMS",
        ),
        (with("timeoutMs", json!(3_600_000)), "INVALID_PARAMS"),
        (with("tier", json!("none")), "INVALID_PARAMS"),
    ] {
        let offer = json!({ "service": "lab", "tools": [tool] });
        let refused = service.call("tool.offer", offer).await;
        let refused = refused.expect_err("is refused");
        assert_eq!(refused["code"], expected, "{refused}");
    }
    let twice = json!({ "service": "lab", "tools": [spec("a", "pure"), spec("a", "pure")] });
    let refused = service.call("tool.offer", twice).await;
    assert_eq!(refused.expect_err("is refused")["code"], "INVALID_PARAMS");
    let many: Vec<Value> = (0..129).map(|n| spec(&format!("t{n}"), "pure")).collect();
    let refused = service.call("tool.offer", json!({ "service": "lab", "tools": many }));
    assert_eq!(
        refused.await.expect_err("is refused")["code"],
        "INVALID_PARAMS"
    );
    assert_eq!(house.names().await, ["read", "sell", "time"]);
    house.fixture.close().await;
}

#[tokio::test]
async fn only_a_registered_service_offers_and_only_for_itself() {
    let house = house();
    let scopes = |text: &str| text.parse::<Scopes>().expect("is sound");
    let lab = Outside::serve(&house.fixture, "lab", answers([])).await;
    for (peer, service, expected) in [
        ("read", "lab", "FORBIDDEN"),
        ("read,service:shop", "lab", "FORBIDDEN"),
        ("read,service:shop", "shop", "CONFLICT"),
        ("admin", "tools", "FORBIDDEN"),
        ("service:lab", "lab", "FORBIDDEN"),
    ] {
        let peer = Outside::connect(&house.fixture, "peer", scopes(peer), answers([]));
        let offer = json!({ "service": service, "tools": [spec("x", "pure")] });
        let refused = peer.call("tool.offer", offer).await;
        assert_eq!(refused.expect_err("is refused")["code"], expected);
    }
    // A service that runs no tools has none to offer.
    let bare = Outside::connect(
        &house.fixture,
        "bare",
        scopes("read,service:bare"),
        answers([]),
    );
    let register = json!({ "service": "bare", "methods": ["bare.hello"] });
    bare.call("gateway.register", register)
        .await
        .expect("is registered");
    let offer = json!({ "service": "bare", "tools": [spec("x", "pure")] });
    let refused = bare
        .call("tool.offer", offer)
        .await
        .expect_err("is refused");
    assert!(refused["message"].to_string().contains("bare.tool_execute"));
    assert_eq!(house.names().await, ["read", "time"]);
    drop(lab);
    house.fixture.close().await;
}

#[tokio::test]
async fn tools_go_with_their_service_and_come_back_with_it() {
    let house = house();
    let offer = || json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    let works = || answers([("tool_execute", |_| said("mixed"))]);
    let service = Outside::serve(&house.fixture, "lab", works()).await;
    service.call("tool.offer", offer()).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    service.leave().await;
    house.until("mix", false).await;
    // Without a ticket nobody waits.
    let bare = house.execute(&house.call("c2", "mix", json!({}))).await;
    assert!(words(&bare.expect("is answered")).contains("There is no tool 'mix'"));
    // With one, the call waits until the service is back.
    let waiting = start(&house, call);
    let service = Outside::serve(&house.fixture, "lab", works()).await;
    service.call("tool.offer", offer()).await.expect("is taken");
    let answer = waiting.await.expect("ends").expect("runs");
    assert_eq!(words(&answer), "mixed");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_service_that_reconnects_before_its_end_is_heard_keeps_its_new_tools() {
    let house = house();
    for round in 0..20 {
        let service = Outside::serve(&house.fixture, "lab", answers([])).await;
        let name = format!("tool_{round}");
        let offer = json!({ "service": "lab", "tools": [spec(&name, "pure")] });
        service.call("tool.offer", offer).await.expect("is taken");
        // The next connection of the same credential takes this one's place.
        let next = Outside::serve(&house.fixture, "lab", answers([])).await;
        let name = format!("again_{round}");
        let offer = json!({ "service": "lab", "tools": [spec(&name, "pure")] });
        next.call("tool.offer", offer).await.expect("is taken");
        house.until(&format!("tool_{round}"), false).await;
        assert!(house.names().await.contains(&name), "round {round}");
        next.leave().await;
        house.until(&name, false).await;
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tool_that_never_comes_back_is_told_to_the_model() {
    let house = house_saying("[tool]\nreturn_wait = \"50ms\"\n");
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let offer = json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    service.leave().await;
    house.until("mix", false).await;
    let answer = house.execute(&call).await.expect("is answered");
    assert!(answer.is_error && words(&answer).contains("There is no tool 'mix'"));
    let describe = DescribeParams {
        name: "mix".to_owned(),
        wait: true,
    };
    let missing = house.fixture.caller().call::<Describe>(&describe).await;
    assert_eq!(code(missing), ErrorCode::NotFound);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tool_that_changed_since_its_approval_is_not_run() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| said("done"))]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("mix", "keyed")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "mix", json!({}))).await;
    let mut changed = spec("mix", "keyed");
    changed["description"] = json!("Does something else.");
    let offer = json!({ "service": "lab", "tools": [changed] });
    service.call("tool.offer", offer).await.expect("is taken");
    assert_eq!(code(house.execute(&call).await), ErrorCode::Forbidden);
    assert!(service.was_left_alone().await);
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_is_cancelled_within_a_second() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([
            ("tool_execute", |_| Reply::Silence),
            ("tool_cancel", |_| {
                Reply::Payload(json!({ "stopped": true }))
            }),
        ]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("sleep", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let running = start(&house, call);
    assert_eq!(service.asked().await.0, "lab.tool_execute");
    let cancel = CancelParams {
        run_id: run(1),
        call_id: "c1".to_owned(),
    };
    let begun = Instant::now();
    let caller = house.fixture.caller();
    let cancelled = caller.call::<Cancel>(&cancel).await.expect("cancels");
    assert!(cancelled.stopped);
    // A second is what is promised; a noisy machine may add to it.
    assert!(begun.elapsed() < Duration::from_secs(5));
    let (method, params) = service.asked().await;
    assert_eq!(method, "lab.tool_cancel");
    assert_eq!(params["callId"], "c1");
    assert_eq!(code(running.await.expect("ends")), ErrorCode::Cancelled);
    let again = caller.call::<Cancel>(&cancel).await.expect("is answered");
    assert!(!again.stopped, "nothing is under way any more");
    service.leave().await;
    house.fixture.close().await;
}

#[tokio::test]
async fn the_same_call_is_under_way_only_once() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| Reply::Silence)]),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("sleep", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let second = house.approved(house.call("c1", "sleep", json!({}))).await;
    let running = start(&house, call);
    service.asked().await;
    assert_eq!(code(house.execute(&second).await), ErrorCode::Conflict);
    // A service that dies leaves its callers no doubt that there is doubt.
    service.leave().await;
    let lost = running.await.expect("ends").expect_err("is lost");
    assert_eq!(lost.code, ErrorCode::ServiceUnavailable);
    assert!(lost.message.contains("not known"), "{lost}");
    house.fixture.close().await;
}

#[tokio::test]
async fn a_call_that_takes_too_long_is_stopped() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |_| Reply::Silence)]),
    )
    .await;
    let mut slow = [spec("sleep", "opaque"), spec("gaze", "pure")];
    for tool in &mut slow {
        tool["timeoutMs"] = json!(50);
    }
    let offer = json!({ "service": "lab", "tools": slow });
    service.call("tool.offer", offer).await.expect("is taken");
    let call = house.approved(house.call("c1", "sleep", json!({}))).await;
    let lost = house.execute(&call).await.expect_err("nobody knows");
    assert_eq!(lost.code, ErrorCode::Timeout);
    assert!(lost.message.contains("longer than 50 ms"), "{lost}");
    assert!(lost.message.contains("not known"), "{lost}");
    let call = house.approved(house.call("c2", "gaze", json!({}))).await;
    let answer = house.execute(&call).await.expect("is answered");
    assert!(answer.is_error && words(&answer).contains("longer than 50 ms"));
    service.leave().await;
    house.fixture.close().await;
}

#[tokio::test]
async fn answers_of_services_are_bounded_and_failures_told() {
    let house = house();
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers([("tool_execute", |params| match params["name"].as_str() {
            Some("flood") => said(&"x".repeat(5_000_000)),
            Some("garble") => Reply::Payload(json!("what?")),
            _ => Reply::Error(json!({ "code": "METHOD_ERROR", "message": "no more milk" })),
        })]),
    )
    .await;
    let names = ["flood", "garble", "fail"];
    let specs: Vec<Value> = names.iter().map(|name| spec(name, "pure")).collect();
    let offer = json!({ "service": "lab", "tools": specs });
    service.call("tool.offer", offer).await.expect("is taken");
    for (name, told) in [
        ("flood", "bytes left out here"),
        ("garble", "not of its form"),
        ("fail", "'fail' failed: no more milk"),
    ] {
        let call = house.approved(house.call("c1", name, json!({}))).await;
        let answer = house.execute(&call).await.expect("is answered");
        assert!(words(&answer).contains(told), "{name}");
        assert!(words(&answer).len() < 300_000);
        assert_eq!(answer.is_error, name != "flood");
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_probe_says_what_is_known() {
    let house = house_saying("[tool]\nreturn_wait = \"50ms\"\n");
    let service = Outside::serve(
        &house.fixture,
        "lab",
        answers(
            [("tool_probe", |params| match params["args"]["n"].as_u64() {
                Some(1) => Reply::Payload(json!({
                    "happened": "yes",
                    "outcome": { "content": [{ "type": "text", "text": "done" }] },
                })),
                Some(2) => Reply::Payload(json!({ "happened": "no" })),
                _ => Reply::Error(json!({ "code": "INTERNAL", "message": "no idea" })),
            })],
        ),
    )
    .await;
    let offer = json!({ "service": "lab", "tools": [spec("put", "probeable")] });
    service.call("tool.offer", offer).await.expect("is taken");
    let caller = house.fixture.caller();
    let probe = |name: &str, n: u64| house.call("c1", name, json!({ "n": n }));
    let probed = caller.call::<Probe>(&probe("put", 1)).await;
    match probed.expect("is answered") {
        Probed::Yes { outcome } => assert_eq!(words(&outcome), "done"),
        other => panic!("{other:?}"),
    }
    let probed = caller.call::<Probe>(&probe("put", 2)).await;
    assert_eq!(probed.expect("is answered"), Probed::No);
    for (name, n, known) in [
        ("put", 3, "no idea"),
        ("read", 1, "cannot be asked"),
        ("gone", 1, "not here any more"),
    ] {
        match caller.call::<Probe>(&probe(name, n)).await {
            Ok(Probed::Unknown { known: told }) => assert!(told.contains(known), "{told}"),
            other => panic!("{other:?}"),
        }
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn what_is_listed_can_be_read_back_as_a_declaration() {
    let house = house();
    let listed = house.fixture.caller().call::<List>(&ListParams {}).await;
    for tool in listed.expect("lists").tools {
        let json = serde_json::to_value(&tool).expect("is plain");
        let read: ToolSpec = serde_json::from_value(json).expect("reads");
        let fingerprint = hob_core::permission::fingerprint;
        assert_eq!(fingerprint(&read), fingerprint(&tool));
    }
    house.fixture.close().await;
}
