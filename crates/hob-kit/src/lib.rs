//! What the standard library lacks, for every room.
//!
//! - [`clock`], [`dice`]: time and randomness, handed in at `main` so that tests own them
//! - [`tasks`]: the one door through which tasks are spawned
//! - [`backoff`]: how long to wait before the next try
//! - [`duration`]: `30s`, `10m`, `7d` as people write them
//! - [`failpoint`]: named places where a fault build can be told to fail
//!
//! Invariant: nothing here knows what hob is for.

pub mod backoff;
pub mod clock;
pub mod dice;
pub mod duration;
pub mod failpoint;
pub mod tasks;
