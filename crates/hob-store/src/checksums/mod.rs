//! Row checksums: a row whose bytes changed on disk is reported and never shown as whole.
//!
//! - `tables`: the covered tables and their columns
//! - `row_checksum`: the SQL function `row_checksum(...)`
//! - `damage`: the description of a damaged row
//! - `backfill`: bulk work that adds checksums to rows of earlier versions
//!
//! Invariants: a row is written with its checksum in the same transaction; a row is checked before
//! it is changed, so that a new checksum never hides old damage; a missing checksum is damage,
//! except for rows that `checksum_fill` lists as not done yet.

pub(crate) mod backfill;
pub(crate) mod damage;
mod row_checksum;
pub(crate) mod tables;

pub(crate) use row_checksum::register;
pub(crate) use tables::{
    AUDIT, COVERED, CoveredTable, JOBS, JOURNAL, MESSAGES, RULES, RUN_TASKS, RUNS, TOKENS,
};

#[cfg(test)]
#[path = "checksums_tests.rs"]
mod tests;
