//! Part of fault 98: authority that is not the caller's own. A token that may only talk has a model
//! read what it may not, a session calls itself a sub-agent of one that may more, a service says of
//! its own tool that it only looks.

use super::court::Court;
use super::outsider::Outsider;
use crate::faults::http;
use crate::faults::rig::{PATIENCE, eventually};
use crate::faults::websocket::Socket;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;
use std::path::Path;
use std::time::Instant;

/// In a file that the narrow token may not have read.
const SECRET: &str = "the secret of another folder";
const OPEN: &str = "open to the token";

/// What was tried, and what it gave.
#[derive(Default)]
pub(super) struct Found {
    pub(super) tries: usize,
    pub(super) escalations: Vec<String>,
}

pub(super) fn try_all(court: &mut Court, outsider: &Outsider) -> Found {
    let mut found = Found::default();
    narrow_tokens(court, &mut found);
    sub_agents(court, &mut found);
    declared_tiers(court, outsider, &mut found);
    found
}

/// A token with `chat` asks for runs in folders that nobody gave it, on every surface.
fn narrow_tokens(court: &mut Court, found: &mut Found) {
    let (given, other) = (court.workspace.join("given"), court.workspace.join("other"));
    for (folder, text) in [(&given, OPEN), (&other, SECRET)] {
        std::fs::create_dir_all(folder.join("deep")).expect("a folder");
        std::fs::write(folder.join("note"), text).expect("a file");
    }
    symlink(&other, given.join("out")).expect("a link");
    let none = token(court, "talks", &["chat"], &[]);
    let some = token(court, "reads", &["chat"], &[&given]);
    let home = court.rig.home().to_owned();
    for (holder, folder) in [
        (&none, Path::new("/")),
        (&none, &given),
        (&none, &home),
        (&some, Path::new("/")),
        (&some, &other),
        (&some, &given.join("..")),
        (&some, &given.join("out")),
        (&some, &given.join("missing")),
        (&some, &home),
        (&some, Path::new("given")),
    ] {
        for (surface, refusal) in refused(court, holder, folder) {
            found.tries += 1;
            match refusal {
                Some(error) => {
                    let told = error["message"].as_str().unwrap_or_default().to_owned();
                    assert!(told.contains("hob token create --workspace"), "{error}");
                }
                None => found
                    .escalations
                    .push(format!("{surface}: a run in {}", folder.display())),
            }
        }
    }
    // What was given is read, below it too, and nothing more is done there whatever rules say.
    for folder in [&given, &given.join("deep")] {
        let calls = json!([
            ["read", { "path": "note" }],
            ["write", { "path": "wrote-by-chat", "content": "x" }],
            ["exec", { "command": "touch ran-by-chat" }],
        ]);
        let told = run_as(court, &some, folder, &calls);
        found.tries += 2;
        for mark in ["wrote-by-chat", "ran-by-chat"] {
            if folder.join(mark).exists() {
                found.escalations.push(format!("chat: {mark}"));
            }
        }
        if *folder == given {
            assert!(told.contains(OPEN), "what was given is read: {told}");
        }
        if told.contains(SECRET) {
            found
                .escalations
                .push("chat: the secret was told".to_owned());
        }
    }
    steered(court, &some, found);
    // With `control` every folder is open; this is how it was and stays.
    let acts = token(court, "acts", &["control"], &[]);
    let calls = json!([["read", { "path": "note" }]]);
    let told = run_as(court, &acts, &other, &calls);
    assert!(told.contains(SECRET), "control reads anywhere: {told}");
    // A folder for all tokens.
    let general = json!({ "key": "agent.workspaces", "value": [other] });
    court.hand.must("config.set", &general);
    let told = run_as(court, &none, &other, &calls);
    assert!(told.contains(SECRET), "a configured folder is read: {told}");
    let nothing = json!({ "key": "agent.workspaces", "value": [] });
    court.hand.must("config.set", &nothing);
}

