//! Ten thousand days of jobs in some seconds: the pure machine of `hob_core::schedule` over a model
//! of the durable store, with crashes between every two writes, clocks that are set forward and
//! back, days without a machine, and zones whose clocks change.
//!
//! Each world has a seed, which a failure prints; `HOB_DAYS_SEED` repeats it, `HOB_DAYS` asks for
//! more days. A machine that is broken on purpose is found out: see `sabotage_is_found`.

mod oracle;
mod store;
mod world;

use hob_kit::randomness::Randomness;
use std::time::Instant;
use world::{Sabotage, World};

/// Days of the whole simulation, unless `HOB_DAYS` says more.
const DAYS: u64 = 10_000;
/// Days of one world.
const DAYS_A_WORLD: u64 = 250;

#[test]
fn ten_thousand_days_without_a_doubled_or_silently_missed_slot() {
    let begun = Instant::now();
    let first = number("HOB_DAYS_SEED");
    let days = number("HOB_DAYS").unwrap_or(DAYS);
    let worlds = if first.is_some() {
        1
    } else {
        days.div_ceil(DAYS_A_WORLD)
    };
    let first = first.unwrap_or_else(|| Randomness::system().u64() >> 16);
    let mut sum = world::Tally::default();
    for seed in (0..worlds).map(|world| first + world) {
        match World::new(seed, Sabotage::None).live(DAYS_A_WORLD) {
            Ok(tally) => sum.add(&tally),
            Err(why) => panic!("seed {seed}: HOB_DAYS_SEED={seed} repeats this\n{why}"),
        }
    }
    assert!(sum.crashes > 0 && sum.jumps > 0 && sum.ran > 0, "{sum:?}");
    println!(
        "{} days, {} due times, {} ran, {} skipped, {} missed and counted, {} crashes, {} clock jumps: 0 doubled, 0 silently missed, in {:.1} s",
        worlds * DAYS_A_WORLD,
        sum.due,
        sum.ran,
        sum.skipped,
        sum.missed,
        sum.crashes,
        sum.jumps,
        begun.elapsed().as_secs_f64()
    );
}

#[test]
fn sabotage_is_found() {
    for sabotage in Sabotage::ALL {
        let found = (0..20).any(|seed| World::new(seed, sabotage).live(60).is_err());
        assert!(found, "{sabotage:?} goes unnoticed");
    }
}

fn number(name: &str) -> Option<u64> {
    let env = hob_kit::host_environment::EnvVars::capture();
    let text = env.text(name)?.to_owned();
    Some(
        text.parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
    )
}
