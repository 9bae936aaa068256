//! Runs: what was asked, how far it is, its journal, and the ledger of model calls.
//!
//! - [`words`]: what callers say and are told
//! - `handle`: the methods of the store, which prepare everything outside the writer's thread
//! - `accept`, `step`: the two commands of a run's life, each one transaction with its events
//! - `damaged_run`: ending a run whose row is damaged
//! - `family`: runs that other runs start
//! - `ledger`: reserving and settling money, and the sums that ceilings are held against
//! - `row`, `read`, `costs`: reading
//! - `payload`: events about runs, rebuilt from rows
//! - `remove`: what goes with a deleted session
//!
//! Invariants: a run that was accepted is never lost, and one idempotency key is one run; a step's
//! journal, messages, ledger and events are one transaction or nothing; a journal only grows, at
//! the place its writer expects; a session has one run under way at a time; what is reserved
//! counts as spent, so that ceilings hold however many calls begin at once.

pub(crate) mod accept;
pub(crate) mod costs;
mod damaged_run;
pub(crate) mod family;
mod handle;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod payload;
mod planning;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod row;
pub(crate) mod step;
pub(crate) mod words;

pub use words::{
    Accepted, Birth, Ceilings, Costs, LedgerEntry, LedgerWrite, NewMessage, NewRun, Purse, Reserve,
    RunPage, RunRow, RunStats, RunSummary, StepWrite, Written,
};
