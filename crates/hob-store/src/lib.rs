//! All SQL of hob: what it acknowledges is on disk.
//!
//! - [`Store`]: the handle; sessions, messages, tokens, the event log
//! - `opening`, `inspect`, `wal`, `mark`, `findings`: what is looked at before a database is trusted
//! - `log_history`: which cursors of clients lie in this database's own history
//! - `connection`, `migrations`: how it is opened, and its schema
//! - `lanes`, `writer`, `tact`, `batch`, `disk`: one thread that turns queued commands into transactions
//! - `readers`: a few connections for everything that only reads
//! - `sessions`, `runs`, `tokens`, `events`, `retention`: the SQL of each thing
//! - `changes`: what runs changed in files, for undoing
//! - `loops`: prompts that are asked again and again
//! - `outputs`: what tools said at length, for a while
//! - `judgements`: stored rules, and the record of every decision
//! - `schedule`: jobs, and what became of each time they were due
//! - `terminals`: shells that a person and hob share, and the commands run in them
//! - `blobs`: what is too large for a row
//! - `checksums`: a checksum for each row of what must not change unnoticed
//! - `health`, `check`, `structure_check`, `verify`: whether the files are sound
//! - `settings`: what a person may choose
//!
//! Invariants: an answer means that the transaction is synced; each write is one transaction with
//! its event; events are numbered and published in the order of commits and no number is given
//! twice; a missing or damaged file is named and never begun anew by itself.

mod batch;
mod blobs;
mod changes;
mod check;
mod checksums;
mod connection;
mod disk;
mod error;
mod events;
mod findings;
mod health;
mod ids;
mod inspect;
mod judgements;
mod lanes;
mod log_history;
mod loops;
mod mark;
mod migrations;
mod opened_files;
mod opening;
mod outputs;
#[cfg(test)]
mod page_limit;
mod readers;
mod retention;
mod rules;
mod runs;
mod schedule;
mod sessions;
mod settings;
mod shared;
mod store;
mod structure_check;
mod tact;
mod terminals;
mod tokens;
mod tool_tiers;
mod value;
mod verify;
mod wal;
mod writer;

pub use changes::{Change, Former, NewChange};
pub use checksums::damage::WithDamage;
pub use error::StoreError;
pub use judgements::{Judgement, KeptRule, NewEntry, NewRule, RuleChange, RuleReplacement};
pub use loops::{
    Ended, Kind as MemoryKind, LoopRow, Mode, NewLoop, Prompted, Remember, Started, Under,
    WhichStart,
};
pub use outputs::{NewOutput, Output, OutputDraft};
pub use runs::{
    Accepted, Birth, Ceilings, Costs, LedgerEntry, LedgerWrite, NewMessage, NewRun, Purse, Reserve,
    RunPage, RunRow, RunStats, RunSummary, StepWrite, Written,
};
pub use schedule::{JobRow, NewSlot, Opened, Opening, SLOTS_OPENED_MAX, SlotEnd, SlotRow};
pub use settings::{KEYS, retention};
pub use store::{Store, StoreOptions};
pub use terminals::{
    CommandRow, CommandWrite, NewCommands, NewTerminal, QueuedCommands, TerminalRow, TerminalWrite,
};
pub use tokens::TokenRow;
pub use tool_tiers::ToolTierRow;
pub use verify::Progress;