/// Words of a narrow token are said into a run of the person's that only looks, but elsewhere.
fn steered(court: &mut Court, holder: &str, found: &mut Found) {
    found.tries += 1;
    let other = court.workspace.join("other");
    let session = json!({ "sessionKey": "steered-by-chat", "workspace": other, "ceiling": "exec" });
    court.write("other/precious.txt", "x");
    let asks = json!([["remove", { "path": "precious.txt" }]]);
    let run = court.begin(&session, &asks.to_string());
    let mut socket = Socket::authenticated(court.rig.port(), holder);
    let words = json!({
        "sessionKey": "steered-by-chat", "mode": "steer",
        "task": json!([["read", { "path": "note" }]]).to_string(),
    });
    let joined = socket.call("agent.run", &words).expect("an answer");
    let joined = joined.expect("is accepted");
    if joined["runId"] == run.as_str() {
        found
            .escalations
            .push("chat: steered into a run elsewhere".to_owned());
    }
    court.hand.must("agent.abort", &json!({ "runId": run }));
    court
        .hand
        .must("agent.abort", &json!({ "runId": joined["runId"] }));
}

/// Who asks to be taken for a sub-agent of the house.
fn sub_agents(court: &mut Court, found: &mut Found) {
    let cron = json!({ "sessionKey": "cron:borrowed", "kind": "cron" });
    court.hand.must("session.create", &cron);
    for scope in ["chat", "control", "admin"] {
        let holder = token(court, &format!("as-{scope}"), &[scope], &[]);
        for (number, params) in [
            json!({ "kind": "subagent", "parent": "cron:borrowed" }),
            json!({ "kind": "subagent", "sessionKey": "mine" }),
            json!({ "sessionKey": "cron:borrowed:subagent:mine" }),
            json!({ "sessionKey": "mine:subagent:x", "parent": "cron:borrowed" }),
        ]
        .into_iter()
        .enumerate()
        {
            let mut run = params.clone();
            run["task"] = json!("[]");
            if run["sessionKey"].is_null() {
                run["sessionKey"] = json!(format!("free-{scope}-{number}"));
            }
            run.as_object_mut().expect("an object").remove("parent");
            for (method, params) in [("session.create", &params), ("agent.run", &run)] {
                for (surface, answer) in everywhere(court, &holder, method, params) {
                    found.tries += 1;
                    match answer {
                        Err(error) => assert_eq!(error["code"], "FORBIDDEN", "{error}"),
                        Ok(done) => found
                            .escalations
                            .push(format!("{scope} {surface} {method} {params}: {done}")),
                    }
                }
            }
        }
    }
    // A token that may only talk hangs nothing below a session of the house either.
    let holder = token(court, "hangs", &["chat"], &[]);
    let below = json!({ "sessionKey": "below", "parent": "cron:borrowed" });
    for (surface, answer) in everywhere(court, &holder, "session.create", &below) {
        found.tries += 1;
        if answer.is_ok() {
            found
                .escalations
                .push(format!("{surface}: below a job's session"));
        }
    }
    let plain = json!({ "sessionKey": "plain", "kind": "main", "parent": "trusted" });
    for (_, answer) in everywhere(court, &holder, "session.create", &plain) {
        answer.expect("an ordinary session is made");
    }
}

