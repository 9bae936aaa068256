//! Bringing a service onto this machine.
//!
//! - [`Recipe`], [`Step`]: what is to be done, as data

mod recipe;

pub use recipe::{Archive, Fetch, Fetcher, Recipe, Step};
