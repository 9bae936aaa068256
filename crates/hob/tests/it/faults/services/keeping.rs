//! A crash loop, a hang, and services that need each other.

use super::super::trial::Trial;
use super::{page, rig, shell, start, status, tale, until};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use std::time::{Duration, Instant};

/// With the usual waits of 0.5, 1, 2, 4 seconds.
const RESTARTS: usize = 4;
const WAITS_MS: [u64; RESTARTS] = [500, 1_000, 2_000, 4_000];

#[test]
fn f21_a_service_that_ends_at_once() {
    let trial = Trial::begin(21);
    let mut rig = rig();
    let log = rig.scratch().join("starts");
    let line = format!(
        "date +%s%3N >> '{}'; echo cannot live; exit 1",
        log.display()
    );
    shell(
        &rig,
        "mayfly",
        &line,
        &format!("intensity = {{ restarts = {RESTARTS} }}"),
    );
    rig.start();
    let mut peer = rig.peer();
    let starts = || -> Vec<u64> {
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    };
    let cpu_before = rig.cpu_ticks();
    let begun = Instant::now();
    start(&mut peer, "mayfly");
    let (failed, took) = until(&mut peer, "mayfly", Duration::from_mins(1), |it| {
        assert!(starts().len() <= RESTARTS + 1, "{} starts", starts().len());
        it["state"] == "failed"
    });
    let spent = begun.elapsed().as_secs_f64();
    let cpu = rig.cpu_ticks().saturating_sub(cpu_before);
    let detail = failed["detail"].to_string();
    assert!(
        detail.contains("cannot live") && detail.contains("gave up"),
        "{detail}"
    );
    let times = starts();
    assert_eq!(times.len(), RESTARTS + 1);
    for (pair, wait_ms) in times.windows(2).zip(WAITS_MS) {
        // The clock of the shell counts whole milliseconds.
        assert!(pair[1] - pair[0] + 1 >= wait_ms, "{times:?}");
    }
    // It stays given up and stays visible.
    std::thread::sleep(Duration::from_secs(2));
    assert_eq!(starts().len(), RESTARTS + 1);
    assert_eq!(status(&mut peer, "mayfly")["state"], "failed");
    let list = peer.must("service.list", &json!({})).to_string();
    assert!(list.contains("mayfly"), "{list}");
    #[expect(clippy::cast_precision_loss, reason = "a small count")]
    let per_minute = RESTARTS as f64 * 60.0 / took.as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a hundredth of a second each")]
    let share = cpu as f64 / spent;
    trial.figure("restarts_per_minute", format_args!("{per_minute:.0}"));
    trial.figure("daemon_cpu_percent", format_args!("{share:.1}"));
    rig.stop();
}

#[test]
fn f22_a_service_that_hangs() {
    let trial = Trial::begin(22);
    let mut rig = rig();
    page(&rig, "frozen", 0.0, "stop_seconds = 0.5");
    rig.start();
    let mut peer = rig.peer();
    let first = start(&mut peer, "frozen");
    assert_eq!(first["state"], "running", "{first}");
    let pid = i32::try_from(first["pid"].as_u64().expect("a pid")).expect("a pid");
    let pid = Pid::from_raw(pid).expect("a pid");
    kill_process(pid, Signal::STOP).expect("it is ours");
    let begun = Instant::now();
    let within = Duration::from_mins(1);
    let (noticed, _) = until(&mut peer, "frozen", within, |it| it["state"] != "running");
    let detection = begun.elapsed();
    assert!(
        noticed["detail"].to_string().contains("It did not respond"),
        "{noticed}"
    );
    let (again, _) = until(&mut peer, "frozen", within, |it| it["state"] == "running");
    assert_ne!(again["pid"], first["pid"]);
    assert_eq!(again["restarts"], 1);
    // Three looks, five seconds apart, of two seconds each.
    assert!(detection < Duration::from_secs(30), "{detection:?}");
    assert!(!std::path::Path::new(&format!("/proc/{}", first["pid"])).exists());
    trial.figure(
        "detection_s",
        format_args!("{:.1}", detection.as_secs_f64()),
    );
    trial.figure("restarts", &again["restarts"]);
    rig.stop();
}

#[test]
fn f25_services_that_need_each_other() {
    let trial = Trial::begin(25);
    let mut rig = rig();
    page(&rig, "base", 1.0, "");
    page(&rig, "left", 0.5, "needs = [\"base\"]");
    page(&rig, "right", 0.1, "needs = [\"base\"]");
    page(&rig, "top", 0.0, "needs = [\"left\", \"right\"]");
    let needs = [
        ("left", "base"),
        ("right", "base"),
        ("top", "left"),
        ("top", "right"),
    ];
    rig.start();
    let mut peer = rig.peer();
    let mut violations = 0;
    // By a stop of what all need, by the daemon's own end, and with a wanted order of our own.
    for round in 0..3 {
        let _ = std::fs::remove_file(tale(&rig));
        if round == 2 {
            rig.start();
            peer = rig.peer();
            start(&mut peer, "right");
        }
        let running = start(&mut peer, "top");
        assert_eq!(running["state"], "running", "{running}");
        if round == 0 {
            peer.must("service.stop", &json!({ "name": "base" }));
        } else {
            rig.stop();
        }
        let text = std::fs::read_to_string(tale(&rig)).expect("they tell");
        let lines: Vec<&str> = text.lines().collect();
        let place = |name: &str, what: &str| {
            let line = format!("{name} {what}");
            let found = lines.iter().position(|it| *it == line);
            found.unwrap_or_else(|| panic!("no '{line}' in {lines:?}"))
        };
        for (needing, needed) in needs {
            let started = place(needed, "is ready") < place(needing, "begins");
            let stopped = place(needing, "ends") < place(needed, "ends");
            violations += usize::from(!started) + usize::from(!stopped);
        }
    }
    trial.figure("order_violations", violations);
    assert_eq!(violations, 0);
}