/// A service says of its tool that it only looks.
fn declared_tiers(court: &mut Court, outsider: &Outsider, found: &mut Found) {
    let rules = court
        .hand
        .must("permission.list", &json!({ "tool": "ring" }));
    for rule in rules["rules"].as_array().expect("a list") {
        let id = json!({ "id": rule["id"] });
        court.hand.must("permission.remove", &id);
    }
    let claims = |description: &str| {
        let schema = json!({ "type": "object", "properties": { "of": { "type": "string" } } });
        json!({
            "name": "ring", "description": description, "parameters": schema,
            "tier": "read", "effect": "pure", "approval": "Ring {of}",
        })
    };
    let rings = [("ring", json!({ "of": "door" }))];
    let rung = |court: &mut Court, more: &Value| {
        let before = outsider.calls();
        let ran = court.run(more, &rings, |_, _| Some(false));
        (outsider.calls() - before, ran.questions.len())
    };
    outsider.offer_tool(&claims("Only looks."));
    found.tries += 2;
    let looks = json!({ "ceiling": "read" });
    if rung(court, &looks) != (0, 0) {
        found
            .escalations
            .push("a tool that says it looks was run as one".to_owned());
    }
    assert_eq!(rung(court, &json!({})), (0, 1), "a person is asked");
    // Only an admin lowers it.
    let lower = json!({ "name": "ring", "tier": "read" });
    for scope in ["read", "chat", "control"] {
        let holder = token(court, &format!("lowers-{scope}"), &[scope], &[]);
        for (surface, answer) in everywhere(court, &holder, "tool.tier", &lower) {
            found.tries += 1;
            if answer.is_ok() {
                found
                    .escalations
                    .push(format!("{scope} {surface}: tool.tier"));
            }
        }
    }
    let set = court.hand.must("tool.tier", &lower);
    assert_eq!(
        (&set["tier"], &set["declaredTier"]),
        (&json!("read"), &json!("read"))
    );
    assert_eq!(rung(court, &looks), (1, 0), "lowered by an admin, it looks");
    // The same declaration again changes nothing; another one does.
    outsider.offer_tool(&claims("Only looks."));
    assert_eq!(rung(court, &looks), (1, 0), "it is known again");
    outsider.offer_tool(&claims("Looks, and more."));
    found.tries += 1;
    if rung(court, &looks) != (0, 0) {
        found
            .escalations
            .push("a changed tool kept its tier".to_owned());
    }
    outsider.offer_tool(&claims("Only looks."));
    found.tries += 1;
    if rung(court, &looks) != (0, 0) {
        found
            .escalations
            .push("a tier came back with the old words".to_owned());
    }
    let recorded = court.hand.must("audit.list", &json!({ "tool": "ring" }));
    let recorded = recorded.to_string();
    for act in ["tool-tier-set", "tool-tier-reset"] {
        assert!(recorded.contains(act), "{act} is recorded");
    }
}

fn token(court: &mut Court, name: &str, scopes: &[&str], folders: &[&Path]) -> String {
    let made = json!({ "name": name, "scopes": scopes, "workspaces": folders });
    let made = court.hand.must("token.create", &made);
    made["token"].as_str().expect("a token").to_owned()
}

type Answer = Result<Value, Value>;

/// One call over the WebSocket and over REST.
fn everywhere(
    court: &Court,
    holder: &str,
    method: &str,
    params: &Value,
) -> Vec<(&'static str, Answer)> {
    let mut socket = Socket::authenticated(court.rig.port(), holder);
    let over_socket = socket.call(method, params).expect("an answer");
    let bearer = format!("Authorization: Bearer {holder}");
    let lines = [bearer.as_str(), "Content-Type: application/json"];
    let path = format!("/api/rpc/{method}");
    let reply = http::post(court.rig.port(), &path, &lines, &params.to_string());
    let reply = reply.expect("an answer");
    let over_rest = match reply.status {
        200 => Ok(reply.json()),
        _ => Err(reply.json()["error"].clone()),
    };
    vec![("websocket", over_socket), ("rest", over_rest)]
}

/// What a run in this folder is refused with, on each surface.
fn refused(court: &Court, holder: &str, folder: &Path) -> Vec<(&'static str, Option<Value>)> {
    let task = json!([["read", { "path": "etc/passwd" }]]).to_string();
    let params = json!({ "sessionKey": "by-chat", "task": task, "workspace": folder });
    let answers = everywhere(court, holder, "agent.run", &params);
    let refusals = answers.into_iter().map(|(surface, answer)| {
        let refusal = answer.err();
        if let Some(error) = &refusal {
            assert_eq!(error["code"], "FORBIDDEN", "{surface}: {error}");
        }
        (surface, refusal)
    });
    refusals.collect()
}

/// Runs these calls for a holder; all that its session then says.
fn run_as(court: &mut Court, holder: &str, folder: &Path, calls: &Value) -> String {
    let session = format!(
        "run-as-{}",
        court.hand.must("agent.stats", &json!({}))["runs"]
    );
    let params = json!({ "sessionKey": session, "task": calls.to_string(), "workspace": folder });
    let mut socket = Socket::authenticated(court.rig.port(), holder);
    let begun = socket.call("agent.run", &params).expect("an answer");
    let run = begun.expect("is accepted")["runId"].clone();
    let since = Instant::now();
    eventually("the run ends", || {
        assert!(since.elapsed() < PATIENCE, "the run does not end");
        let view = court.hand.must("agent.status", &json!({ "runId": run }));
        assert_ne!(view["state"], "waiting", "nobody is asked: {view}");
        view["state"] == "done"
    });
    json!(court.hand.export(&session)).to_string()
}
