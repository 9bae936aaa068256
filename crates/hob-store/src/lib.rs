//! All SQL of hob.

mod error;
mod store;

pub use error::StoreError;
pub use store::{Store, StoreOptions, TokenRow, Verdict};
