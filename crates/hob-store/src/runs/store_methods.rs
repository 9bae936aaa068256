//! The store's methods about runs and money.

use super::journal::{self, Stored};
use super::ledger::{self, Payer};
use super::planning::{AcceptPlan, StepPlan};
use super::read::{self, Filter};
use super::words::{
    Accepted, Costs, LedgerEntry, NewRun, RunPage, RunRow, RunStats, StepWrite, Written,
};
use super::{accept, costs, damaged_run, family, planning, row, step};
use crate::blobs::{BlobSweep, Hash, Pin};
use crate::error::StoreError;
use crate::rules;
use crate::sessions::row as session_row;
use crate::store::Store;
use hob_kit::failpoint;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_ROWS_DEFAULT;
use hob_wire::rooms::agent::{Cost, ListParams};
use hob_wire::rooms::cost::SummaryParams;
use hob_wire::{DamagedRow, Message, RunId};
use serde_json::Value;
use std::sync::Arc;

/// Unfinished runs read at once.
const UNFINISHED_ROWS: usize = 256;
/// Values in rows that are decoded on the spot; more of them, or files, go to another thread.
const LOADED_AT_ONCE: usize = 4;
/// Days of a summary that names none.
const DAYS_DEFAULT: u32 = 30;

impl Store {
    /// Accepts a run: the answer means that it is on disk, queued. A repeat with the same id or
    /// idempotency key answers the run it made. A conflict for mode `reject` while the session
    /// has a run, and when a key is used for something else; overloaded when its queue is full.
    pub async fn accept_run(&self, run: NewRun) -> Result<Accepted, StoreError> {
        self.check_health()?;
        let plan = AcceptPlan::new(run, &self.shared().blobs).await?;
        let pinned = hashes(&plan.pins);
        failpoint::reach("run.accept.before");
        let done = self
            .write(plan.bytes, move |batch| accept::accept(batch, &plan))
            .await;
        failpoint::reach("run.accept.after");
        let repeat = |accepted: &Accepted| accepted.duplicate;
        self.sweep_unless(done.as_ref().is_ok_and(|done| !repeat(done)), pinned);
        done
    }

    /// Writes everything that becomes true together at a step of a run, or nothing of it.
    pub async fn write_step(&self, write: StepWrite) -> Result<Written, StoreError> {
        self.check_health()?;
        let roles: Vec<_> = write.messages.iter().map(|message| message.role).collect();
        let (plan, contents) = StepPlan::new(write, &self.shared().blobs).await?;
        let pinned = hashes(&plan.pins);
        failpoint::reach("run.step.before");
        let done = self
            .write(plan.bytes, move |batch| step::write(batch, &plan))
            .await;
        failpoint::reach("run.step.after");
        self.sweep_unless(done.is_ok(), pinned);
        let messages = done?.into_iter().zip(contents).zip(roles);
        let messages = messages.map(|((added, content), role)| Message {
            id: added.id,
            seq: added.seq,
            role,
            content,
            at: added.at,
        });
        Ok(Written {
            messages: messages.collect(),
        })
    }

    /// Reserves or settles model calls that belong to no run. What a crash leaves reserved is
    /// marked unknown at the next start.
    pub async fn add_ledger(&self, entry: LedgerEntry) -> Result<(), StoreError> {
        planning::check_calls(&entry.writes, entry.reserve.as_ref())?;
        let session = entry.session.as_deref().map(rules::session_ref);
        let session = session.transpose()?;
        self.write(0, move |batch| {
            let head = match &session {
                None => None,
                Some(session) => {
                    let head = batch.heads.find(batch.sql, session)?;
                    Some(head.ok_or_else(|| session_row::missing(session))?)
                }
            };
            let payer = Payer {
                run: None,
                session: head.map(|head| head.row_id),
            };
            let booking = ledger::plan(batch, payer, &entry.writes, entry.reserve.as_ref())?;
            Ok(booking.apply(batch, payer)?)
        })
        .await
    }

    /// Whether this idempotency key was used in the session: for a run, or for words that a run
    /// under way took.
    pub async fn knows_run_key(&self, session: &SessionRef, key: &str) -> Result<bool, StoreError> {
        let (session, key) = (session.clone(), key.to_owned());
        self.read(move |sql| accept::knows_key(sql, &session, &key))
            .await
    }

    pub async fn run(&self, run: &RunId) -> Result<RunRow, StoreError> {
        let run = *run;
        self.read(move |sql| Ok(row::find(sql, run)?.ok_or_else(|| row::missing(run))?))
            .await
    }

    /// The parameters a run was accepted with.
    pub async fn run_params(&self, run: &RunId) -> Result<Value, StoreError> {
        let run = *run;
        let params = self
            .read(move |sql| Ok(read::params(sql, run)?.ok_or_else(|| row::missing(run))?))
            .await?;
        let mut values = self.load(vec![params]).await?;
        Ok(values.pop().unwrap_or_default())
    }

