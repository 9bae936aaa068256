//! A step of a run: journal, messages, ledger, row and events in one transaction.
//!
//! Everything that can refuse the step is checked before anything is written.

use super::accept::SOURCE;
use super::journal;
use super::ledger::{self, CallPayer};
use super::payload;
use super::planning::{PlannedEvent, StepPlan};
use super::row::{self, RunHead, RunUpdate};
use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::events::{PayloadSource, StoredPayload};
use crate::sessions::row::SessionHead;
use crate::sessions::write;
use crate::value::uuid;
use hob_bus::NewEvent;
use hob_kit::failpoint;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::RunState;
use hob_wire::{MessageId, RunId};
use rusqlite::OptionalExtension;
use std::sync::Arc;

/// A message that was added.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepMessage {
    pub(crate) id: MessageId,
    pub(crate) seq: u64,
    pub(crate) at: u64,
    row_id: i64,
}

pub(crate) fn write(
    batch: &mut WriteBatch<'_>,
    plan: &StepPlan,
) -> Result<Vec<StepMessage>, QueryError> {
    let run = row::head(batch.sql, plan.run)?.ok_or_else(|| row::missing(plan.run))?;
    let session = SessionRef::Id(run.session);
    let head = batch.heads.find(batch.sql, &session)?;
    let head = head.ok_or_else(|| row::missing(plan.run))?;
    check_next(plan, &run)?;
    check_alone(batch, plan, &run, &head)?;
    for message in &plan.messages {
        write::refuse_repeat(batch, head.row_id, message)?;
    }
    let payer = CallPayer {
        run: Some(plan.run),
        session: Some(run.payer.unwrap_or(head.row_id)),
    };
    let ledger_changes = ledger::plan(batch, payer, &plan.ledger, plan.reserve.as_ref())?;

    // Everything above only reads, so a refusal leaves nothing to undo.
    journal::append(batch, run.row_id, run.journal_len, &plan.journal)?;
    let mut added = Vec::with_capacity(plan.messages.len());
    for message in &plan.messages {
        // Looked up for each message, because adding one raises the session's count.
        let head = batch.heads.find(batch.sql, &session)?;
        let head = head.ok_or_else(|| row::missing(plan.run))?;
        let (sent, row_id) = write::append(batch, head, message, Some(run.row_id))?;
        added.push(StepMessage {
            id: sent.message_id,
            seq: sent.seq,
            at: batch.now_ms,
            row_id,
        });
    }
    ledger_changes.apply(batch, payer)?;
    for key in &plan.steer_keys {
        batch
            .sql
            .prepare_cached(INSERT_STEER_KEY)?
            .execute((head.row_id, key, run.row_id))?;
    }
    let first = added.first().map(|added| added.seq);
    let last = added.last().map(|added| added.seq);
    row::update(
        batch.sql,
        &RunUpdate {
            row_id: run.row_id,
            journal_len: run.journal_len + plan.journal.len() as u64,
            first_message: run.first_message.or(first),
            last_message: last.or(run.last_message),
            summary: &plan.summary,
            notes: &plan.notes,
        },
    )?;
    for event in &plan.events {
        log_step_event(batch, plan, &run, (&head, event), &added)?;
    }
    failpoint::reach("run.step.written");
    Ok(added)
}

fn log_step_event(
    batch: &mut WriteBatch<'_>,
    plan: &StepPlan,
    run: &RunHead,
    (session, event): (&SessionHead, &PlannedEvent),
    added: &[StepMessage],
) -> rusqlite::Result<()> {
    // Only if the row rebuilds exactly these bytes: replayed events must equal published ones.
    let in_row = *event.topic == *payload::COMPLETED
        && payload::completed(&session.identity, plan.run, &plan.summary)
            .is_some_and(|rebuilt| rebuilt == event.payload);
    let message = event
        .shared
        .and_then(|(number, bytes)| Some((added.get(number)?.row_id, bytes)));
    let kept = match message {
        _ if in_row => StoredPayload::Nothing,
        Some((message, bytes)) => StoredPayload::Prefix { bytes, message },
        None => StoredPayload::All,
    };
    let place = PayloadSource::Run {
        session: session.row_id,
        run: run.row_id,
        kept,
    };
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: Arc::clone(&event.topic),
        session: Some(session.identity.tag.clone()),
        payload: Some(event.payload.clone()),
    };
    batch.log_event(event, place).map(drop)
}

/// Checks that this write is the next one of its run.
fn check_next(plan: &StepPlan, run: &RunHead) -> Result<(), StoreError> {
    let id = plan.run;
    if !may_become(run.state, plan.summary.state) {
        let why = match run.state {
            RunState::Done => "has ended, so nothing more can happen in it",
            _ => "has begun, so it cannot wait for its turn again",
        };
        return Err(StoreError::Conflict(format!("Run {id} {why}.")));
    }
    // Two drivers of one run, or a retry of a committed step, would otherwise write an entry twice.
    if plan.at_index != run.journal_len {
        return Err(StoreError::Conflict(format!(
            "The journal of run {id} has {} entries, and this write expects {}: something else wrote to it meanwhile. Read it again.",
            run.journal_len, plan.at_index
        )));
    }
    Ok(())
}

/// True if a run may go from one state to the other. Pure.
fn may_become(from: RunState, to: RunState) -> bool {
    match (from, to) {
        (RunState::Done, _) => false,
        (RunState::Queued, _) => true,
        (_, to) => to != RunState::Queued,
    }
}

/// Checks that no other run of the session is active when this one begins.
fn check_alone(
    batch: &WriteBatch<'_>,
    plan: &StepPlan,
    run: &RunHead,
    session: &SessionHead,
) -> Result<(), QueryError> {
    let under_way = |state| !matches!(state, RunState::Queued | RunState::Done);
    // Only the step that begins a run can collide: a run under way passed this check before.
    if under_way(run.state) || !under_way(plan.summary.state) {
        return Ok(());
    }
    let other = batch
        .sql
        .prepare_cached(UNDER_WAY)?
        .query_row([session.row_id], |row| Ok(RunId(uuid(row, 0)?)))
        .optional()?;
    match other {
        None => Ok(()),
        Some(other) => Err(StoreError::Conflict(format!(
            "Run {} cannot begin: run {other} of the same session has not ended.",
            plan.run
        ))
        .into()),
    }
}

// The partial index holds only the few runs that have not ended.
pub(crate) const UNDER_WAY: &str = "SELECT id FROM runs INDEXED BY runs_live WHERE session = ?1
    AND state <> 'done' AND state <> 'queued' LIMIT 1";

const INSERT_STEER_KEY: &str =
    "INSERT OR IGNORE INTO steered_words (session, key, run) VALUES (?1, ?2, ?3)";
