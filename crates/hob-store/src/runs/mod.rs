//! Runs: their tasks, states, journals, and the ledger of model calls.
//!
//! - [`types`]: the types of runs and money
//! - `store_methods`: the store's methods, which prepare everything outside the writer's thread
//! - `accept`, `step`: the two commands of a run, each one transaction with its events
//! - `damaged_run`: ends a run whose row is damaged
//! - `children`: runs that other runs start
//! - `ledger`: reserves and settles money, and keeps the sums for ceilings
//! - `row`, `read`, `costs`: reads
//! - `payload`: events about runs, rebuilt from rows
//! - `remove`: deletes the runs of a deleted session
//!
//! Invariants: an accepted run is never lost, and one idempotency key is one run; a step's journal,
//! messages, ledger and events are one transaction or nothing; a journal only grows, at the index
//! its writer expects; a session has one active run at a time; reserved money counts as spent, so
//! that ceilings hold however many calls begin at once.

pub(crate) mod accept;
pub(crate) mod children;
pub(crate) mod costs;
mod damaged_run;
pub(crate) mod journal;
pub(crate) mod ledger;
pub(crate) mod payload;
mod planning;
pub(crate) mod read;
pub(crate) mod remove;
pub(crate) mod row;
pub(crate) mod step;
mod store_methods;
pub(crate) mod types;

pub use types::{
    AcceptedRun, BudgetScope, CostReservation, LedgerCall, LedgerEntry, LedgerSummary, LedgerWrite,
    NewMessage, NewRun, ParentLink, RunPage, RunRow, RunStats, RunSummary, SpendingCeilings,
    StepWrite, WrittenStep,
};
