//! Checksums of rows: a row whose bytes changed on disk is named and never shown as whole.
//!
//! - `tables`: the covered tables and their columns, in one place
//! - `function`: `row_checksum(...)`, the SQL function that computes one
//! - `damage`: the sentence that names a damaged row
//! - `fill`: bulk work that gives rows of former versions their checksum
//!
//! Invariants: a row is written with its checksum in the same transaction; a row is checked before
//! it is changed, so that a new checksum never covers up old damage; a missing checksum is damage,
//! except for rows that `checksum_fill` says are still to get theirs.

pub(crate) mod damage;
pub(crate) mod fill;
mod function;
pub(crate) mod tables;

pub(crate) use function::register;
pub(crate) use tables::{
    AUDIT, COVERED, CoveredTable, JOBS, JOURNAL, MESSAGES, RULES, RUN_TASKS, RUNS, TOKENS,
};

#[cfg(test)]
#[path = "checksums_tests.rs"]
mod tests;
