//! A service that forks without end.

use super::super::trial::{Trial, percentile};
use super::{answer_times, marked, rig, shell, start, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

const BOUND: usize = 64;
/// As many as any bomb needs to show, and no more than a machine bears.
const FORKS: usize = 400;

#[test]
fn f61_services_that_fork_without_end() {
    let trial = Trial::begin(61);
    let mut rig = rig();
    let word = format!("6{}.5", trial.randomness.u64() % 1_000_000);
    let births = rig.scratch().join("births");
    let line = format!(
        "for i in $(seq {FORKS}); do sleep {word} & echo $i >> {}; done; wait",
        births.display()
    );
    let more =
        format!("limits = {{ processes = {BOUND} }}\nrestart = \"never\"\nstop_seconds = 0.2");
    shell(&rig, "rabbit", &line, &more);
    rig.start();
    let mut peer = rig.peer();
    let (over, most) = (
        Arc::new(AtomicBool::new(false)),
        Arc::new(AtomicUsize::new(0)),
    );
    let counter = {
        let (over, most, word) = (Arc::clone(&over), Arc::clone(&most), word.clone());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                most.fetch_max(marked(&word).len(), Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(2));
            }
        })
    };
    start(&mut peer, "rabbit");
    let mut times = answer_times(&mut peer, Duration::from_secs(3));
    over.store(true, Ordering::Relaxed);
    counter.join().expect("it only counts");
    let most = most.load(Ordering::Relaxed);
    peer.must("service.stop", &serde_json::json!({ "name": "rabbit" }));
    until(&mut peer, "rabbit", Duration::from_secs(20), |it| {
        it["pid"].is_null()
    });
    // Whoever counts may miss a bomb that is ended within milliseconds; its own tally stays.
    let born = std::fs::read_to_string(&births).unwrap_or_default();
    let born = born.lines().count();
    assert!(born >= BOUND / 2, "the bomb never went off: {born} forks");
    assert!(born < FORKS, "nothing stopped its forks");
    assert!(most <= BOUND + 2, "{most} processes at once");
    assert_eq!(marked(&word).len(), 0, "something of it is left");
    trial.figure("service_processes_at_once", most);
    trial.figure("service_forks", born);
    let p99 = percentile(&mut times, 99);
    trial.figure("beside_service_p99_ms", format_args!("{p99:.1}"));
    rig.stop();
}
