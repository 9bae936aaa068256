//! Ids for new rows, from random bytes fetched many at a time: asking the system for each id costs
//! more than making it.

use hob_kit::dice::Dice;
use uuid::Uuid;

/// Random bytes of one id.
const ID_BYTES: usize = 10;
/// Ids per question to the system.
const POOL_IDS: usize = 64;

#[derive(Debug)]
pub(crate) struct Ids {
    dice: Dice,
    pool: [u8; ID_BYTES * POOL_IDS],
    used: usize,
}

impl Ids {
    pub(crate) fn new(dice: Dice) -> Self {
        Ids {
            dice,
            pool: [0; ID_BYTES * POOL_IDS],
            used: ID_BYTES * POOL_IDS,
        }
    }

    /// A `UUIDv7`: ordered by `wall_ms`, random below that.
    pub(crate) fn next(&mut self, wall_ms: u64) -> Uuid {
        if self.used == self.pool.len() {
            self.dice.fill(&mut self.pool);
            self.used = 0;
        }
        let mut random = [0; ID_BYTES];
        random.copy_from_slice(&self.pool[self.used..self.used + ID_BYTES]);
        self.used += ID_BYTES;
        uuid::Builder::from_unix_timestamp_millis(wall_ms, &random).into_uuid()
    }
}
