//! Fault 34: a subscriber that reads a byte a second during a burst.

use crate::faults::peer::Peer;
use crate::faults::rig::{Rig, eventually};
use crate::faults::trial::{Trial, percentile};
use hob_wire::limits::OUTBOX_BYTES_MAX;
use serde_json::json;
use std::io::Read as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
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
    let stop = Arc::new(AtomicBool::new(false));
    let sipping = Arc::clone(&stop);
    let slow = std::thread::spawn(move || {
        while !sipping.load(Ordering::Relaxed) {
            let _ = slow.stream().read(&mut [0; 1]);
            std::thread::sleep(Duration::from_secs(1));
        }
        slow
    });
    let mut beside_ms = burst(&mut sender, MESSAGES);
    let rise = rig.memory_kib("VmHWM").saturating_sub(before);
    let heard = healthy.join().expect("a reader that only counts");
    assert_eq!(heard, MESSAGES, "the healthy subscriber got everything");

    let closed = eventually("the slow consumer is closed", || {
        let stats = sender.must("gateway.stats", &json!({}));
        stats["slowClosedTotal"]
            .as_u64()
            .is_some_and(|closed| closed >= 1)
    });
    stop.store(true, Ordering::Relaxed);
    let mut slow = slow.join().expect("a reader that only sips");
    let last = drain(&mut slow);
    assert!(
        last.is_none_or(|topic| topic == "gateway.gap"),
        "after a cut chain it is told of the gap"
    );
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
    trial.figure("closed_after_burst_ms", closed.as_millis());
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

/// Reads what is left. The topic of the last whole frame, none if the end cut one in two.
fn drain(peer: &mut Peer) -> Option<String> {
    // The sips took the first bytes, so the first line is a rest of one.
    let mut rest = Vec::new();
    let _ = peer.rest(&mut rest);
    let text = String::from_utf8_lossy(&rest);
    let last = text.strip_suffix('\n')?.rsplit('\n').next()?;
    let frame: serde_json::Value = serde_json::from_str(last).ok()?;
    frame["event"].as_str().map(str::to_owned)
}
