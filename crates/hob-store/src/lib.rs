//! All SQL of hob. An acknowledged write is on disk.
//!
//! - [`Store`]: the handle, which every room holds
//! - `opening`, `inspect`, `wal`, `mark`, `findings`: checks of the files before a database is
//!   trusted
//! - `log_history`: the event logs whose cursors this database can continue
//! - `connection`, `migrations`: connections and the schema
//! - `writer_queue`, `writer`, `group_commit_window`, `batch`, `writer_database`: one thread that
//!   turns queued commands into transactions
//! - `reader_pool`: a few connections for all reads
//! - `sessions`, `runs`, `tokens`, `tool_tiers`, `events`, `retention`: the SQL of each subject
//! - `changes`: file changes of runs, kept for undo
//! - `loops`: prompts that run again and again
//! - `outputs`: long tool outputs, kept for a while
//! - `audit`: stored permission rules and the audit record of every decision
//! - `schedule`: jobs and their slots
//! - `terminals`: terminals that a person and hob share, and the commands run in them
//! - `foreign_database`: reads another program's database
//! - `blobs`: files for values that are too large for a row
//! - `checksums`: row checksums of the tables whose damage must be noticed
//! - `health`, `invariants`, `structure_check`, `verify`: the state of the store and checks of its
//!   files
//! - `validate`, `settings`: bounds of requests, and the configuration keys of the store
//!
//! Invariants: an answer means that the transaction is synced; each write is one transaction with
//! its event; events are numbered and published in commit order and no number is used twice; a
//! missing or damaged file is reported and never replaced by a new one.

mod audit;
mod batch;
mod blobs;
mod changes;
mod checksums;
mod config_undo;
mod connection;
mod error;
mod events;
mod findings;
mod foreign_database;
mod group_commit_window;
mod health;
mod ids;
mod inspect;
mod invariants;
mod log_history;
mod loops;
mod mark;
mod migrations;
mod opened_files;
mod opening;
mod outputs;
#[cfg(test)]
mod page_limit;
mod reader_pool;
mod retention;
mod runs;
mod schedule;
mod sessions;
mod settings;
mod shared;
mod store;
mod structure_check;
mod terminals;
mod tokens;
mod tool_tiers;
mod validate;
mod value;
mod verify;
mod wal;
mod writer;
mod writer_database;
mod writer_queue;

pub use audit::{AuditedDecision, NewAuditEntry, NewRule, RuleChange, RuleReplacement, StoredRule};
pub use changes::{FileChange, NewFileChange, PreviousEntry};
pub use checksums::damage::WithDamage;
pub use error::StoreError;
pub use foreign_database::{
    FOREIGN_DATABASE_BYTES_MAX, ForeignDatabase, ForeignDatabaseError, ForeignReadLimits,
    ForeignRows, ForeignValue,
};
pub use loops::{
    FinishedIteration, IterationPrompt, LoopMode, LoopResumePoint, LoopRow, LoopStart,
    LoopStartResult, MemoryKind, MemoryUpdate, NewLoopRow,
};
pub use outputs::{NewToolOutput, OutputDraft, StoredToolOutput};
pub use runs::{
    AcceptedRun, BudgetScope, CostReservation, LedgerCall, LedgerEntry, LedgerSummary, LedgerWrite,
    NewMessage, NewRun, ParentLink, RunPage, RunRow, RunStats, RunSummary, SpendingCeilings,
    StepWrite, WrittenStep,
};
pub use schedule::{
    JobRow, NewSlot, SLOTS_OPENED_MAX, SlotEnd, SlotOpenResult, SlotOpening, SlotRow,
};
pub use sessions::fork::COPIED_MESSAGES;
pub use sessions::transcript::{
    RunNotices, StepOrigin, TranscriptPage, TranscriptPlace, TranscriptTail,
};
pub use settings::{KEYS, retention};
pub use store::{Store, StoreOptions};
pub use terminals::{
    CommandRow, CommandWrite, NewCommands, NewTerminal, QueuedCommands, TerminalRow, TerminalWrite,
};
pub use tokens::TokenRow;
pub use tool_tiers::ToolTierRow;
pub use verify::VerifyProgress;
