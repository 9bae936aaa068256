//! Model files: which ones are worth fetching, where they come from, and how they are fetched.
//!
//! - [`catalog`]: a short list of models that run on an ordinary machine, as data
//!
//! Invariant: nothing in the catalogue is trusted at a download. Size and SHA-256 come from the hub
//! at that moment.

pub mod catalog;
