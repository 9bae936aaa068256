//! Monitors that fork, fill and print: the walls of every command hold, and the loop goes on.

use super::{create, history, rig, start, until};
use crate::faults::hands::tools::processes_with;
use crate::faults::rig::eventually;
use crate::faults::trial::{Trial, percentile};
use hob_sim::Answer;
use serde_json::json;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const BOUND: usize = 64;
/// As many as any bomb needs to show, and no more than a machine bears.
const FORKS: usize = 400;

#[test]
fn f61_monitors_that_fork_without_end() {
    let trial = Trial::begin(61);
    let settings = format!("[exec]\nprocesses = {BOUND}\n");
    let (mut rig, sim) = rig(&settings, |_| Answer::words("well"));
    rig.start();
    let mut peer = rig.peer();
    let word = format!("5{}.5", trial.randomness.u64() % 1_000_000);
    let mark = format!("sleep\0{word}");
    let bomb = format!("for i in $(seq {FORKS}); do sleep {word} & done; wait");
    let monitor = json!({ "command": bomb, "timeoutMs": 3_000 });
    create(
        &mut peer,
        "bomb",
        &json!({ "user": "Go.", "maxIterations": 1, "monitor": monitor }),
    );
    let (over, most) = (AtomicBool::new(false), AtomicUsize::new(0));
    let mut other = rig.peer();
    let mut times = std::thread::scope(|scope| {
        let beside = scope.spawn(|| {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                other.must("session.list", &json!({}));
                times.push(begun.elapsed().as_secs_f64() * 1_000.0);
                most.fetch_max(processes_with(&mark), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(5));
            }
            times
        });
        start(&mut peer, "bomb");
        until(&mut peer, "bomb", |it| it["running"] == false);
        over.store(true, Ordering::Relaxed);
        beside.join().expect("it only asks")
    });
    let most = most.load(Ordering::Relaxed);
    assert!(most > 0, "the bomb never went off");
    assert!(most <= BOUND + 2, "{most} processes at once");
    eventually("nothing of it is left", || processes_with(&mark) == 0);
    let seen = history(&mut peer, "bomb");
    assert_eq!(seen[0]["success"], true, "the loop went on: {seen:?}");
    assert_eq!(sim.asked_count(), 1);
    trial.figure("monitor_processes_at_once", most);
    let p99 = percentile(&mut times, 99);
    trial.figure("beside_monitor_p99_ms", format_args!("{p99:.1}"));
    rig.stop();
}

#[test]
fn f62_monitors_that_fill_the_disk() {
    const MIB: u64 = 1024 * 1024;
    let trial = Trial::begin(62);
    let settings = "[exec]\nfile_mib = 8\ntmp_mib = 8\n";
    let (mut rig, _sim) = rig(settings, |_| Answer::words("well"));
    let place = rig.scratch().join("place");
    std::fs::create_dir_all(&place).expect("a folder");
    rig.start();
    let mut peer = rig.peer();
    let mark = format!("fill{}", trial.randomness.u64() % 1_000_000);
    let command = format!(
        "dd if=/dev/zero of=big bs=1M count=32; dd if=/dev/zero of=/tmp/{mark} bs=1M count=32; true"
    );
    let monitor = json!({ "command": command });
    let config =
        json!({ "user": "Go.", "maxIterations": 1, "monitor": monitor, "workspace": place });
    create(&mut peer, "fill", &config);
    start(&mut peer, "fill");
    until(&mut peer, "fill", |it| it["running"] == false);
    let largest = std::fs::metadata(place.join("big")).map_or(0, |file| file.len());
    assert!(largest > 0, "it never began");
    assert!(largest <= 8 * MIB, "a file of {largest} bytes");
    let ours = std::path::Path::new("/tmp").join(&mark);
    assert!(!ours.exists(), "it fills our own /tmp");
    let seen = history(&mut peer, "fill");
    assert_eq!(seen[0]["success"], true, "the loop went on: {seen:?}");
    trial.figure("monitor_bytes_over", largest.saturating_sub(8 * MIB));
    rig.stop();
}

#[test]
fn f63_monitors_that_print_without_end() {
    let trial = Trial::begin(63);
    let (mut rig, _sim) = rig("", |_| Answer::words("well"));
    rig.start();
    let mut peer = rig.peer();
    let mut longest = 0;
    let before = rig.memory_kib("VmRSS");
    rig.reset_peak_memory();
    for (number, command) in [
        "yes | head -c 200000000",
        "head -c 60000000 /dev/zero",
        "head -c 60000000 /dev/urandom; head -c 60000000 /dev/urandom >&2",
        "printf '\\xf0\\x9f\\x98'; printf '\\x80%.0s' $(seq 100)",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("flood-{number}");
        let monitor = json!({ "command": command, "timeoutMs": 60_000 });
        let config = json!({ "user": "Go.", "maxIterations": 1, "monitor": monitor });
        create(&mut peer, &name, &config);
        start(&mut peer, &name);
        let ended = until(&mut peer, &name, |it| it["running"] == false);
        let output = &ended["monitor"];
        assert_eq!(output["exitCode"], 0, "{command}: {}", output["problem"]);
        for stream in ["stdout", "stderr"] {
            longest = longest.max(output[stream].as_str().map_or(0, str::len));
        }
        let prompt = history(&mut peer, &name)[0]["prompt"].to_string();
        assert!(prompt.len() < 512 * 1024, "{command}: {}", prompt.len());
    }
    // Bytes that are no text become a mark of three bytes each.
    assert!(longest <= 64 * 1024, "{longest} bytes of a stream are kept");
    let growth_kib = rig.memory_kib("VmHWM").saturating_sub(before);
    assert!(
        growth_kib < 64 * 1024,
        "the daemon grew by {growth_kib} KiB"
    );
    trial.figure("monitor_bytes_kept", longest);
    trial.figure("monitor_growth_mb", growth_kib / 1024);
    rig.stop();
}
