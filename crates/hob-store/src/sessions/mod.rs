//! Sessions and their messages.
//!
//! - [`row`]: a session's row and how it is found
//! - [`heads`]: what the writer remembers of those it wrote to lately
//! - [`write`]: create, send, label, delete: each one transaction with its event
//! - [`read`]: get, list, history, export: pages bounded by rows and bytes
//!
//! Invariants: a session is never wiped by creating it again; messages are numbered from 1 without
//! holes; one idempotency key is one message.

pub(crate) mod heads;
pub(crate) mod read;
pub(crate) mod row;
pub(crate) mod write;
