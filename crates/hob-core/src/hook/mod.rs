//! Calls of other systems to `POST /hooks/NAME`. Pure.
//!
//! - [`secret`]: what a job's callers must know, derived so that it is stored nowhere
//! - [`verify`]: whether a call shows that its sender knows it
//! - [`fill`]: the task that a template and a call make
//!
//! Invariants: credentials are compared in constant time; a signature with a time is good for a
//! few minutes; a call that is sent again meanwhile has the same mark.

mod proof;
mod template;

pub use proof::{Mark, REPLAY_MS, Refusal, secret, sign, verify};
pub use template::{Call, fill};
