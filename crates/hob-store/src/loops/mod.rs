//! Loops, their iterations and their memories.
//!
//! - [`words`]: what callers say and are told
//! - `row`: a loop's row and how it is read
//! - `change`: making, changing, starting, ending and deleting loops
//! - `rounds`: the life of an iteration
//! - `memory`: memories and their revisions
//! - `read`: lists and histories; prompt and answer come from the runs
//! - `payload`: events, and those that are rebuilt from runs
//!
//! Invariants: an iteration's number is given once; every change, the loop's rules and its events
//! are one transaction, and the rules alone say what a loop was granted; the working memory is cleared only if it is still what the iteration was shown;
//! nothing of a prompt or an answer is stored a second time.

mod change;
mod memory;
pub(crate) mod payload;
mod read;
mod remove;
mod rounds;
mod row;
mod words;

pub use words::{
    Ended, Kind, LoopRow, Mode, NewLoop, Prompted, Remember, Started, Under, WhichStart,
};

use crate::error::StoreError;
use crate::judgements::{RuleChange, granted};
use crate::rules;
use crate::store::{Store, to_json};
use hob_wire::RunId;
use hob_wire::rooms::loops::{
    HistoryParams, Iterations, LOOP_TEXT_BYTES_MAX, Loop, LoopConfig, LoopEnd, Memories, Memory,
};

/// Iterations of a page that names none.
const HISTORY_ROWS: u32 = 50;
/// Earlier revisions shown at once.
const EARLIER_MAX: u32 = 100;

impl Store {
    /// Makes a loop with its rules; one that is there already is a conflict.
    pub async fn create_loop(&self, new: NewLoop) -> Result<(), StoreError> {
        let config = config_json(&new.config)?;
        let rules = granted::check(&new.rules)?;
        check_text(&new.persistent)?;
        check_text(&new.working)?;
        let bytes = rules + config.len() + new.persistent.len() + new.working.len();
        self.write(bytes, move |batch| change::create(batch, &new, &config))
            .await
    }

    /// Changes the settings of a loop, and its rules.
    pub async fn update_loop(
        &self,
        name: &str,
        config: LoopConfig,
        rules: Vec<RuleChange>,
    ) -> Result<(), StoreError> {
        let (name, json) = (name.to_owned(), config_json(&config)?);
        let bytes = json.len() + granted::check(&rules)?;
        self.write(bytes, move |batch| {
            granted::apply(batch, &rules)?;
            change::update(batch, &name, &config, &json)
        })
        .await
    }

    /// Notes that a loop is to run; a conflict when it does. A single iteration that this key
    /// asked for before is not asked for again.
    pub async fn start_loop(&self, name: &str, which: WhichStart) -> Result<Started, StoreError> {
        if let WhichStart::Once { key: Some(key) } = &which {
            rules::idempotency_key(key)?;
        }
        let name = name.to_owned();
        self.write(0, move |batch| change::start(batch, &name, &which))
            .await
    }

    /// Notes that a loop which slept has ended.
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

    /// Deletes a loop that does not run and whose history was dropped, with its rules.
    pub async fn delete_loop(&self, name: &str, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let name = name.to_owned();
        let bytes = granted::check(&rules)?;
        self.write(bytes, move |batch| {
            remove::delete(batch, &name)?;
            granted::apply(batch, &rules)
        })
        .await
    }

    /// Drops a few of the oldest iterations with their sessions, as long as more than `keep` are
    /// there; says whether there are still more.
    pub async fn drop_iterations(&self, name: &str, keep: u32) -> Result<bool, StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| remove::oldest(batch, &name, keep))
            .await
    }

    /// Notes that an iteration begins.
    pub async fn begin_iteration(&self, name: &str, number: u32) -> Result<(), StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| rounds::begin(batch, &name, number))
            .await
    }

    /// Notes which working memory an iteration is about to be shown; answers both memories as they
    /// are then.
    pub async fn show_memories(
        &self,
        name: &str,
        number: u32,
    ) -> Result<(Memory, Memory), StoreError> {
        let name = name.to_owned();
        self.write(0, move |batch| rounds::show(batch, &name, number))
            .await
    }

    /// Notes the run of an iteration, and tells of its prompt.
    pub async fn prompt_iteration(&self, prompted: Prompted) -> Result<(), StoreError> {
        self.write(0, move |batch| rounds::prompted(batch, &prompted))
            .await
    }

    /// Notes how an iteration ended, and the loop with it if it did.
    pub async fn end_iteration(&self, ended: Ended) -> Result<(), StoreError> {
        self.write(0, move |batch| rounds::end(batch, &ended)).await
    }

    /// Sets a memory; answers its new revision.
    pub async fn remember(&self, remember: Remember) -> Result<Memory, StoreError> {
        if let Some(text) = &remember.text {
            check_text(text)?;
        }
        remember
            .key
            .as_deref()
            .map_or(Ok(()), rules::idempotency_key)?;
        let bytes = remember.text.as_ref().map_or(0, String::len);
        self.write(bytes, move |batch| memory::remember(batch, &remember))
            .await
    }

    /// A memory and some earlier revisions of it, the newest first.
    pub async fn memories(
        &self,
        name: &str,
        kind: Kind,
        earlier: u32,
    ) -> Result<Memories, StoreError> {
        let name = name.to_owned();
        let earlier = earlier.min(EARLIER_MAX);
        self.read(move |sql| memory::read(sql, &name, kind, earlier))
            .await
    }

    /// A loop as it is stored, without what it is doing this moment.
    pub async fn get_loop(&self, name: &str) -> Result<Loop, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::get(sql, &name)).await
    }

    /// The row of a loop, for who runs it; none when there is no such loop.
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

    /// Every loop by name, without memories and answers.
    pub async fn list_loops(&self) -> Result<Vec<Loop>, StoreError> {
        self.read(read::list).await
    }

    /// The names of the loops that are to run.
    pub async fn awake_loops(&self) -> Result<Vec<String>, StoreError> {
        self.read(read::awake).await
    }

    /// What was under way in a loop that is to run.
    pub async fn loop_under_way(&self, name: &str) -> Result<Under, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| read::under_way(sql, &name)).await
    }

    /// The answer of the last iteration that succeeded; empty when none did.
    pub async fn last_response(&self, name: &str) -> Result<String, StoreError> {
        let name = name.to_owned();
        self.read(move |sql| {
            let found = row::expect(sql, &name)?;
            Ok(read::last_response(sql, found.row_id)?.unwrap_or_default())
        })
        .await
    }

    /// Iterations, the newest first.
    pub async fn loop_history(&self, params: HistoryParams) -> Result<Iterations, StoreError> {
        let rows = rules::page_rows(params.limit, HISTORY_ROWS)?;
        self.read(move |sql| read::history(sql, &params.name, params.before, rows))
            .await
    }

    /// The run that works for this session key, if there is one.
    pub async fn run_of_session(&self, key: &str) -> Result<Option<RunId>, StoreError> {
        let session = rules::session_ref(key)?;
        let found = self.latest_run(&session).await;
        match found {
            Ok(run) => Ok(run.map(|run| run.id)),
            Err(StoreError::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The settings as they are kept: without what the loop was granted, which the rules say.
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
