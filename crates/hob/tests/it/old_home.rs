//! A home that an earlier version left behind opens, and everything in it is still there.
//!
//! The fixture was killed in the middle of a run, so its write-ahead log is recovered too. What
//! the old daemon answered is compared entry by entry: an entry may gain fields, never lose or
//! change one. Lists may grow, because jobs and runs go on.

use crate::conformance::wire::{Peer, Surface};
use crate::support::House;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const ARCHIVE: &str = "tests/fixtures/home-359b2af/home.tar.gz";

/// One list of an answer: where it stands, what identifies an entry, and the fields of an entry
/// that may rightly differ after a restart.
struct ComparedList {
    method: &'static str,
    list: &'static str,
    key: &'static str,
    changing: &'static [&'static str],
}

const LISTS: &[ComparedList] = &[
    ComparedList {
        method: "session.list",
        list: "sessions",
        key: "id",
        changing: &["updatedAt", "messages"],
    },
    ComparedList {
        method: "session.history",
        list: "messages",
        key: "seq",
        changing: &[],
    },
    ComparedList {
        method: "permission.list",
        list: "rules",
        key: "id",
        changing: &[],
    },
    ComparedList {
        method: "token.list",
        list: "tokens",
        key: "id",
        changing: &[],
    },
    ComparedList {
        method: "cron.list",
        list: "jobs",
        key: "id",
        changing: &["next", "last", "failures", "active"],
    },
    ComparedList {
        method: "cron.history",
        list: "slots",
        key: "number",
        changing: &[],
    },
    ComparedList {
        method: "loop.list",
        list: "loops",
        key: "name",
        changing: &[],
    },
    ComparedList {
        method: "loop.history",
        list: "iterations",
        key: "iteration",
        changing: &[],
    },
    ComparedList {
        method: "audit.list",
        list: "entries",
        key: "seq",
        changing: &[],
    },
    ComparedList {
        method: "terminal.history",
        list: "commands",
        key: "id",
        changing: &[],
    },
    ComparedList {
        method: "agent.list",
        list: "runs",
        key: "runId",
        changing: &[],
    },
];

#[tokio::test]
async fn everything_in_a_home_of_an_earlier_version_is_still_there() {
    let (house, old) = open_old_home();
    let mut owner = Peer::owner(&house).await;
    let (mut compared, mut titled) = (0, 0);
    for call in old.said.as_array().expect("a list of calls") {
        let method = call["method"].as_str().expect("a method");
        let Some(compare) = LISTS.iter().find(|list| list.method == method) else {
            continue;
        };
        let now = owner.call(method, call["params"].clone()).await;
        for entry in entries(&call["payload"], compare) {
            // A run that was under way goes on, and its entry with it.
            if matches!(entry["state"].as_str(), Some("running" | "queued")) {
                continue;
            }
            let found = entries(&now, compare);
            let same = |other: &&Value| other[compare.key] == entry[compare.key];
            let found = found.iter().find(same);
            let found = found.unwrap_or_else(|| panic!("{method} lost {entry}"));
            assert_kept(entry, found, compare);
            // Titles are computed, so sessions of an earlier version have them too.
            titled += usize::from(found["title"].is_string());
            compared += 1;
        }
    }
    assert!(compared > 60, "only {compared} entries were compared");
    assert!(titled > 0, "no session of the old home has a title");
    let secret = call_named(&old.said, "cron.secret");
    let now = owner.call("cron.secret", secret["params"].clone()).await;
    assert_eq!(now, secret["payload"]);
    owner.call("audit.verify", json!({})).await;
}

