//! Fault 10: more than one daemon wants the same home, over honest and over stale traces.

use crate::faults::http;
use crate::faults::process::{Beside, Racer};
use crate::faults::rig::Rig;
use crate::faults::trial::Trial;
use serde_json::json;
use std::process::Command;

const RACERS: usize = 6;

#[test]
fn f10_two_daemons_one_home() {
    let trial = Trial::begin(10);
    let mut rig = Rig::new();
    rig.start();
    let mut tries = 0;
    for _ in 0..3 {
        tries += 1;
        second_refuses(&rig);
    }
    rig.peer()
        .must("session.create", &json!({ "sessionKey": "one" }));

    // The files of a killed daemon stay behind and stop nobody.
    rig.kill();
    assert!(
        rig.home().join("hob.db.lock").exists(),
        "the lock file stays"
    );
    rig.start();
    tries += 1;
    second_refuses(&rig);

    // A state file whose pid now belongs to somebody else.
    rig.kill();
    let stranger = Beside::start(Command::new("sleep").arg("600")).expect("a stranger");
    let mut state = rig.state();
    state["pid"] = json!(stranger.id());
    std::fs::write(rig.home().join("run/daemon.json"), state.to_string())
        .expect("a stale state file");
    rig.start();
    assert_eq!(rig.state()["pid"], rig.pid());
    tries += 1;
    second_refuses(&rig);
    rig.kill();

    // Many at once: one lives.
    let winners = race(&rig);
    tries += RACERS;
    assert_eq!(winners, 1, "one daemon a home");
    lost_lock_is_fenced(&mut rig);
    trial.figure("second_starts", tries + 1);
    trial.figure("double_writers", winners - 1);
}

/// Somebody removes the lock file, so a second daemon gets past it: from its first write on the
/// former one writes nothing.
fn lost_lock_is_fenced(rig: &mut Rig) {
    rig.start();
    let bearer = format!("Authorization: Bearer {}", rig.token());
    // None when nobody answers any more.
    let call = |port: u16, method: &str, key: &str| {
        let lines = [bearer.as_str(), "Content-Type: application/json"];
        let body = json!({ "sessionKey": key }).to_string();
        let reply = http::post(port, &format!("/api/rpc/{method}"), &lines, &body);
        reply.ok().map(|reply| reply.status)
    };
    let create = |port: u16, key: &str| call(port, "session.create", key);
    assert_eq!(create(rig.port(), "before"), Some(200));
    std::fs::remove_file(rig.home().join("hob.db.lock")).expect("the lock file");
    let mut second = rig.start_racer(RACERS);
    // A second daemon that notices and refuses is as good as a fence.
    let Some(line) = second.address() else {
        return;
    };
    let port = line
        .trim()
        .rsplit(':')
        .next()
        .and_then(|port| port.parse().ok());
    let port = port.expect("an address with a port");
    assert_eq!(create(port, "by the second"), Some(200));
    let late = create(rig.port(), "by the first");
    assert_ne!(late, Some(200), "the former daemon is fenced");
    assert_eq!(call(port, "session.get", "by the first"), Some(404));
    assert_eq!(create(port, "by the second again"), Some(200));
    rig.kill();
}

fn second_refuses(rig: &Rig) {
    let Err(ended) = rig.start_second() else {
        panic!("a second daemon started on the same home");
    };
    assert!(
        !ended.status.success(),
        "a second daemon ends with an error"
    );
    let pid = rig.pid().to_string();
    assert!(
        ended.stderr.contains(&pid),
        "it names {pid}: {}",
        ended.stderr
    );
    rig.peer().must("daemon.status", &json!({}));
}

/// Starts many daemons at once and counts those that print an address while the others still try.
fn race(rig: &Rig) -> usize {
    let mut racers: Vec<_> = (0..RACERS).map(|racer| rig.start_racer(racer)).collect();
    racers.iter_mut().filter_map(Racer::address).count()
}
