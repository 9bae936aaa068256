//! Ids for new rows, from random bytes fetched many at a time: a system call for each id costs more
//! than making it.

use hob_kit::randomness::Randomness;
use uuid::Uuid;

/// Random bytes of one id.
const ID_BYTES: usize = 10;
/// Ids per system call.
const POOL_IDS: usize = 64;

/// A generator of `UUIDv7` ids with a pool of random bytes.
#[derive(Debug)]
pub(crate) struct IdGenerator {
    randomness: Randomness,
    pool: [u8; ID_BYTES * POOL_IDS],
    used: usize,
}

impl IdGenerator {
    pub(crate) fn new(randomness: Randomness) -> Self {
        IdGenerator {
            randomness,
            pool: [0; ID_BYTES * POOL_IDS],
            // The pool counts as used up, so the first id fills it.
            used: ID_BYTES * POOL_IDS,
        }
    }

    /// Returns a `UUIDv7`: ordered by `wall_ms`, random below that.
    pub(crate) fn next(&mut self, wall_ms: u64) -> Uuid {
        // Each byte is used once: two ids never share randomness.
        if self.used == self.pool.len() {
            self.randomness.fill(&mut self.pool);
            self.used = 0;
        }
        let mut random = [0; ID_BYTES];
        random.copy_from_slice(&self.pool[self.used..self.used + ID_BYTES]);
        self.used += ID_BYTES;
        uuid::Builder::from_unix_timestamp_millis(wall_ms, &random).into_uuid()
    }
}
