//! One failing part does not take the house with it, and the house ends in order.

use super::fault_build::fault_binary;
use super::ledger::{ClientRecord, audit};
use super::peer::{Peer, answer};
use super::rig::Rig;
use super::trial::Trial;
use hob_kit::failpoint;
use rustix::process::Signal;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A visit that start-up does not reach.
const PANIC_VISIT: u64 = 8;
const REQUESTS: usize = 24;

#[test]
fn f26_panic_in_one_actor() {
    let trial = Trial::begin(26);
    if fault_binary().is_none() {
        return trial
            .not_run("needs the fault build: run `cargo xtask test` or `cargo xtask faults`");
    }
    let mut blast_radius = 0;
    let actors = || {
        let points = failpoint::POINTS.iter();
        // Start-up has no bystanders yet.
        points.filter(|point| !point.starts_with("store.migrate"))
    };
    for point in actors() {
        let mut rig = Rig::new();
        rig.env("HOB_FAILPOINT", &format!("{point}={PANIC_VISIT}*panic"));
        rig.start();
        let bystander = Bystander::start(&rig);
        let mut peer = rig.peer();
        peer.must("session.create", &json!({ "sessionKey": "panic" }));
        let mut refused = Vec::new();
        for number in 0..REQUESTS {
            let text = number.to_string();
            let params = json!({ "sessionKey": "panic", "content": text, "idempotencyKey": text });
            if let Err(error) = peer
                .call("session.send", &params)
                .expect("the connection stays")
            {
                refused.push(error);
                peer.must("session.send", &params);
            }
        }
        let (asked, failed) = bystander.finish();
        assert_eq!(refused.len(), 1, "{point}: one request failed: {refused:?}");
        assert!(
            ["INTERNAL", "SERVICE_UNAVAILABLE"]
                .contains(&refused[0]["code"].as_str().unwrap_or_default()),
            "{point}: {refused:?}"
        );
        assert!(
            asked > 0 && failed == 0,
            "{point}: {failed} of {asked} others failed"
        );
        assert!(rig.lives(), "{point}: the daemon lives on");
        assert_eq!(
            peer.export("panic").len(),
            REQUESTS,
            "{point}: nothing lost, nothing twice"
        );
        blast_radius += failed + refused.len() - 1;
        rig.stop();
    }
    trial.figure("actors", actors().count());
    trial.figure("blast_radius", blast_radius);
}

/// Somebody else's requests, all the while.
struct Bystander {
    stop: Arc<AtomicBool>,
    thread: std::thread::JoinHandle<(usize, usize)>,
}

impl Bystander {
    fn start(rig: &Rig) -> Bystander {
        let stop = Arc::new(AtomicBool::new(false));
        let watched = Arc::clone(&stop);
        let mut peer = rig.peer();
        let thread = std::thread::spawn(move || {
            let (mut asked, mut failed) = (0, 0);
            while !watched.load(Ordering::Relaxed) || asked == 0 {
                asked += 1;
                failed += usize::from(!matches!(peer.call("session.list", &json!({})), Ok(Ok(_))));
            }
            (asked, failed)
        });
        Bystander { stop, thread }
    }

    /// How many requests it made, and how many failed.
    fn finish(self) -> (usize, usize) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.join().expect("a bystander that only counts")
    }
}

const CONNECTIONS: usize = 32;
const IN_FLIGHT: usize = 32;
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);

#[test]
fn f27_shutdown_during_load() {
    let trial = Trial::begin(27);
    let mut rig = Rig::new();
    rig.start();
    let mut opener = rig.peer();
    let clients: Vec<_> = (0..CONNECTIONS)
        .map(|client| {
            let session = format!("term {client}");
            opener.must("session.create", &json!({ "sessionKey": session }));
            let peer = rig.peer();
            std::thread::spawn(move || keep_in_flight(peer, &session))
        })
        .collect();
    std::thread::sleep(Duration::from_millis(300 + trial.randomness.below(700)));
    let begun = Instant::now();
    rig.signal(Signal::TERM);
    let status = rig.wait(SHUTDOWN_MAX + Duration::from_secs(2));
    let took = begun.elapsed();
    if status.is_none() {
        rig.kill();
    }
    let records: Vec<ClientRecord> = clients
        .into_iter()
        .map(|client| client.join().expect("a client that only records"))
        .collect();
    let status = status.expect("the daemon ends after SIGTERM");
    assert!(took <= SHUTDOWN_MAX, "it took {took:?}");
    assert!(status.success(), "{status}: {}", rig.stderr());

    rig.start();
    let found = audit(&mut rig.peer(), &records);
    assert!(found.is_clean(), "{found}");
    assert!(found.acks > 0, "the load was real");
    assert_eq!(half_records(&rig, &records), 0);
    trial.figure("in_flight", CONNECTIONS * IN_FLIGHT);
    trial.figure("shutdown_ms", took.as_millis());
    trial.figure("lost/acks", format_args!("{}/{}", found.lost, found.acks));
}

/// Keeps requests in flight until the connection ends. Answers come in any order.
fn keep_in_flight(mut peer: Peer, session: &str) -> ClientRecord {
    let mut record = ClientRecord::new(session);
    let mut waiting: BTreeMap<String, String> = BTreeMap::new();
    for number in 0_u64.. {
        let text = format!("{session} message {number}");
        let Ok(id) = peer.send(
            "session.send",
            &json!({ "sessionKey": session, "content": text }),
        ) else {
            record.in_doubt.push(text);
            break;
        };
        waiting.insert(id, text);
        if waiting.len() == IN_FLIGHT && !take_answer(&mut peer, &mut waiting, &mut record) {
            break;
        }
    }
    while !waiting.is_empty() && take_answer(&mut peer, &mut waiting, &mut record) {}
    record.in_doubt.extend(waiting.into_values());
    // Requests of one connection run side by side, so their order is the store's to choose.
    record.acks.sort_by_key(|ack| ack.seq);
    record
}

fn take_answer(
    peer: &mut Peer,
    waiting: &mut BTreeMap<String, String>,
    record: &mut ClientRecord,
) -> bool {
    let Ok(frame) = peer.frame() else {
        return false;
    };
    let Some(text) = frame["id"].as_str().and_then(|id| waiting.remove(id)) else {
        return true;
    };
    match answer(&frame) {
        Ok(sent) => record.acknowledged(&text, &sent),
        Err(_) => record.in_doubt.push(text),
    }
    true
}

/// Rows without their event, and events without their row.
fn half_records(rig: &Rig, records: &[ClientRecord]) -> usize {
    let mut peer = rig.peer();
    let mut rows = BTreeSet::new();
    for record in records {
        let messages = peer.export(&record.session);
        rows.extend(messages.iter().map(|message| message["id"].to_string()));
    }
    peer.must("session.create", &json!({ "sessionKey": "end" }));
    peer.must(
        "session.send",
        &json!({ "sessionKey": "end", "content": "end" }),
    );
    let mut watcher = rig.peer();
    watcher.must(
        "gateway.subscribe",
        &json!({ "events": ["session.message"], "since": 0 }),
    );
    let mut events = BTreeSet::new();
    loop {
        let payload = watcher.frame().expect("the log replays")["payload"].take();
        if payload["sessionKey"] == "end" {
            return rows.symmetric_difference(&events).count();
        }
        events.insert(payload["id"].to_string());
    }
}
