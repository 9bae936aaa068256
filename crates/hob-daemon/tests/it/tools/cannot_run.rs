//! Calls that can never run: nobody is asked about them, and the model is told why.

use super::{House, house, house_saying, spec};
use crate::outside::{Outside, answers};
use hob_wire::rooms::permission::{
    Add, AnswerReach, Ask, BY_CANNOT_RUN, Pending, PermissionAskParams, PermissionDecision,
    PermissionPendingParams, PermissionRuling, RuleDecision, RuleTerms,
};
use hob_wire::rooms::tool::{Describe, ToolDescribeParams};
use serde_json::{Value, json};

async fn ask(house: &House, tool: &str, args: Value, unattended: bool) -> PermissionRuling {
    let caller = house.fixture.caller();
    let describe = ToolDescribeParams {
        name: tool.to_owned(),
        wait: false,
    };
    let params = PermissionAskParams {
        tool: caller.call::<Describe>(&describe).await.expect("is there"),
        args,
        context: house.context("c1"),
        ceiling: None,
        approved: None,
        channel: None,
        unattended,
    };
    caller.call::<Ask>(&params).await.expect("is decided")
}

/// Asks, and expects the reason at once.
async fn refused(house: &House, tool: &str, args: &Value, told: &str) {
    for unattended in [false, true] {
        let ruling = ask(house, tool, args.clone(), unattended).await;
        assert_eq!(
            (ruling.decision, ruling.by.as_str()),
            (PermissionDecision::Deny, BY_CANNOT_RUN),
            "{tool} {args}"
        );
        assert!(ruling.ticket.is_none() && ruling.grant.is_none());
        let reason = ruling.reason.expect("is told");
        assert!(reason.contains(told), "{tool} {args}: {reason}");
    }
    let pending = house.fixture.caller();
    let pending = pending
        .call::<Pending>(&PermissionPendingParams::default())
        .await;
    assert!(pending.expect("lists").questions.is_empty());
}

fn calls() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("write", json!({ "path": "a.txt" }), "do not fit"),
        ("write", json!({ "path": 3, "content": "x" }), "do not fit"),
        ("exec", json!({ "comand": "ls" }), "do not fit"),
        (
            "web_fetch",
            json!({ "url": "https://x.test", "maxChars": 1 }),
            "do not fit",
        ),
        (
            "web_fetch",
            json!({ "url": "http://127.0.0.1:8080/" }),
            "not on the open internet",
        ),
        (
            "web_fetch",
            json!({ "url": "http://localhost/" }),
            "not on the open internet",
        ),
        (
            "web_fetch",
            json!({ "url": "http://169.254.169.254/" }),
            "not on the open internet",
        ),
        (
            "web_fetch",
            json!({ "url": "file:///etc/passwd" }),
            "only http and https",
        ),
        ("web_fetch", json!({ "url": "no address" }), "not a URL"),
        (
            "read",
            json!({ "path": "/etc/passwd" }),
            "leads out of the workspace",
        ),
        (
            "grep",
            json!({ "pattern": "x", "path": "../.." }),
            "leads out of the workspace",
        ),
        (
            "exec",
            json!({ "command": "ls", "cwd": "/etc" }),
            "leads out of the workspace",
        ),
        (
            "exec",
            json!({ "command": "ls", "cwd": "/" }),
            "leads out of the workspace",
        ),
        (
            "exec",
            json!({ "command": "ls", "cwd": ".." }),
            "leads out of the workspace",
        ),
        (
            "move",
            json!({ "from": "a.txt", "to": "/tmp/a" }),
            "leads out of the workspace",
        ),
    ]
}

#[tokio::test]
async fn nobody_is_asked_about_a_call_that_can_never_run() {
    let house = house();
    for (tool, args, told) in calls() {
        refused(&house, tool, &args, told).await;
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_rule_that_wants_it_asked_asks_nobody_either() {
    let house = house();
    let caller = house.fixture.caller();
    for tool in ["write", "read", "exec", "web_fetch", "move", "grep"] {
        let terms = RuleTerms::new(tool, RuleDecision::Ask, AnswerReach::Always);
        caller.call::<Add>(&terms.into()).await.expect("is stored");
    }
    for (tool, args, told) in calls() {
        refused(&house, tool, &args, told).await;
    }
    house.fixture.close().await;
}

#[tokio::test]
async fn a_host_that_a_person_opened_is_asked_about() {
    let house = house_saying("[web]\nprivate_hosts = [\"127.0.0.1:8080\"]\n");
    let url = json!({ "url": "http://127.0.0.1:8080/" });
    let yes = house.approved(house.call("c1", "web_fetch", url)).await;
    assert!(yes.ticket.is_some());
    house.fixture.close().await;
}

#[tokio::test]
async fn a_tool_from_outside_is_checked_by_its_schema() {
    let house = house();
    let service = Outside::serve(&house.fixture, "lab", answers([])).await;
    let offer = json!({ "service": "lab", "tools": [spec("stamp", "opaque")] });
    service.call("tool.offer", offer).await.expect("is taken");
    refused(&house, "stamp", &json!({ "odd": true }), "do not fit").await;
    house.fixture.close().await;
}
