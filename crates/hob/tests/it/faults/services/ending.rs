//! Services that refuse to end, and an end while everything is at work.

use super::super::rig::PATIENCE;
use super::super::trial::Trial;
use super::{marked, page, rig, shell, start};
use rustix::process::Signal;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[test]
fn f23_services_that_will_not_end() {
    let trial = Trial::begin(23);
    let mut rig = rig();
    let word = format!("9{}.5", trial.randomness.u64() % 1_000_000);
    // It ignores the signal, and so does what it hides: a child that left its session, and a
    // grandchild whose parent is gone.
    let line = format!(
        "trap '' TERM INT HUP\n\
         setsid sh -c \"trap '' TERM; sleep {word}\" &\n\
         (setsid sh -c \"trap '' TERM; sleep {word} & sleep {word}\" &)\n\
         while :; do sleep {word}; done\n"
    );
    shell(&rig, "limpet", &line, "stop_seconds = 0.5");
    let mut survivors = 0;
    let mut lived = 0;
    let mut times = Vec::new();
    for way in ["stop", "term", "kill"] {
        rig.start();
        let mut peer = rig.peer();
        start(&mut peer, "limpet");
        let begun = Instant::now();
        while marked(&word).len() < 4 {
            assert!(
                begun.elapsed() < PATIENCE,
                "it never forked: {:?}",
                marked(&word)
            );
            std::thread::sleep(Duration::from_millis(10));
        }
        lived += marked(&word).len();
        let begun = Instant::now();
        match way {
            "stop" => {
                peer.must("service.stop", &json!({ "name": "limpet" }));
                survivors += marked(&word).len();
                rig.stop();
            }
            "term" => {
                rig.stop();
                survivors += marked(&word).len();
            }
            _ => {
                rig.kill();
                // Nobody waits for the shim any more; it needs the time of grace.
                while !marked(&word).is_empty() && begun.elapsed() < Duration::from_secs(10) {
                    std::thread::sleep(Duration::from_millis(20));
                }
                survivors += marked(&word).len();
            }
        }
        times.push(begun.elapsed().as_millis());
    }
    clear(&word);
    trial.figure("survivors", format_args!("{survivors}/{lived}"));
    trial.figure("stop_term_kill_ms", format_args!("{times:?}"));
    assert_eq!(survivors, 0);
}

/// Ends what a broken build left behind.
fn clear(word: &str) {
    for pid in marked(word) {
        let pid = i32::try_from(pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(pid) = pid {
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        }
    }
}

const SERVICES: usize = 8;
const STUBBORN: usize = 4;
const CLIENTS: usize = 16;
const SHUTDOWN_MAX: Duration = Duration::from_secs(10);

#[test]
fn f27_shutdown_with_services_at_work() {
    let trial = Trial::begin(27);
    let mut rig = rig();
    let word = format!("7{}.5", trial.randomness.u64() % 1_000_000);
    for number in 0..SERVICES {
        let needs = match number {
            0 => String::new(),
            _ => format!("needs = [\"page{}\"]", number - 1),
        };
        page(&rig, &format!("page{number}"), 0.0, &needs);
    }
    for number in 0..STUBBORN {
        let line = format!("trap '' TERM\nwhile :; do sleep {word}; done\n");
        shell(&rig, &format!("deaf{number}"), &line, "stop_seconds = 60");
    }
    rig.start();
    let mut peer = rig.peer();
    start(&mut peer, &format!("page{}", SERVICES - 1));
    for number in 0..STUBBORN {
        start(&mut peer, &format!("deaf{number}"));
    }
    let (over, sent) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let session = format!("busy {client}");
            peer.must("session.create", &json!({ "sessionKey": session }));
            let (mut peer, over, sent) = (rig.peer(), Arc::clone(&over), Arc::clone(&sent));
            std::thread::spawn(move || {
                let params = json!({ "sessionKey": session, "content": "x" });
                while !over.load(Ordering::Relaxed)
                    && matches!(peer.call("session.send", &params), Ok(Ok(_)))
                {
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    let begun = Instant::now();
    rig.signal(Signal::TERM);
    let status = rig.wait(SHUTDOWN_MAX + Duration::from_secs(2));
    let took = begun.elapsed();
    if status.is_none() {
        rig.kill();
    }
    over.store(true, Ordering::Relaxed);
    for client in clients {
        client.join().expect("a client that only sends");
    }
    let left = marked(&word).len()
        + marked("page.py")
            .iter()
            .filter(|pid| of(&rig, **pid))
            .count();
    clear(&word);
    let status = status.expect("the daemon ends after SIGTERM");
    assert!(took <= SHUTDOWN_MAX, "it took {took:?}");
    assert!(status.success(), "{status}: {}", rig.stderr());
    assert!(sent.load(Ordering::Relaxed) > 0, "the load was real");
    assert_eq!(left, 0, "processes of services are left");
    trial.figure("services", SERVICES + STUBBORN);
    trial.figure("services_shutdown_ms", took.as_millis());
    trial.figure("services_left", left);
}

/// Whether a process runs a script of this rig's.
fn of(rig: &super::super::rig::Rig, pid: u32) -> bool {
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let ours = rig.scratch().display().to_string();
    line.windows(ours.len()).any(|part| part == ours.as_bytes())
}
