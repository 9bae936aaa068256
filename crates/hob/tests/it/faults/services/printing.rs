//! Services that print as fast as they can.

use super::super::trial::{Trial, percentile};
use super::{answer_times, rig, shell, start};
use serde_json::json;
use std::time::Duration;

const FLOOD: Duration = Duration::from_secs(6);

#[test]
fn f24_a_service_that_floods_its_log() {
    let trial = Trial::begin(24);
    let mut rig = rig();
    shell(&rig, "flood", "exec yes 'a line that says nothing new'", "");
    rig.start();
    let mut peer = rig.peer();
    let mut calm = answer_times(&mut peer, Duration::from_secs(2));
    let before = rig.memory_kib("VmRSS");
    rig.reset_peak_memory();
    start(&mut peer, "flood");
    let mut busy = answer_times(&mut peer, FLOOD);
    let all = json!({ "name": "flood", "lines": 1_000_000 });
    let logs = peer.must("service.logs", &all);
    let lines = logs["lines"].as_array().expect("lines");
    assert!(
        !lines.is_empty() && lines.len() <= 1_000,
        "{} lines",
        lines.len()
    );
    let last = lines.last().map(|line| line["number"].clone());
    let printed = last.and_then(|number| number.as_u64()).expect("a number");
    assert!(printed > 100_000, "it was no flood: {printed} lines");
    peer.must("service.stop", &json!({ "name": "flood" }));
    let growth_kib = rig.memory_kib("VmHWM").saturating_sub(before);
    assert!(
        growth_kib < 64 * 1024,
        "the daemon grew by {growth_kib} KiB"
    );
    let folder = rig.home().join("logs/services");
    let files = std::fs::read_dir(folder).expect("the logs").flatten();
    let bytes: u64 = files
        .filter_map(|file| Some(file.metadata().ok()?.len()))
        .sum();
    assert!(bytes <= 8 * 1024 * 1024, "{bytes} bytes of log");
    let p99 = percentile(&mut busy, 99);
    // Beside a program that takes every core it gets.
    assert!(p99 < 500.0, "the daemon took {p99:.0} ms");
    trial.figure("million_lines_per_s", format_args!("{:.1}", rate(printed)));
    trial.figure("daemon_p99_ms", format_args!("{p99:.1}"));
    trial.figure(
        "calm_p99_ms",
        format_args!("{:.1}", percentile(&mut calm, 99)),
    );
    trial.figure("daemon_growth_mb", growth_kib / 1024);
    rig.stop();
}

fn rate(lines: u64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
    let lines = lines as f64;
    lines / FLOOD.as_secs_f64() / 1e6
}

#[test]
fn f63_services_that_print_without_end() {
    let trial = Trial::begin(63);
    let mut rig = rig();
    let commands = [
        "head -c 600000000 /dev/zero",
        "head -c 150000000 /dev/urandom",
        "head -c 150000000 /dev/urandom >&2",
        "printf '\\360\\237\\230'; printf '\\200'; printf '\\200%.0s' $(seq 100); echo",
    ];
    let line = commands.join("\n");
    shell(&rig, "endless", &line, "restart = \"never\"");
    rig.start();
    let mut peer = rig.peer();
    let before = rig.memory_kib("VmRSS");
    rig.reset_peak_memory();
    start(&mut peer, "endless");
    let growth_kib = || rig.memory_kib("VmHWM").saturating_sub(before);
    super::until(&mut peer, "endless", Duration::from_mins(3), |it| {
        let grown = growth_kib();
        assert!(grown < 64 * 1024, "the daemon grew by {grown} KiB");
        it["state"] == "stopped"
    });
    let logs = peer.must(
        "service.logs",
        &json!({ "name": "endless", "lines": 1_000 }),
    );
    let lines = logs["lines"].as_array().expect("lines");
    assert!(!lines.is_empty());
    for line in lines {
        let text = line["text"].as_str().expect("text");
        assert!(text.len() <= 4 * 1024 + 8, "a line of {} bytes", text.len());
    }
    trial.figure("service_printed_mb", 900);
    trial.figure("service_growth_mb", growth_kib() / 1024);
    rig.stop();
}
