//! The store's methods about runs and money.

use super::journal::{self, StoredValue};
use super::ledger::{self, CallPayer};
use super::planning::{AcceptPlan, StepPlan};
use super::read::{self, RunFilter};
use super::types::{
    AcceptedRun, LedgerCall, LedgerEntry, LedgerSummary, NewRun, RunPage, RunRow, RunStats,
    StepWrite, WrittenStep,
};
use super::{accept, children, costs, damaged_run, planning, row, step};
use crate::blobs::{BlobHash, BlobPin, BlobSweep};
use crate::error::StoreError;
use crate::sessions::row as session_row;
use crate::store::Store;
use crate::validate;
use hob_kit::failpoint;
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_ROWS_DEFAULT;
use hob_wire::rooms::agent::{AgentListParams, Cost};
use hob_wire::rooms::cost::CostSummaryParams;
use hob_wire::{DamagedRow, Message, RunId};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Unfinished runs read at once.
const UNFINISHED_ROWS: usize = 256;
/// Values in rows that are decoded on the spot. More of them, or files, go to another thread.
const LOADED_AT_ONCE: usize = 4;
/// The days of a summary that names none.
const DAYS_DEFAULT: u32 = 30;

impl Store {
    /// Accepts a run: the answer means that it is on disk, queued. A repeat with the same id or
    /// idempotency key returns the run it made. A conflict for mode `reject` while the session has
    /// a run, and when a key is used for something else. Overloaded when the queue is full.
    pub async fn accept_run(&self, run: NewRun) -> Result<AcceptedRun, StoreError> {
        // Before blobs are written, which a refused command would leave behind.
        self.check_health()?;
        let plan = AcceptPlan::new(run, &self.shared().blobs).await?;
        let pinned = hashes(&plan.pins);
        failpoint::reach("run.accept.before");
        let done = self
            .write(plan.bytes, move |batch| accept::accept(batch, &plan))
            .await;
        failpoint::reach("run.accept.after");
        // A repeat writes no row, so the blobs of its parameters may have no reference.
        let repeat = |accepted: &AcceptedRun| accepted.duplicate;
        self.sweep_unless(done.as_ref().is_ok_and(|done| !repeat(done)), pinned);
        done
    }

    /// Writes everything of a step of a run, or nothing.
    pub async fn write_step(&self, write: StepWrite) -> Result<WrittenStep, StoreError> {
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
        Ok(WrittenStep {
            messages: messages.collect(),
        })
    }

    /// Reserves or settles model calls without a run. Reservations that a crash leaves become
    /// unknown at the next start.
    pub async fn add_ledger(&self, entry: LedgerEntry) -> Result<(), StoreError> {
        planning::check_calls(&entry.writes, entry.reserve.as_ref())?;
        let session = entry.session.as_deref().map(validate::session_ref);
        let session = session.transpose()?;
        self.write(0, move |batch| {
            let head = match &session {
                None => None,
                Some(session) => {
                    // In the command, not before it: the session may be deleted in between.
                    let head = batch.heads.find(batch.sql, session)?;
                    Some(head.ok_or_else(|| session_row::missing(session))?)
                }
            };
            let payer = CallPayer {
                run: None,
                session: head.map(|head| head.row_id),
            };
            let changes = ledger::plan(batch, payer, &entry.writes, entry.reserve.as_ref())?;
            Ok(changes.apply(batch, payer)?)
        })
        .await
    }

    /// True if this idempotency key was used in the session: for a run, or to steer one.
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

    /// Returns the parameters a run was accepted with.
    pub async fn run_params(&self, run: &RunId) -> Result<Value, StoreError> {
        let run = *run;
        let params = self
            .read(move |sql| Ok(read::params(sql, run)?.ok_or_else(|| row::missing(run))?))
            .await?;
        let mut values = self.load(vec![params]).await?;
        Ok(values.pop().unwrap_or_default())
    }

    /// Returns the whole journal of a run, in order.
    pub async fn journal(&self, run: &RunId) -> Result<Vec<Value>, StoreError> {
        let mut entries = Vec::new();
        let mut from = Some(0);
        while let Some(place) = from {
            let (page, next) = self.stored_journal_page(*run, place).await?;
            entries.extend(page);
            from = next;
        }
        self.load(entries).await
    }

    /// Returns entries of a run's journal from `from` on, and the next place if there are more.
    pub async fn journal_page(
        &self,
        run: &RunId,
        from: u64,
    ) -> Result<(Vec<Value>, Option<u64>), StoreError> {
        let (page, next) = self.stored_journal_page(*run, from).await?;
        Ok((self.load(page).await?, next))
    }

    async fn stored_journal_page(
        &self,
        run: RunId,
        from: u64,
    ) -> Result<(Vec<StoredValue>, Option<u64>), StoreError> {
        self.read(move |sql| {
            let head = row::head(sql, run)?.ok_or_else(|| row::missing(run))?;
            let (page, next) = journal::page(sql, head.row_id, from)?;
            let reached = from + page.len() as u64;
            // The row counts more entries: the end of the journal is lost.
            if next.is_none() && reached < head.journal_len {
                return Err(journal::missing(sql, head.row_id, reached)?);
            }
            Ok((page, next))
        })
        .await
    }

