//! Fault 34: a subscriber that reads a byte a second during a burst.

use crate::faults::peer::Peer;
use crate::faults::rig::{PATIENCE, Rig};
use crate::faults::trial::{Trial, percentile};
use hob_wire::limits::OUTBOX_BYTES_MAX;
use serde_json::{Value, json};
use std::io::Read as _;
use std::time::{Duration, Instant};

const MESSAGE_BYTES: usize = 32 * 1024;
/// Three times what the outbox of one connection holds.
const MESSAGES: usize = 3 * OUTBOX_BYTES_MAX / MESSAGE_BYTES;
/// The outbox, its copy on the way out, and room for the allocator; the burst itself is larger.
const RSS_KIB_MAX: u64 = 2 * OUTBOX_BYTES_MAX as u64 / 1024 + 16 * 1024;

#[test]
fn f34_slow_consumer() {
    let trial = Trial::begin(34);
    let mut rig = Rig::new();
    rig.start();
    let mut sender = rig.peer();
    sender.must("session.create", &json!({ "sessionKey": "burst" }));
    let mut alone_ms = burst(&mut sender, MESSAGES / 4);

    let mut healthy = rig.peer();
    healthy.must(
        "gateway.subscribe",
        &json!({ "events": ["session.message"] }),
    );
    let healthy = std::thread::spawn(move || count_events(&mut healthy, MESSAGES));
    let mut slow = rig.peer();
    slow.must(
        "gateway.subscribe",
        &json!({ "events": ["session.message"] }),
    );
    let before = rig.memory_kib("VmRSS");
    rig.reset_peak_memory();
    let watcher = rig.peer();
    let slow = std::thread::spawn(move || sip_until_closed(slow, watcher));
    let mut beside_ms = burst(&mut sender, MESSAGES);
    let rise = rig.memory_kib("VmHWM").saturating_sub(before);
    let heard = healthy.join().expect("a reader that only counts");
    assert_eq!(heard, MESSAGES, "the healthy subscriber got everything");

    let got = slow.join().expect("a reader that only sips");
    let got = got.expect("the slow consumer was closed");
    let told = judge(&got);
    assert!(rise <= RSS_KIB_MAX, "memory rose by {rise} KiB");
    let alone = percentile(&mut alone_ms, 99);
    let beside = percentile(&mut beside_ms, 99);
    // Both figures are of one noisy machine: only an order of magnitude says something.
    assert!(
        beside <= 10.0 * alone + 100.0,
        "p99 {beside:.1} ms beside, {alone:.1} ms alone"
    );
    trial.figure(
        "others_p99_ms",
        format_args!("{beside:.1} (alone {alone:.1})"),
    );
    trial.figure("rss_rise_kib", rise);
    trial.figure("slow_consumer", told);
}

/// Sends `count` messages in turn and returns how long each took.
fn burst(sender: &mut Peer, count: usize) -> Vec<f64> {
    let content = "x".repeat(MESSAGE_BYTES);
    (0..count)
        .map(|_| {
            let begun = Instant::now();
            sender.must(
                "session.send",
                &json!({ "sessionKey": "burst", "content": content }),
            );
            begun.elapsed().as_secs_f64() * 1000.0
        })
        .collect()
}

/// Reads events until `count` came, checking that none is missing.
fn count_events(peer: &mut Peer, count: usize) -> usize {
    let mut former = None;
    for heard in 0..count {
        let Ok(frame) = peer.frame() else {
            return heard;
        };
        if former.is_some() && frame["prev"].as_u64() != former {
            return heard;
        }
        former = frame["seq"].as_u64();
    }
    count
}

/// Reads a byte a second until the daemon says that it closed a slow consumer, then the rest to
/// the end. None if it never was closed.
fn sip_until_closed(mut slow: Peer, mut watcher: Peer) -> Option<Vec<u8>> {
    let begun = Instant::now();
    let mut got = Vec::new();
    while begun.elapsed() < 2 * PATIENCE {
        let stats = watcher.must("gateway.stats", &json!({}));
        if stats["slowClosedTotal"].as_u64() >= Some(1) {
            let _ = slow.rest(&mut got);
            return Some(got);
        }
        let mut sip = [0];
        if (got.len() as u64) < begun.elapsed().as_secs() && slow.stream().read(&mut sip).is_ok() {
            got.extend(sip);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// What a closed consumer got is whole up to its end: either the gap is its last word, or it was
/// too slow even for that and was cut off.
fn judge(got: &[u8]) -> &'static str {
    let text = String::from_utf8_lossy(got);
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let mut former = None;
    for line in whole.lines() {
        let frame: Value = serde_json::from_str(line).expect("a frame a line");
        if frame["event"] == "gateway.gap" {
            assert_eq!(
                frame["payload"]["from"].as_u64(),
                former.map(|seq: u64| seq + 1),
                "{frame}"
            );
            assert!(
                text.ends_with('\n') && whole.ends_with(line),
                "the gap is the last word"
            );
            return "told of the gap, then closed";
        }
        assert!(
            former.is_none() || frame["prev"].as_u64() == former,
            "{frame}"
        );
        former = frame["seq"].as_u64();
    }
    "cut off"
}
