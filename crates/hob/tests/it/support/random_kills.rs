//! Kills of the daemon at random points. The seed is printed, and `HOB_KILL_SEED` repeats it.

use super::House;
use hob_kit::host_environment::EnvVars;
use hob_kit::randomness::Randomness;
use std::time::Duration;

/// The randomness and the number of the kills of one test.
pub(crate) struct RandomKills {
    pub(crate) randomness: Randomness,
    pub(crate) count: u64,
}

impl RandomKills {
    /// `count` kills, unless `HOB_KILLS` says another number.
    pub(crate) fn new(count: u64) -> RandomKills {
        let env = EnvVars::capture();
        let number = |name: &str| env.text(name)?.parse().ok();
        let seed = number("HOB_KILL_SEED").unwrap_or_else(|| Randomness::system().u64() >> 16);
        println!("HOB_KILL_SEED={seed}");
        RandomKills {
            randomness: Randomness::seeded(seed),
            count: number("HOB_KILLS").unwrap_or(count),
        }
    }

    /// Kills the daemon within `ms_max`. It is away for a moment.
    pub(crate) fn kill(&self, house: &mut House, ms_max: u64) {
        std::thread::sleep(Duration::from_millis(self.randomness.below(ms_max)));
        house.kill();
        std::thread::sleep(Duration::from_millis(self.randomness.below(100)));
    }
}
