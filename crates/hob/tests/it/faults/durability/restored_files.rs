//! Fault 107: the files of the home are replaced by an older copy, and numbers of events are given
//! again. A client that was further must be told, whatever the numbers say.

use super::torn_log::restore;
use crate::faults::peer::Peer;
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::{Value, json};

/// Where a client was.
struct Cursor {
    seq: u64,
    log_id: String,
}

fn send(peer: &mut Peer, count: usize) {
    for number in 0..count {
        let params = json!({ "sessionKey": "s", "content": format!("message {number}") });
        peer.must("session.send", &params);
    }
}

/// Subscribes to all events and answers where they begin.
fn subscribe(rig: &Rig, since: Option<&Cursor>, with_log: bool) -> (Peer, Cursor) {
    let mut peer = rig.peer();
    let mut params = json!({ "events": ["session.*"] });
    if let Some(cursor) = since {
        params["since"] = cursor.seq.into();
        if with_log {
            params["logId"] = json!(cursor.log_id);
        }
    }
    let began = peer.must("gateway.subscribe", &params);
    let cursor = Cursor {
        seq: began["seq"].as_u64().expect("a number"),
        log_id: began["logId"].as_str().expect("an id").to_owned(),
    };
    (peer, cursor)
}

fn is_gap(frame: &Value) -> bool {
    frame["event"] == "gateway.gap" && frame["payload"]["reason"] == "otherLog"
}

#[test]
fn f107_older_files_restored() {
    let trial = Trial::begin(107);
    let mut rig = Rig::new();
    rig.start();
    rig.peer()
        .must("session.create", &json!({ "sessionKey": "s" }));
    send(&mut rig.peer(), 5);
    let (_, early) = subscribe(&rig, None, false);
    rig.stop();
    let older = rig.scratch().join("older");
    restore(rig.home(), &older);

    // The client goes on across a restart, and hears what will be lost.
    rig.start();
    let (mut peer, _) = subscribe(&rig, Some(&early), true);
    send(&mut rig.peer(), 10);
    let frame = peer.frame().expect("an event");
    assert_eq!(frame["seq"], early.seq + 1, "a restart is no gap: {frame}");
    let (_, late) = subscribe(&rig, None, false);
    assert!(late.seq > early.seq);
    rig.stop();

    // Every file is the older one. The client is ahead: that alone tells.
    restore(&older, rig.home());
    rig.start();
    for with_log in [false, true] {
        let (mut peer, _) = subscribe(&rig, Some(&late), with_log);
        let frame = peer.frame().expect("a frame");
        assert!(is_gap(&frame), "ahead, with its log {with_log}: {frame}");
    }
    // The numbers pass the client's: now only the log's id tells.
    send(&mut rig.peer(), 40);
    let (mut peer, now) = subscribe(&rig, Some(&late), true);
    assert!(now.seq > late.seq);
    let frame = peer.frame().expect("a frame");
    assert!(is_gap(&frame), "passed: {frame}");
    send(&mut rig.peer(), 1);
    let next = peer.frame().expect("an event");
    assert_eq!(
        (&next["seq"], &next["prev"]),
        (&json!(now.seq + 1), &json!(now.seq))
    );
    // One that was not further than the copy has missed nothing but what is new.
    let (mut peer, _) = subscribe(&rig, Some(&early), true);
    let next = peer.frame().expect("an event");
    assert_eq!(next["seq"], early.seq + 1, "{next}");
    rig.stop();

    // Only the database is older; the mark tells how far it was.
    std::fs::copy(older.join("hob.db"), rig.home().join("hob.db")).expect("a copy");
    rig.start();
    let mut peer = rig.peer();
    let status = peer.must("daemon.status", &json!({}));
    let losses = status["store"]["losses"].to_string();
    assert!(losses.contains("are lost"), "{status}");
    send(&mut peer, 1);
    let (mut peer, again) = subscribe(&rig, Some(&now), true);
    assert!(again.seq > now.seq, "no number is given twice");
    assert!(is_gap(&peer.frame().expect("a frame")));
    trial.figure("gaps_untold", 0);
}