    /// The journal of a run, whole and in order.
    pub async fn journal(&self, run: &RunId) -> Result<Vec<Value>, StoreError> {
        let run = *run;
        let mut entries = Vec::new();
        let mut from = Some(0);
        while let Some(place) = from {
            let (page, next) = self
                .read(move |sql| {
                    let head = row::head(sql, run)?.ok_or_else(|| row::missing(run))?;
                    let (page, next) = journal::page(sql, head.row_id, place)?;
                    let reached = place + page.len() as u64;
                    if next.is_none() && reached < head.journal_len {
                        return Err(journal::missing(sql, head.row_id, reached)?);
                    }
                    Ok((page, next))
                })
                .await?;
            entries.extend(page);
            from = next;
        }
        self.load(entries).await
    }

    /// The run under way in a session, or else its latest; none when it never had one.
    pub async fn latest_run(&self, session: &SessionRef) -> Result<Option<RunRow>, StoreError> {
        let session = session.clone();
        self.read(move |sql| read::latest(sql, &session)).await
    }

    /// The first run of a session that has not ended: the one under way, or else the next.
    pub async fn next_run(&self, session: &SessionRef) -> Result<Option<RunRow>, StoreError> {
        let session = session.clone();
        self.read(move |sql| read::next(sql, &session)).await
    }

    /// Ends the damaged ones among the runs that have not ended: they cannot go on, and would keep
    /// their sessions from going on. Answers what was found.
    pub async fn end_damaged_runs(&self) -> Result<Vec<DamagedRow>, StoreError> {
        let ended = self.write(0, damaged_run::end_all).await?;
        for row in &ended {
            self.shared().health.found_damaged(row);
        }
        Ok(ended)
    }

    /// Every run that has not ended, in the order they were accepted.
    pub async fn unfinished_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let rows = self.read(read::unfinished).await?;
        let mut runs = Vec::with_capacity(rows.len());
        for some in rows.chunks(UNFINISHED_ROWS) {
            let some = some.to_vec();
            let read = move |sql: &_| read::at_rows(sql, &some);
            runs.extend(self.read_with_damage(read).await?.rows);
        }
        Ok(runs)
    }

    /// The runs that a run started, in the order they were accepted.
    pub async fn children(&self, run: &RunId) -> Result<Vec<RunRow>, StoreError> {
        let run = *run;
        self.read(move |sql| family::children(sql, run)).await
    }

    /// What all runs below this one have cost so far. Calls of unknown price count as nothing.
    pub async fn family_cost(&self, run: &RunId) -> Result<Cost, StoreError> {
        let run = *run;
        self.read(move |sql| family::cost(sql, run)).await
    }

    /// Runs, the newest first.
    pub async fn list_runs(&self, params: ListParams) -> Result<RunPage, StoreError> {
        let session = params.session_key.as_deref().map(rules::session_ref);
        let filter = Filter {
            session: session.transpose()?,
            state: params.state,
            rows_max: rules::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
            before: params.before,
        };
        let page = self.read(move |sql| read::list(sql, &filter)).await?;
        for row in &page.damaged {
            self.shared().health.found_damaged(row);
        }
        Ok(page)
    }

    pub async fn run_stats(&self) -> Result<RunStats, StoreError> {
        self.read(read::stats).await
    }

    /// Sums of the ledger over the last days up to `now_ms`, of everything or of one session.
    pub async fn cost_summary(
        &self,
        params: SummaryParams,
        now_ms: u64,
    ) -> Result<Costs, StoreError> {
        let session = params.session_key.as_deref().map(rules::session_ref);
        let session = session.transpose()?;
        let days = params.days.unwrap_or(DAYS_DEFAULT);
        self.read(move |sql| costs::summary(sql, days, session.as_ref(), now_ms))
            .await
    }

    /// Refuses work before any file is written for it.
    fn check_health(&self) -> Result<(), StoreError> {
        self.shared().health.refusal().map_or(Ok(()), Err)
    }

    /// Reads stored values; files off the runtime's threads.
    async fn load(&self, stored: Vec<Stored>) -> Result<Vec<Value>, StoreError> {
        let blobs = Arc::clone(&self.shared().blobs);
        let in_rows = |value: &Stored| matches!(value, Stored::Row(_));
        if stored.len() <= LOADED_AT_ONCE && stored.iter().all(in_rows) {
            return stored.iter().map(|value| value.load(&blobs)).collect();
        }
        let loaded = tokio::task::spawn_blocking(move || {
            stored.iter().map(|value| value.load(&blobs)).collect()
        });
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        loaded.await.unwrap_or_else(failed)
    }

    /// Has blobs looked at that a write made and did not come to name. When too many jobs wait,
    /// the next start finds them.
    pub(crate) fn sweep_unless(&self, named: bool, hashes: Vec<Hash>) {
        if !named && !hashes.is_empty() {
            let sweep = BlobSweep::these(Arc::clone(&self.shared().blobs), hashes);
            self.shared().lanes.submit_bulk(Box::new(sweep));
        }
    }
}

fn hashes(pins: &[Pin]) -> Vec<Hash> {
    pins.iter().map(|pin| pin.hash).collect()
}
