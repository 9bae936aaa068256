//! Fault 2: the process ends at every named step, on its first visits there.

use crate::faults::fault_build::fault_binary;
use crate::faults::peer::Peer;
use crate::faults::rig::{PATIENCE, Rig};
use crate::faults::trial::Trial;
use hob_kit::failpoint::POINTS;
use serde_json::{Value, json};
use std::os::unix::process::ExitStatusExt as _;

/// Visits on which a step is the last thing the process does. Start-up alone makes a few.
const VISITS: [u64; 4] = [1, 2, 5, 9];
const MESSAGES: usize = 12;
const SIGABRT: i32 = 6;

#[test]
fn f02_killed_at_every_named_step() {
    let trial = Trial::begin(2);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let clean = final_state(&mut Rig::new());
    let mut covered = 0;
    let mut ends = 0;
    for point in POINTS {
        let mut reached = false;
        for visit in VISITS {
            let mut rig = Rig::new();
            rig.env("HOB_FAILPOINT", &format!("{point}={visit}*abort"));
            let (ended, acked) = live_until_the_end(&mut rig);
            ends += u64::from(ended);
            reached |= ended;
            rig.kill();
            rig.without_env("HOB_FAILPOINT");
            rig.start();
            assert_acked(
                &rig,
                &acked,
                &format!("after an end at {point}, visit {visit}"),
            );
            rig.kill();
            assert_eq!(
                final_state(&mut rig),
                clean,
                "after an end at {point}, visit {visit}"
            );
        }
        assert!(reached, "{point} was never reached");
        covered += 1;
    }
    trial.figure("points", format_args!("{covered}/{}", POINTS.len()));
    trial.figure("ends", ends);
}

/// Starts and sends until the daemon ends. Whether it ended at its failpoint, and what was
/// acknowledged before.
fn live_until_the_end(rig: &mut Rig) -> (bool, Vec<Value>) {
    if let Err(ended) = rig.try_start() {
        assert_eq!(ended.status.signal(), Some(SIGABRT), "{}", ended.stderr);
        return (true, Vec::new());
    }
    let peer = Peer::authenticated(rig.socket(), &rig.token());
    let acked = peer.map_or_else(|_| Vec::new(), |mut peer| write_all(&mut peer));
    if acked.len() == MESSAGES {
        return (false, acked);
    }
    let status = rig.wait(PATIENCE).expect("an aborted daemon ends");
    assert_eq!(status.signal(), Some(SIGABRT), "{}", rig.stderr());
    (true, acked)
}

/// Everything acknowledged is there, before anything is sent again.
fn assert_acked(rig: &Rig, acked: &[Value], when: &str) {
    if acked.is_empty() {
        return;
    }
    let rows = rig.peer().export("steps");
    for sent in acked {
        let there = rows
            .iter()
            .any(|row| row["id"] == sent["messageId"] && row["seq"] == sent["seq"]);
        assert!(there, "{when}: {sent} was acknowledged and is lost");
    }
}

/// Creates the session and sends its messages in order, until the connection ends.
fn write_all(peer: &mut Peer) -> Vec<Value> {
    let mut acked = Vec::new();
    if !matches!(
        peer.call("session.create", &json!({ "sessionKey": "steps" })),
        Ok(Ok(_))
    ) {
        return acked;
    }
    for number in 0..MESSAGES {
        let params = json!({
            "sessionKey": "steps", "content": format!("step {number}"),
            "idempotencyKey": format!("step {number}"),
        });
        match peer.call("session.send", &params) {
            Ok(Ok(sent)) => acked.push(sent),
            _ => break,
        }
    }
    acked
}

/// Starts clean, repeats every request, and shows what the store and its event log then hold,
/// without what differs between two clean runs.
fn final_state(rig: &mut Rig) -> Vec<String> {
    rig.start();
    let mut peer = rig.peer();
    assert_eq!(write_all(&mut peer).len(), MESSAGES);
    let mut state: Vec<String> = peer
        .export("steps")
        .iter()
        .map(|message| shown("row", message))
        .collect();
    let mut watcher = rig.peer();
    watcher.must(
        "gateway.subscribe",
        &json!({ "events": ["session.*"], "since": 0 }),
    );
    let mut former = Value::from(0);
    for _ in 0..=MESSAGES {
        let frame = watcher.frame().expect("the whole event log");
        assert_eq!(
            frame["prev"], former,
            "the chain of events is whole: {frame}"
        );
        former = frame["seq"].clone();
        state.push(shown(
            frame["event"].as_str().unwrap_or_default(),
            &frame["payload"],
        ));
    }
    // Something sent last proves that no event stands between.
    peer.must("session.create", &json!({ "sessionKey": "end of steps" }));
    let frame = watcher.frame().expect("one more event");
    assert_eq!(
        frame["payload"]["sessionKey"], "end of steps",
        "nothing was logged twice: {frame}"
    );
    rig.kill();
    state
}

fn shown(what: &str, body: &Value) -> String {
    format!(
        "{what} {} {} {}",
        body["sessionKey"], body["seq"], body["content"]
    )
}
