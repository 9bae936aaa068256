//! Sessions and their messages.
//!
//! - `store_methods`: the methods of the store
//! - [`row`]: a session's row and its queries
//! - [`head_cache`]: the writer's cache of sessions
//! - [`write`]: create, send, label, delete: each one transaction with its event
//! - `drafts`: what a person typed and has not sent
//! - [`fork`]: a session with a copy of the messages of another one, made in steps
//! - [`transcript`]: messages with the steps that they come from, for `session.blocks`
//! - [`read`]: get, list, history, export: pages bounded by rows and bytes
//!
//! Invariants: creating a session again never empties it; messages are numbered from 1 without
//! holes; one idempotency key is one message.

mod drafts;
pub(crate) mod fork;
pub(crate) mod head_cache;
pub(crate) mod read;
pub(crate) mod row;
mod store_methods;
pub(crate) mod transcript;
pub(crate) mod write;
