//! Faults 60 to 63: commands that do not end, multiply, fill the disk, or print without end; behind
//! each kind of walls.

use super::tools::{LEVELS, Tools, processes_with};
use crate::faults::rig::eventually;
use crate::faults::trial::{Trial, percentile};
use serde_json::json;
use std::fs;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// A deadline in milliseconds, and what may come on top of it on a busy machine.
const DEADLINE_MS: u64 = 1_000;
const OVER_MS_MAX: u64 = 5_000;

#[test]
fn f60_commands_that_never_end() {
    let trial = Trial::begin(60);
    let mut over_ms = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        let mark = format!("9{}.5", trial.randomness.u64() % 1_000_000);
        let commands = [
            format!("sleep {mark}"),
            format!("trap '' TERM INT HUP QUIT; while :; do sleep {mark}; done"),
            format!("(setsid sleep {mark} &) ; setsid -f sleep {mark}; sleep {mark}"),
            format!("nohup sleep {mark} >/dev/null 2>&1 & disown; exec sleep {mark}"),
            format!("kill -STOP $$; sleep {mark}"),
        ];
        for command in &commands {
            let begun = Instant::now();
            let args = json!({ "command": command, "timeoutMs": DEADLINE_MS });
            let said = tools.call("exec", &args);
            let took_ms = u64::try_from(begun.elapsed().as_millis()).expect("a while");
            assert!(said.failed, "{command}: {said:?}");
            assert_eq!(said.metadata["cause"], "deadline", "{command}: {said:?}");
            over_ms = over_ms.max(took_ms.saturating_sub(DEADLINE_MS));
            assert!(over_ms < OVER_MS_MAX, "{command} took {took_ms} ms");
            assert_eq!(processes_with(&format!("sleep\0{mark}")), 0, "{command}");
        }
        let said = tools.exec("sleep 0.1; echo done in time");
        assert!(said.text.contains("done in time"), "{said:?}");
    }
    trial.figure("over_deadline_ms", over_ms);
    trial.figure("survivors", 0);
}

#[test]
fn f61_bombs_of_processes_and_threads() {
    let trial = Trial::begin(61);
    let bound = 64;
    let mut most = 0;
    let mut times = Vec::new();
    for level in LEVELS {
        let settings = format!("[exec]\nprocesses = {bound}\n");
        let mut tools = Tools::behind(level, &settings, &[]);
        let mark = format!("8{}.5", trial.randomness.u64() % 1_000_000);
        // As many as any bomb needs to show, and no more than this machine bears.
        let processes = format!("for i in $(seq 400); do sleep {mark} & done; wait");
        let threads = "python3 -c 'import threading,time\n\
             for i in range(400): threading.Thread(target=time.sleep, args=(5,)).start()'";
        for command in [processes.as_str(), threads] {
            let (seen, mut answers) = beside(&mut tools, command, &format!("sleep\0{mark}"));
            most = most.max(seen);
            times.append(&mut answers);
        }
        assert!(most <= bound + 2, "{level}: {most} processes at once");
        eventually("nothing of it is left", || {
            processes_with(&format!("sleep\0{mark}")) == 0
        });
        let said = tools.exec("for i in 1 2 3; do sleep 0.01 & done; wait; echo a few are fine");
        assert!(said.text.contains("a few are fine"), "{said:?}");
    }
    trial.figure("processes_at_once", most);
    let p99 = percentile(&mut times, 99);
    trial.figure("daemon_p99_ms", format_args!("{p99:.1}"));
}

/// Runs a bomb; the most processes seen at once, and how long the daemon took to answer others.
fn beside(tools: &mut Tools, command: &str, mark: &str) -> (usize, Vec<f64>) {
    let over = AtomicBool::new(false);
    let most = AtomicUsize::new(0);
    let mut peer = tools.rig.peer();
    thread::scope(|scope| {
        let other = scope.spawn(|| {
            let mut times = Vec::new();
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                peer.must("session.list", &json!({}));
                times.push(begun.elapsed().as_secs_f64() * 1_000.0);
                most.fetch_max(processes_with(mark), Ordering::Relaxed);
                thread::sleep(Duration::from_millis(5));
            }
            times
        });
        let args = json!({ "command": command, "timeoutMs": 3_000 });
        tools.call("exec", &args);
        over.store(true, Ordering::Relaxed);
        let times = other.join().expect("the other client");
        (most.load(Ordering::Relaxed), times)
    })
}

#[test]
fn f62_commands_that_fill_the_disk() {
    const MIB: u64 = 1024 * 1024;
    let trial = Trial::begin(62);
    let mut largest = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "[exec]\nfile_mib = 8\ntmp_mib = 8\n", &[]);
        for command in [
            "dd if=/dev/zero of=big bs=1M count=300",
            "truncate -s 10G sparse",
            "fallocate -l 300M allocated",
            "dd if=/dev/zero of=seeked bs=1 seek=10000000000 count=1",
        ] {
            let said = tools.exec(command);
            assert_ne!(said.metadata["exitCode"], 0, "{level} {command}: {said:?}");
        }
        let said = tools.exec("dd if=/dev/zero of=/tmp/fill bs=1M count=300; ls -s /tmp/fill");
        assert!(said.text.contains("dd"), "{said:?}");
        let files = fs::read_dir(&tools.workspace)
            .expect("the workspace")
            .flatten();
        for file in files.filter_map(|file| file.metadata().ok()) {
            largest = largest.max(if file.is_file() { file.len() } else { 0 });
        }
        assert!(largest <= 8 * MIB, "{level}: a file of {largest} bytes");
        let said = tools.exec("ls -A /tmp | grep -c fill");
        assert!(
            said.text.starts_with('0'),
            "it was not cleaned up: {said:?}"
        );
        assert!(
            !std::path::Path::new("/tmp/fill").exists(),
            "it fills our own"
        );
        let said = tools.exec("head -c 1000000 /dev/zero > fine && wc -c < fine");
        assert!(said.text.contains("1000000"), "{said:?}");
    }
    trial.figure("bytes_over", largest.saturating_sub(8 * MIB));
}

#[test]
fn f63_commands_that_print_without_end() {
    let trial = Trial::begin(63);
    let mut growth_kib = 0;
    let mut printed = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        tools.exec("yes | head -c 1000000");
        let before = tools.rig.memory_kib("VmRSS");
        tools.rig.reset_peak_memory();
        for command in [
            "yes | head -c 400000000",
            "head -c 100000000 /dev/zero",
            "head -c 60000000 /dev/urandom",
            "head -c 60000000 /dev/urandom >&2",
            "printf '\\xf0\\x9f\\x98'; printf '\\x80%.0s' $(seq 100)",
        ] {
            let said = tools.exec(command);
            assert_eq!(said.metadata["exitCode"], 0, "{command}: {}", said.metadata);
            assert!(
                said.text.len() <= 256 * 1024,
                "{command}: {}",
                said.text.len()
            );
            printed += said.metadata["bytes"].as_u64().expect("a count");
        }
        growth_kib = growth_kib.max(tools.rig.memory_kib("VmHWM").saturating_sub(before));
        assert!(
            growth_kib < 64 * 1024,
            "{level}: the daemon grew by {growth_kib} KiB"
        );
        let said = tools.exec("yes middle | head -n 100000; echo the end");
        assert!(
            said.text.contains("the end") && said.text.starts_with("middle"),
            "head and tail"
        );
    }
    trial.figure("printed_mb", printed / 1_000_000);
    trial.figure("daemon_growth_mb", growth_kib / 1024);
}
