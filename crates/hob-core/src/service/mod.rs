//! What becomes of a service. Pure.
//!
//! - [`Machine`]: when a service is started, asked for its health, killed, started again, given up
//! - [`order`]: in which order services that need each other are started and stopped
//!
//! Invariants: a service never restarts sooner than its backoff says, nor more often than its
//! intensity allows; once a stop is wanted nothing starts until somebody wants it again; what was
//! not started here is never killed.

mod machine;
pub mod order;

pub use machine::{Effect, Event, Machine, Policy, Restart, State};
