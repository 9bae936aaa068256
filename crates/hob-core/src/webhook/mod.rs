//! Calls of other systems to `POST /hooks/NAME`. Pure.
//!
//! - [`secret`]: what a job's callers must know, derived so that it is stored nowhere
//! - [`verify`]: whether a call shows that its sender knows it; [`verify_bearer`]: the same by
//!   headers alone, where [`shows_secret`]
//! - [`fill`]: the task that a template and a call make
//!
//! Invariants: credentials are compared in constant time; a signature with a time is good for a
//! few minutes; a signed call that is sent again has the same [`Mark`], whatever its other headers
//! say.

mod proof;
mod template;

pub use proof::{Mark, REPLAY_MS, Refusal, secret, shows_secret, sign, verify, verify_bearer};
pub use template::{Call, fill};
