//! Injected randomness: from the system, or from a seeded stream that a failing test can repeat.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A source of random bytes; cheap to clone.
#[derive(Clone)]
pub struct Randomness(Arc<RandomSource>);

enum RandomSource {
    System,
    /// The state of a seeded stream. A std mutex, because it is held for a few instructions.
    Seeded(Mutex<u64>),
}

impl Randomness {
    /// Returns the cryptographic randomness of the system.
    pub fn system() -> Self {
        Randomness(Arc::new(RandomSource::System))
    }

    /// Returns a repeatable stream. For tests only: not fit for secrets.
    pub fn seeded(seed: u64) -> Self {
        Randomness(Arc::new(RandomSource::Seeded(Mutex::new(seed))))
    }

    pub fn fill(&self, bytes: &mut [u8]) {
        match &*self.0 {
            RandomSource::System => fill_from_system(bytes),
            RandomSource::Seeded(state) => {
                let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                for chunk in bytes.chunks_mut(8) {
                    let word = split_mix(&mut state).to_le_bytes();
                    chunk.copy_from_slice(&word[..chunk.len()]);
                }
            }
        }
    }

    pub fn u64(&self) -> u64 {
        let mut bytes = [0; 8];
        self.fill(&mut bytes);
        u64::from_le_bytes(bytes)
    }

    /// A number below `bound`, which is at least 1.
    pub fn below(&self, bound: u64) -> u64 {
        // The modulo bias does not matter: this is for jitter and tests, never for secrets.
        self.u64() % bound.max(1)
    }

    /// A `UUIDv7`: ordered by `wall_ms`, random below that.
    pub fn uuid(&self, wall_ms: u64) -> uuid::Uuid {
        let mut random = [0; 10];
        self.fill(&mut random);
        uuid::Builder::from_unix_timestamp_millis(wall_ms, &random).into_uuid()
    }

    /// `bytes` random bytes as lower-case hex: tokens, trace ids.
    pub fn hex(&self, bytes: usize) -> String {
        let mut raw = vec![0; bytes];
        self.fill(&mut raw);
        raw.iter()
            .fold(String::with_capacity(bytes * 2), |mut text, byte| {
                for digit in [byte >> 4, byte & 15] {
                    text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
                }
                text
            })
    }
}

impl fmt::Debug for Randomness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Randomness")
    }
}

#[expect(
    clippy::expect_used,
    reason = "without randomness no token is safe, so stopping is right"
)]
fn fill_from_system(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system gives random bytes");
}

/// `SplitMix64`: tiny, well spread, and the same on every machine.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut mixed = *state;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}