#[tokio::test]
async fn its_tokens_still_open_the_door_and_its_run_goes_on() {
    let (house, old) = open_old_home();
    for (scope, token) in &old.tokens {
        let mut peer = Peer::on(Surface::Ws, &house, token).await;
        peer.call("session.list", json!({})).await;
        let made = peer.ask("token.create", json!({"name": "x", "scopes": ["read"]}));
        assert_eq!(made.await.is_ok(), scope == "admin", "{scope}");
    }
    let mut owner = Peer::owner(&house).await;
    let runs = owner
        .call("agent.list", json!({"sessionKey": "queued"}))
        .await;
    let runs = runs["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 2, "{runs:?}");
    let sent = json!({"sessionKey": "chat:main", "content": "the new version says hello"});
    let before = owner
        .call("session.get", json!({"sessionKey": "chat:main"}))
        .await;
    let sent = owner.call("session.send", sent).await;
    assert!(sent["seq"].as_u64() > before["messages"].as_u64(), "{sent}");
}

#[tokio::test]
async fn its_messages_are_blocks() {
    let (house, _old) = open_old_home();
    let mut owner = Peer::owner(&house).await;
    let sessions = owner.call("session.list", json!({ "limit": 500 })).await;
    let mut compared = 0;
    for session in sessions["sessions"].as_array().expect("a list") {
        let key = &session["sessionKey"];
        let export = owner.call("session.export", json!({ "sessionKey": key }));
        let messages = export.await["messages"].as_array().expect("a list").clone();
        let blocks = blocks_of(&mut owner, key).await;
        for message in messages
            .iter()
            .filter(|message| message["content"].is_string())
        {
            let of_it = blocks
                .iter()
                .filter(|block| block["seq"] == message["seq"] && block["kind"] == "text");
            let text: String = of_it.filter_map(|block| block["text"].as_str()).collect();
            assert_eq!(
                text, message["content"],
                "message {} of {key}",
                message["seq"]
            );
            compared += 1;
        }
    }
    assert!(compared > 10, "only {compared} messages were compared");
}

/// All blocks of a session, read in small pages.
async fn blocks_of(owner: &mut Peer, key: &Value) -> Vec<Value> {
    let (mut blocks, mut after) = (Vec::new(), Some(0));
    while let Some(start) = after {
        let params = json!({ "sessionKey": key, "after": start, "limit": 2 });
        let page = owner.call("session.blocks", params).await;
        blocks.extend(page["blocks"].as_array().expect("a list").clone());
        after = page["after"].as_u64();
    }
    blocks
}

/// What came out of the archive beside the home.
struct OldHome {
    said: Value,
    /// Scope and text of each token.
    tokens: Vec<(String, String)>,
}

fn open_old_home() -> (House, OldHome) {
    let folder = tempfile::tempdir().expect("a temporary directory can be made");
    unpack(folder.path());
    let mut house = House::builder().build();
    for entry in fs::read_dir(folder.path().join("home")).expect("it was unpacked") {
        let entry = entry.expect("it is listed");
        fs::rename(entry.path(), house.home().join(entry.file_name())).expect("it moves");
    }
    house.start_daemon();
    let said = fs::read_to_string(folder.path().join("said.json")).expect("it is there");
    let token = |scope: &str| {
        let file = folder.path().join(format!("token-{scope}.txt"));
        let text = fs::read_to_string(file).expect("it is there");
        (scope.to_owned(), text.trim().to_owned())
    };
    let old = OldHome {
        said: serde_json::from_str(&said).expect("it is JSON"),
        tokens: ["read", "chat", "control", "admin"].map(token).into(),
    };
    (house, old)
}

#[expect(clippy::disallowed_methods, reason = "a test unpacks its own fixture")]
fn unpack(folder: &Path) {
    let archive = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(ARCHIVE);
    let status = Command::new("tar")
        .args(["--no-same-owner", "-xzf"])
        .arg(archive)
        .arg("-C")
        .arg(folder)
        .status();
    assert!(status.expect("tar(1) runs").success());
}

fn entries<'a>(payload: &'a Value, compare: &ComparedList) -> &'a [Value] {
    let list = payload[compare.list].as_array();
    list.unwrap_or_else(|| panic!("{} has no {}: {payload}", compare.method, compare.list))
}

fn assert_kept(old: &Value, new: &Value, compare: &ComparedList) {
    for (field, value) in old.as_object().expect("an entry is an object") {
        if !compare.changing.contains(&field.as_str()) {
            assert_eq!(
                new[field], *value,
                "{} changed '{field}' of {old}",
                compare.method
            );
        }
    }
}

fn call_named<'a>(said: &'a Value, method: &str) -> &'a Value {
    let mut calls = said.as_array().into_iter().flatten();
    calls
        .find(|call| call["method"] == method)
        .expect("it was asked")
}