    /// Returns the model calls with these keys, as the ledger has them.
    pub async fn ledger_calls(
        &self,
        keys: Vec<String>,
    ) -> Result<BTreeMap<String, LedgerCall>, StoreError> {
        self.read(move |sql| Ok(ledger::calls(sql, keys)?)).await
    }

    /// Returns the active run of a session, or else its latest; none when it never had one.
    pub async fn latest_run(&self, session: &SessionRef) -> Result<Option<RunRow>, StoreError> {
        let session = session.clone();
        self.read(move |sql| read::latest(sql, &session)).await
    }

    /// Returns the oldest run of a session that has not ended: the active one, or the next in the
    /// queue.
    pub async fn next_run(&self, session: &SessionRef) -> Result<Option<RunRow>, StoreError> {
        let session = session.clone();
        self.read(move |sql| read::next(sql, &session)).await
    }

    /// Ends unfinished runs that are damaged. They cannot continue, and would block their sessions.
    /// Returns the damaged rows.
    pub async fn end_damaged_runs(&self) -> Result<Vec<DamagedRow>, StoreError> {
        let ended = self.write(0, damaged_run::end_all_damaged).await?;
        for row in &ended {
            self.shared().health.add_damaged_row(row);
        }
        Ok(ended)
    }

    /// Returns every run that has not ended, in the order of acceptance.
    pub async fn unfinished_runs(&self) -> Result<Vec<RunRow>, StoreError> {
        let rows = self.read(read::unfinished).await?;
        let mut runs = Vec::with_capacity(rows.len());
        // Chunks are separate reads; none holds its snapshot for long.
        for some in rows.chunks(UNFINISHED_ROWS) {
            let some = some.to_vec();
            let read = move |sql: &_| read::at_rows(sql, &some);
            runs.extend(self.read_with_damage(read).await?.rows);
        }
        Ok(runs)
    }

    /// Returns the runs that a run started, in the order of acceptance.
    pub async fn children(&self, run: &RunId) -> Result<Vec<RunRow>, StoreError> {
        let run = *run;
        self.read(move |sql| children::children(sql, run)).await
    }

    /// Sums the cost of all descendants of a run so far. Calls of unknown price count as nothing.
    pub async fn descendants_cost(&self, run: &RunId) -> Result<Cost, StoreError> {
        let run = *run;
        self.read(move |sql| children::descendants_cost(sql, run))
            .await
    }

    /// Returns runs, the newest first.
    pub async fn list_runs(&self, params: AgentListParams) -> Result<RunPage, StoreError> {
        let session = params.session_key.as_deref().map(validate::session_ref);
        let filter = RunFilter {
            session: session.transpose()?,
            state: params.state,
            rows_max: validate::page_rows(params.limit, PAGE_ROWS_DEFAULT)?,
            before: params.before,
        };
        let page = self.read(move |sql| read::list(sql, &filter)).await?;
        for row in &page.damaged {
            self.shared().health.add_damaged_row(row);
        }
        Ok(page)
    }

    pub async fn run_stats(&self) -> Result<RunStats, StoreError> {
        self.read(read::stats).await
    }

    /// Sums the ledger over the last days up to `now_ms`, for everything or for one session.
    pub async fn cost_summary(
        &self,
        params: CostSummaryParams,
        now_ms: u64,
    ) -> Result<LedgerSummary, StoreError> {
        let session = params.session_key.as_deref().map(validate::session_ref);
        let session = session.transpose()?;
        let days = params.days.unwrap_or(DAYS_DEFAULT);
        self.read(move |sql| costs::summary(sql, days, session.as_ref(), now_ms))
            .await
    }

    /// Refuses work before any file is written for it.
    fn check_health(&self) -> Result<(), StoreError> {
        self.shared().health.refusal().map_or(Ok(()), Err)
    }

    /// Loads stored values; files on a blocking thread.
    async fn load(&self, stored: Vec<StoredValue>) -> Result<Vec<Value>, StoreError> {
        let blobs = Arc::clone(&self.shared().blobs);
        let in_rows = |value: &StoredValue| matches!(value, StoredValue::Row(_));
        if stored.len() <= LOADED_AT_ONCE && stored.iter().all(in_rows) {
            return stored.iter().map(|value| value.load(&blobs)).collect();
        }
        let loaded = tokio::task::spawn_blocking(move || {
            stored.iter().map(|value| value.load(&blobs)).collect()
        });
        let failed = |error| Err(StoreError::Internal(format!("a read failed: {error}")));
        loaded.await.unwrap_or_else(failed)
    }

    /// Has blobs checked that a write made without referencing them. When too many jobs wait, the
    /// next start finds them.
    pub(crate) fn sweep_unless(&self, named: bool, hashes: Vec<BlobHash>) {
        if !named && !hashes.is_empty() {
            let sweep = BlobSweep::these(Arc::clone(&self.shared().blobs), hashes);
            self.shared().queue.submit_bulk(Box::new(sweep));
        }
    }
}

fn hashes(pins: &[BlobPin]) -> Vec<BlobHash> {
    pins.iter().map(|pin| pin.hash).collect()
}
