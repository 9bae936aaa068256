//! Webhook calls to `POST /hooks/NAME`. Pure.
//!
//! - [`job_secret`]: the secret of a job's callers, derived so it is never stored
//! - [`verify`]: authenticates a call; [`verify_bearer`] does it by headers alone where
//!   [`uses_bearer`] is true
//! - [`fill_template`]: the task made from a template and a call
//!
//! Invariants: credentials are compared in constant time; a signature with a timestamp is valid for
//! a few minutes; a signed call that is sent again has the same [`ReplayKey`], whatever its other
//! headers say.

mod authentication;
mod template;

pub use authentication::{
    REPLAY_MS, ReplayKey, WebhookAuthError, job_secret, sign_body, uses_bearer, verify,
    verify_bearer,
};
pub use template::{WebhookCall, fill_template};
