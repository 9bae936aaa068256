//! Jobs and their slots.
//!
//! - `words`: what callers say and are told
//! - `jobs`: the jobs; `slots`: opening, beginning and ending slots; `read`: looking at both
//!
//! Invariants: a job and its rules change in one transaction, and the rules alone say what it was
//! granted; a slot is unique by its job and key, so that deciding twice makes one; the slots of
//! a decision, the cursor they move and the events that tell of them are one transaction; so are a
//! slot's outcome, the failures it counts for and its event.

mod jobs;
mod read;
mod slots;
mod words;

pub use words::{JobRow, NewSlot, Opened, Opening, SlotEnd, SlotRow};

use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::judgements::{RuleChange, granted};
use crate::rules;
use crate::store::Store;
use hob_wire::RunId;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::cron::{CronChange, HistoryParams, Slot, Slots};
use std::collections::BTreeMap;

/// Jobs read at once when all are.
const JOBS_A_READ: usize = 512;
/// Slots opened in one transaction.
pub const SLOTS_OPENED_MAX: usize = 1_024;

impl Store {
    /// Keeps a new job with its rules; its name must be free.
    pub async fn add_job(&self, job: JobRow, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let bytes = jobs::check(&job, &rules)?;
        self.write(bytes, move |batch| jobs::insert(batch, &job, &rules))
            .await
    }

    /// Keeps what a person says of a job now, and changes its rules. With `anew` its cursor is the
    /// row's, and its failures are forgotten.
    pub async fn update_job(
        &self,
        job: JobRow,
        rules: Vec<RuleChange>,
        change: CronChange,
        anew: bool,
    ) -> Result<(), StoreError> {
        let bytes = jobs::check(&job, &rules)?;
        let change = jobs::Change { told: change, anew };
        self.write(bytes, move |batch| {
            jobs::update(batch, &job, &rules, change)
        })
        .await
    }

    /// Removes a job with its slots and its rules.
    pub async fn remove_job(&self, id: &str, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let job = id.to_owned();
        let bytes = granted::check(&rules)?;
        let removed = self.write(bytes, move |batch| jobs::remove(batch, &job, &rules));
        removed.await?;
        self.forget_damaged("jobs", id);
        Ok(())
    }

    /// Every job, by name; damaged ones apart.
    pub async fn all_jobs(&self) -> Result<WithDamage<Vec<JobRow>>, StoreError> {
        let mut all = WithDamage::<Vec<JobRow>>::default();
        let mut after = 0;
        loop {
            let read = self.read_with_damage(move |sql| read::jobs(sql, after, JOBS_A_READ));
            let page = read.await?;
            let (jobs, last) = page.rows;
            all.rows.extend(jobs);
            all.damaged.extend(page.damaged);
            match last {
                Some(last) => after = last,
                None => break,
            }
        }
        all.rows
            .sort_by(|one, other| one.terms.name.cmp(&other.terms.name));
        Ok(all)
    }

    /// Opens slots and moves cursors, all of it or nothing; answers the slots in order. One that
    /// was there already is answered as it is.
    pub async fn open_slots(&self, openings: Vec<Opening>) -> Result<Vec<Opened>, StoreError> {
        let bytes = openings.iter().map(Opening::bytes).sum();
        self.write(bytes, move |batch| {
            hob_kit::failpoint::reach("cron.slots.before");
            let opened = slots::open(batch, &openings)?;
            hob_kit::failpoint::reach("cron.slots.written");
            Ok(opened)
        })
        .await
    }

    /// Remembers that the work of a slot is begun; counts the attempt.
    pub async fn begin_slot(&self, number: u64, run: Option<RunId>) -> Result<(), StoreError> {
        self.write(0, move |batch| slots::begin(batch, number, run))
            .await
    }

    /// Writes the outcome of a slot; one that has its outcome keeps it.
    pub async fn end_slot(&self, end: SlotEnd) -> Result<(), StoreError> {
        let bytes = end.output.as_ref().map_or(0, String::len);
        self.write(bytes, move |batch| slots::end(batch, &end))
            .await
    }

    /// Slots without an outcome, the oldest first.
    pub async fn live_slots(&self) -> Result<Vec<SlotRow>, StoreError> {
        let mut all: Vec<SlotRow> = Vec::new();
        loop {
            let after = all.last().map_or(0, |row| row.slot.number);
            let page = self
                .read(move |sql| read::live(sql, after, JOBS_A_READ))
                .await?;
            let is_last = page.len() < JOBS_A_READ;
            all.extend(page);
            if is_last {
                return Ok(all);
            }
        }
    }

    /// Slots, the newest first.
    pub async fn slot_history(
        &self,
        job: Option<String>,
        params: HistoryParams,
    ) -> Result<Slots, StoreError> {
        let rows = rules::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        let filter = read::Filter {
            job,
            state: params.state,
            before: params.before,
            rows: rows.min(PAGE_ROWS_MAX as usize),
        };
        self.read(move |sql| read::history(sql, &filter)).await
    }

    /// How the last slot of each of these jobs went that is over.
    pub async fn last_slots(
        &self,
        jobs: Vec<String>,
    ) -> Result<BTreeMap<String, Slot>, StoreError> {
        self.read(move |sql| read::last(sql, &jobs)).await
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
