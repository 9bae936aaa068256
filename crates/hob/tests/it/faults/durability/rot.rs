//! Fault 113: a byte of the database changes on disk. The row it belongs to is named and never
//! shown as whole, and everything else goes on.

use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::{Value, json};
use std::path::PathBuf;

const MESSAGES: u64 = 12;
const FLIPS: u64 = 8;

#[test]
fn f113_a_byte_rots_on_disk() {
    let trial = Trial::begin(113);
    let mut rig = Rig::new();
    rig.start();
    let mut peer = rig.peer();
    peer.must("session.create", &json!({ "sessionKey": "rot" }));
    for number in 1..=MESSAGES {
        let params = json!({ "sessionKey": "rot", "content": text_of(number) });
        peer.must("session.send", &params);
    }
    let token = peer.must(
        "token.create",
        &json!({ "name": "rot-token", "scopes": ["read"] }),
    );
    let token = token["token"].as_str().expect("a token").to_owned();
    let rule = json!({ "tool": "rot-tool", "decision": "deny", "scope": "always" });
    let rule = peer.must("permission.add", &rule);
    let job = json!({ "name": "rot-job", "schedule": "every 1h", "task": "rot-task" });
    peer.must("cron.add", &job);
    drop(peer);
    rig.stop();
    assert!(rig.hob(&["verify"]).status.success(), "a sound home");

    for _ in 0..FLIPS {
        let number = 1 + trial.randomness.below(MESSAGES);
        flip_message(&trial, &mut rig, number);
    }
    trial.figure("messages_flipped", FLIPS);
    flip_token(&mut rig, &token);
    flip_rule(&mut rig, rule["id"].as_str().expect("an id"));
    flip_job(&mut rig);
    flip_audit(&mut rig);
    trial.figure("shown_as_whole", 0);
}

/// A text that is nowhere else in the file.
fn text_of(number: u64) -> String {
    format!("rotting message number {number:04} of many")
}

fn flip_message(trial: &Trial, rig: &mut Rig, number: u64) {
    let text = text_of(number);
    let offset = usize::try_from(trial.randomness.below(text.len() as u64)).expect("small");
    let bit = 1 << trial.randomness.below(8);
    let rotten = Rotten::new(rig, &text, offset, bit);
    assert_eq!(rig.hob(&["verify"]).status.code(), Some(1), "{number}");
    rig.start();
    let mut peer = rig.peer();
    let page = peer.must("session.history", &json!({ "sessionKey": "rot" }));
    let messages = page["messages"].as_array().expect("messages");
    assert_eq!(messages.len() as u64, MESSAGES);
    for message in messages {
        let seq = message["seq"].as_u64().expect("a number");
        let content = message["content"].as_str().expect("a text");
        if seq == number {
            let named = format!("[Message {number} of session 'rot' is damaged");
            assert!(content.starts_with(&named), "{content}");
        } else {
            assert_eq!(content, text_of(seq));
        }
    }
    assert_eq!(page["damaged"][0]["number"], number);
    assert_eq!(page["damaged"][0]["table"], "messages");
    named_by_status(&mut peer, "messages");
    let found = peer.must("daemon.verify", &json!({}));
    assert_eq!(found["sound"], false);
    assert_eq!(found["damaged"][0]["number"], number);
    // The rest goes on.
    peer.must("session.create", &json!({ "sessionKey": "other" }));
    drop(peer);
    rig.stop();
    rotten.restore();
}

fn flip_token(rig: &mut Rig, token: &str) {
    let rotten = Rotten::new(rig, "rot-token", 2, 1);
    rig.start();
    let refused = Peer::authenticated(rig.socket(), token);
    assert!(refused.is_err(), "a damaged token opens nothing");
    let mut peer = rig.peer();
    let list = peer.must("token.list", &json!({}));
    assert_eq!(list["damaged"][0]["table"], "tokens");
    named_by_status(&mut peer, "tokens");
    drop(peer);
    rig.stop();
    rotten.restore();
}

fn flip_rule(rig: &mut Rig, id: &str) {
    let rotten = Rotten::new(rig, "\"decision\":\"deny\"", 14, 1);
    rig.start();
    let mut peer = rig.peer();
    let list = peer.must("permission.list", &json!({}));
    assert_eq!(list["rules"], json!([]));
    assert_eq!(list["damaged"][0]["id"], id);
    // Even what the house allows by itself is asked about: the rule may have denied it.
    let call =
        json!({ "tool": "read", "args": { "path": "a" }, "context": { "workspace": "/tmp" } });
    let checked = peer.must("permission.check", &call);
    assert_eq!(checked["decision"], "ask", "{checked}");
    drop(peer);
    rig.stop();
    rotten.restore();
}

fn flip_job(rig: &mut Rig) {
    let rotten = Rotten::new(rig, "rot-task", 0, 1);
    rig.start();
    let mut peer = rig.peer();
    let list = peer.must("cron.list", &json!({}));
    assert_eq!(list["jobs"], json!([]));
    assert_eq!(list["damaged"][0]["id"], "rot-job");
    drop(peer);
    rig.stop();
    rotten.restore();
}

fn flip_audit(rig: &mut Rig) {
    let rotten = Rotten::new(rig, "rule-added", 0, 1);
    rig.start();
    let mut peer = rig.peer();
    let verified = peer.must("audit.verify", &json!({}));
    let problem = verified["problem"].as_str().expect("a problem");
    assert!(
        problem.contains("of the audit record is damaged"),
        "{problem}"
    );
    drop(peer);
    rig.stop();
    rotten.restore();
}

fn named_by_status(peer: &mut Peer, table: &str) {
    let status: Value = peer.must("daemon.status", &json!({}));
    assert_eq!(status["store"]["state"], "ready");
    let damaged = status["store"]["damaged"].as_array().expect("damaged rows");
    assert!(damaged.iter().any(|row| row["table"] == table), "{status}");
}

/// Bytes of the file that were changed, and what they were.
struct Rotten {
    database: PathBuf,
    places: Vec<(usize, u8)>,
}

impl Rotten {
    /// Changes a bit of every copy of `text`: the row's, and an index's if there is one.
    fn new(rig: &Rig, text: &str, offset: usize, bit: u8) -> Rotten {
        let database = rig.home().join("hob.db");
        let mut file = std::fs::read(&database).expect("readable");
        let windows = file.windows(text.len()).enumerate();
        let found = windows.filter(|(_, bytes)| *bytes == text.as_bytes());
        let places: Vec<(usize, u8)> = found
            .map(|(at, _)| (at + offset, file[at + offset]))
            .collect();
        assert!(!places.is_empty(), "'{text}' is in the file");
        for (at, _) in &places {
            file[*at] ^= bit;
        }
        std::fs::write(&database, file).expect("writable");
        Rotten { database, places }
    }

    /// Puts back what was there, where it still is.
    fn restore(self) {
        let mut file = std::fs::read(&self.database).expect("readable");
        for (at, byte) in self.places {
            file[at] = byte;
        }
        std::fs::write(&self.database, file).expect("writable");
    }
}
