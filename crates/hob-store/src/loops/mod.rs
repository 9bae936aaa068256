//! Loops, their iterations and their memories.
//!
//! - [`types`]: the types of loops
//! - `row`: a loop's row and its queries
//! - `change`: creates, changes, starts and ends loops; `remove` deletes them
//! - `iterations`: the commands of an iteration
//! - `memory`: memories and their revisions
//! - `read`: lists and histories; prompt and answer come from the runs
//! - `payload`: events, and those that are rebuilt from runs
//!
//! Invariants: an iteration's number is used once; every change, the loop's rules and its events
//! are one transaction, and only the rules say what a loop was granted; the working memory is
//! cleared only if it is still what the iteration was shown; prompts and answers are stored once.

mod change;
mod iterations;
mod memory;
pub(crate) mod payload;
mod read;
mod remove;
mod row;
mod types;

pub use types::{
    FinishedIteration, IterationPrompt, LoopMode, LoopResumePoint, LoopRow, LoopStart,
    LoopStartResult, MemoryKind, MemoryUpdate, NewLoopRow,
};

use crate::audit::{RuleChange, granted_rules};
use crate::error::StoreError;
use crate::store::{Store, to_json};
use crate::validate;
use hob_wire::RunId;
use hob_wire::rooms::loops::{
    LOOP_TEXT_BYTES_MAX, Loop, LoopConfig, LoopEnd, LoopHistoryParams, LoopHistoryResult,
    LoopMemory, LoopPersistentResult,
};

/// Iterations of a page that names no limit.
const HISTORY_ROWS: u32 = 50;
/// Earlier revisions shown at once.
const EARLIER_MAX: u32 = 100;

impl Store {
    /// Creates a loop with its rules; a conflict when the name exists.
    pub async fn create_loop(&self, new: NewLoopRow) -> Result<(), StoreError> {
        let config = config_json(&new.config)?;
        let rules = granted_rules::check(&new.rules)?;
        check_text(&new.persistent)?;
        check_text(&new.working)?;
        let bytes = rules + config.len() + new.persistent.len() + new.working.len();
        self.write(bytes, move |batch| change::create(batch, &new, &config))
            .await
    }

    /// Changes the settings and rules of a loop.
    pub async fn update_loop(
        &self,
        name: &str,
        config: LoopConfig,
        rules: Vec<RuleChange>,
    ) -> Result<(), StoreError> {
        let (name, json) = (name.to_owned(), config_json(&config)?);
        let bytes = json.len() + granted_rules::check(&rules)?;
        self.write(bytes, move |batch| {
            // Before the update, whose event shows the new grants.
            granted_rules::apply(batch, &rules)?;
            change::update(batch, &name, &config, &json)
        })
        .await
    }

    /// Records that a loop shall run; a conflict when it runs already. A single iteration that this
    /// key requested before is not requested again.
    pub async fn start_loop(
        &self,
        name: &str,
        which: LoopStart,
    ) -> Result<LoopStartResult, StoreError> {
        if let LoopStart::Once { key: Some(key) } = &which {
            validate::idempotency_key(key)?;
        }
        let name = name.to_owned();
        self.write(0, move |batch| change::start(batch, &name, &which))
            .await
    }

    /// Records that a sleeping loop has ended.
    pub async fn end_loop(
        &self,
        name: &str,
        end: LoopEnd,
        message: &str,
    ) -> Result<(), StoreError> {
        let (name, message) = (name.to_owned(), message.to_owned());
        self.write(0, move |batch| change::end(batch, &name, end, &message))
            .await
    }

    /// Deletes a loop with its rules. It must not run, and its history must be deleted before.
    pub async fn delete_loop(&self, name: &str, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let name = name.to_owned();
        let bytes = granted_rules::check(&rules)?;
        self.write(bytes, move |batch| {
            // The loop goes first: if it still runs, its rules stay.
            remove::delete(batch, &name)?;
            granted_rules::apply(batch, &rules)
        })
        .await
    }

