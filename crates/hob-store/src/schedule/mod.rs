//! Jobs and their slots. A slot is one time at which a job is due.
//!
//! - `types`: the types of jobs and slots
//! - `jobs`: changes of jobs; `slots`: opening, beginning and ending slots; `read`: reads of both
//!
//! Invariants: a job and its rules change in one transaction, and only the rules say what it was
//! granted; a slot is unique by job and key, so that deciding twice makes one slot; the slots of a
//! decision, the cursor they move and their events are one transaction; so are a slot's outcome,
//! the failures it counts for and its event.

mod jobs;
mod read;
mod slots;
mod types;

pub use types::{JobRow, NewSlot, SlotEnd, SlotOpenResult, SlotOpening, SlotRow};

use crate::audit::{RuleChange, granted_rules};
use crate::checksums::damage::WithDamage;
use crate::error::StoreError;
use crate::store::Store;
use crate::validate;
use hob_wire::RunId;
use hob_wire::limits::{PAGE_ROWS_DEFAULT, PAGE_ROWS_MAX};
use hob_wire::rooms::cron::{CronChange, CronHistoryParams, CronHistoryResult, JobSlot};
use std::collections::BTreeMap;

/// Jobs or slots read at once when all are read.
const JOBS_A_READ: usize = 512;
/// Slots opened in one transaction.
pub const SLOTS_OPENED_MAX: usize = 1_024;

impl Store {
    /// Stores a new job with its rules; its name must be free.
    pub async fn add_job(&self, job: JobRow, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let bytes = jobs::check(&job, &rules)?;
        self.write(bytes, move |batch| jobs::insert(batch, &job, &rules))
            .await
    }

    /// Stores a changed job and its rules. With `resets` its cursor is the row's, and its failures
    /// are cleared.
    pub async fn update_job(
        &self,
        job: JobRow,
        rules: Vec<RuleChange>,
        change: CronChange,
        resets: bool,
    ) -> Result<(), StoreError> {
        let bytes = jobs::check(&job, &rules)?;
        let change = jobs::JobUpdate {
            kind: change,
            resets,
        };
        self.write(bytes, move |batch| {
            jobs::update(batch, &job, &rules, change)
        })
        .await
    }

    /// Removes a job with its slots and rules.
    pub async fn remove_job(&self, id: &str, rules: Vec<RuleChange>) -> Result<(), StoreError> {
        let job = id.to_owned();
        let bytes = granted_rules::check(&rules)?;
        let removed = self.write(bytes, move |batch| jobs::remove(batch, &job, &rules));
        removed.await?;
        // After the commit: a failed removal leaves the damaged job in the status.
        self.forget_damaged("jobs", id);
        Ok(())
    }

    /// Returns every job, by name; damaged ones apart.
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

    /// Opens slots and moves cursors, all or nothing; returns the slots in order. An existing slot
    /// is returned as it is.
    pub async fn open_slots(
        &self,
        openings: Vec<SlotOpening>,
    ) -> Result<Vec<SlotOpenResult>, StoreError> {
        let bytes = openings.iter().map(SlotOpening::bytes).sum();
        self.write(bytes, move |batch| {
            hob_kit::failpoint::reach("cron.slots.before");
            let opened = slots::open(batch, &openings)?;
            hob_kit::failpoint::reach("cron.slots.written");
            Ok(opened)
        })
        .await
    }

    /// Records that the work of a slot begins; counts the attempt.
    pub async fn begin_slot(&self, number: u64, run: Option<RunId>) -> Result<(), StoreError> {
        self.write(0, move |batch| slots::begin(batch, number, run))
            .await
    }

    /// Writes the outcome of a slot; an existing outcome stays.
    pub async fn end_slot(&self, end: SlotEnd) -> Result<(), StoreError> {
        let bytes = end.output.as_ref().map_or(0, String::len);
        self.write(bytes, move |batch| slots::end(batch, &end))
            .await
    }

    /// Returns slots without an outcome, the oldest first.
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

    /// Returns slots, the newest first.
    pub async fn slot_history(
        &self,
        job: Option<String>,
        params: CronHistoryParams,
    ) -> Result<CronHistoryResult, StoreError> {
        let rows = validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?;
        let filter = read::SlotFilter {
            job,
            state: params.state,
            before: params.before,
            rows: rows.min(PAGE_ROWS_MAX as usize),
        };
        self.read(move |sql| read::history(sql, &filter)).await
    }

    /// Returns the last finished slot of each of these jobs.
    pub async fn last_slots(
        &self,
        jobs: Vec<String>,
    ) -> Result<BTreeMap<String, JobSlot>, StoreError> {
        self.read(move |sql| read::last(sql, &jobs)).await
    }
}

#[cfg(test)]
#[path = "schedule_tests.rs"]
mod tests;
