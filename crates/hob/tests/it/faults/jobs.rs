//! The same trigger more than once is one effect.

use super::peer::Peer;
use super::rig::Rig;
use super::trial::Trial;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::{Arc, Barrier};

const AT_ONCE: usize = 100;

#[test]
fn f16_same_trigger_twice_at_once() {
    let trial = Trial::begin(16);
    let mut rig = Rig::new();
    rig.start();
    let created = all_at_once(&rig, "session.create", &json!({ "sessionKey": "once" }));
    let new = created
        .iter()
        .filter(|answer| answer["created"] == true)
        .count();
    assert_eq!(new, 1, "one caller created it");
    assert_eq!(
        distinct(&created, "id"),
        1,
        "all were told the same session"
    );
    let listed = rig.peer().must("session.list", &json!({}));
    let sessions = listed["sessions"].as_array().expect("a list").len();
    assert_eq!(sessions, 1, "{listed}");

    let bell =
        json!({ "sessionKey": "once", "content": "ring the bell", "idempotencyKey": "bell" });
    let sent = all_at_once(&rig, "session.send", &bell);
    assert_eq!(
        distinct(&sent, "messageId"),
        1,
        "all were told the same message"
    );
    assert_eq!(distinct(&sent, "seq"), 1);
    assert_eq!(rig.peer().export("once").len(), 1, "one row");

    // The key outlives the process.
    rig.kill();
    rig.start();
    let again = rig.peer().must("session.send", &bell);
    assert_eq!(again, sent[0]);
    let rows = rig.peer().export("once").len();
    assert_eq!(rows, 1, "one row");
    trial.figure("triggers", 2 * AT_ONCE + 1);
    trial.figure("rows", format_args!("{rows} message, {sessions} session"));
}

/// Sends the same request over as many connections at the same moment.
fn all_at_once(rig: &Rig, method: &'static str, params: &Value) -> Vec<Value> {
    let start = Arc::new(Barrier::new(AT_ONCE));
    let callers: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let mut peer: Peer = rig.peer();
            let start = Arc::clone(&start);
            let params = params.clone();
            std::thread::spawn(move || {
                start.wait();
                peer.call(method, &params)
            })
        })
        .collect();
    callers
        .into_iter()
        .map(|caller| {
            let answer = caller
                .join()
                .expect("a caller that only calls")
                .expect("an answer");
            answer.unwrap_or_else(|error| panic!("{method} was refused: {error}"))
        })
        .collect()
}

fn distinct(answers: &[Value], field: &str) -> usize {
    let values: BTreeSet<String> = answers
        .iter()
        .map(|answer| answer[field].to_string())
        .collect();
    values.len()
}
