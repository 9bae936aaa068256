//! Fault 1: `kill -9` at random moments under load.

use crate::faults::ledger::{Audit, ClientRecord, audit};
use crate::faults::load::{Load, settle};
use crate::faults::rig::Rig;
use crate::faults::trial::{Trial, number_from_env, percentile};
use std::time::Duration;

/// Enough to meet the writer in every phase, few enough for CI; `HOB_FAULT_KILLS` asks for more.
const KILLS: u64 = 50;
const CLIENTS: usize = 16;
const SESSIONS: usize = 4;
const LIFE_MS_MAX: u64 = 800;

#[test]
fn f01_killed_at_random_moments() {
    let trial = Trial::begin(1);
    let kills = number_from_env("HOB_FAULT_KILLS").unwrap_or(KILLS);
    let mut rig = Rig::new();
    let mut restarts_ms = Vec::new();
    let mut seen = Audit::default();
    let mut every: Vec<ClientRecord> = Vec::new();
    rig.start();
    for kill in 0..kills {
        let load = Load::start(&rig, &format!("kill {kill}"), CLIENTS, SESSIONS);
        std::thread::sleep(Duration::from_millis(
            trial.randomness.below(LIFE_MS_MAX + 1),
        ));
        rig.kill();
        let mut records = load.finish();
        restarts_ms.push(rig.start().as_secs_f64() * 1000.0);
        let mut peer = rig.peer();
        let found = audit(&mut peer, &records);
        assert!(found.is_clean(), "after kill {kill}: {found}");
        settle(&mut peer, &mut records);
        let settled = audit(&mut peer, &records);
        assert!(
            settled.is_clean(),
            "after sending again at kill {kill}: {settled}"
        );
        seen.add(&settled);
        every.append(&mut records);
    }
    let last = audit(&mut rig.peer(), &every);
    assert!(last.is_clean(), "at the end: {last}");
    assert_eq!(last.acks, seen.acks);
    assert!(last.acks > kills, "the load was real: {last}");
    trial.figure("kills", kills);
    trial.figure("lost/acks", format_args!("{}/{}", last.lost, last.acks));
    trial.figure("doubled", last.doubled);
    trial.figure(
        "restart_p99_ms",
        format_args!("{:.0}", percentile(&mut restarts_ms, 99)),
    );
}