    /// Deletes a few of the oldest iterations with their sessions, while there are more than
    /// `keep`; returns whether there are still more.
    pub async fn delete_iterations(&self, name: &str, keep: u32) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| remove::delete_oldest(batch, &name, keep))
            .await
    }

    /// Records that an iteration begins.
    pub async fn begin_iteration(&self, name: &str, number: u32) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| iterations::begin(batch, &name, number))
            .await
    }

    /// Records which working memory an iteration is about to be shown; returns both memories.
    pub async fn show_memories(
        &self,
        name: &str,
        number: u32,
    ) -> Result<(LoopMemory, LoopMemory), StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| {
            iterations::show_memories(batch, &name, number)
        })
        .await
    }

    /// Records the run of an iteration, and logs its prompt.
    pub async fn prompt_iteration(&self, prompted: IterationPrompt) -> Result<(), StoreError> {
        self.write(0, move |batch| iterations::set_run(batch, &prompted))
            .await
    }

    /// Records the end of an iteration, and of the loop if it ended too.
    pub async fn end_iteration(&self, ended: FinishedIteration) -> Result<(), StoreError> {
        self.write(0, move |batch| iterations::end(batch, &ended))
            .await
    }

    /// Changes a memory; returns its new revision.
    pub async fn update_memory(&self, remember: MemoryUpdate) -> Result<LoopMemory, StoreError> {
        if let Some(text) = &remember.text {
            check_text(text)?;
        }
        remember
            .key
            .as_deref()
            .map_or(Ok(()), validate::idempotency_key)?;
        let bytes = remember.text.as_ref().map_or(0, String::len);
        self.write(bytes, move |batch| memory::update(batch, &remember))
            .await
    }

    /// Returns a memory and earlier revisions of it, the newest first.
    pub async fn memories(
        &self,
        name: &str,
        kind: MemoryKind,
        earlier: u32,
    ) -> Result<LoopPersistentResult, StoreError> {
        let name = name.to_owned();
        let earlier = earlier.min(EARLIER_MAX);
        self.read(move |sql| memory::read(sql, &name, kind, earlier))
            .await
    }

    /// Returns a loop as it is stored, without its present activity.
    pub async fn get_loop(&self, name: &str) -> Result<Loop, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::get(sql, &name)).await
    }

    /// Returns the row of a loop, for its owner; none when there is no such loop.
    pub async fn loop_row(&self, name: &str) -> Result<Option<LoopRow>, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| {
            let mut found = row::find(sql, &name)?;
            if let Some(found) = &mut found {
                found.config.grants = row::grants(sql, &name)?;
            }
            Ok(found)
        })
        .await
    }

    /// Returns every loop by name, without memories and answers.
    pub async fn list_loops(&self) -> Result<Vec<Loop>, StoreError> {
        self.read(read::list).await
    }

    /// Returns the names of the loops that shall run.
    pub async fn running_loops(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::running).await
    }

    /// Returns the point at which a loop that shall run is resumed.
    pub async fn loop_resume_point(&self, name: &str) -> Result<LoopResumePoint, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::resume_point(sql, &name)).await
    }

    /// Returns the answer of the last successful iteration; empty when there is none.
    pub async fn last_response(&self, name: &str) -> Result<String, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| {
            let found = row::find_existing(sql, &name)?;
            Ok(read::last_response(sql, found.row_id)?.unwrap_or_default())
        })
        .await
    }

    /// Returns iterations, the newest first.
    pub async fn loop_history(
        &self,
        params: LoopHistoryParams,
    ) -> Result<LoopHistoryResult, StoreError> {
        let rows = validate::page_rows(params.limit, HISTORY_ROWS)?;
        self.read(move |sql| read::history(sql, &params.name, params.before, rows))
            .await
    }

    /// Returns the latest run of this session key, if there is one.
    pub async fn run_of_session(&self, key: &str) -> Result<Option<RunId>, StoreError> {
        let session = validate::session_ref(key)?;
        let found = self.latest_run(&session).await;
        match found {
            Ok(run) => Ok(run.map(|run| run.id)),
            // The session of an iteration is created with its run, so it may not exist yet.
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Encodes the settings without the grants, which the rules hold.
fn config_json(config: &LoopConfig) -> Result<String, StoreError> {
    if config.grants.is_empty() {
        return to_json(config);
    }
    let mut kept = config.clone();
    kept.grants.clear();
    to_json(&kept)
}

fn check_text(text: &str) -> Result<(), StoreError> {
    if text.len() > LOOP_TEXT_BYTES_MAX {
        return Err(StoreError::Invalid(format!(
            "A memory has at most {LOOP_TEXT_BYTES_MAX} bytes, not {}.",
            text.len()
        )));
    }
    Ok(())
}
