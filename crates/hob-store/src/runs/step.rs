//! A step of a run: journal, messages, ledger, row and events in one transaction.
//!
//! Everything that can refuse it is looked at before anything is written.

use super::accept::SOURCE;
use super::journal;
use super::ledger::{self, Payer};
use super::payload;
use super::planning::{PlannedEvent, StepPlan};
use super::row::{self, RunHead, Update};
use crate::batch::Batch;
use crate::error::{StoreError, Trouble};
use crate::events::{Kept, Place};
use crate::sessions::row::Head;
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
pub(crate) struct Added {
    pub(crate) id: MessageId,
    pub(crate) seq: u64,
    pub(crate) at: u64,
    row_id: i64,
}

pub(crate) fn write(batch: &mut Batch<'_>, plan: &StepPlan) -> Result<Vec<Added>, Trouble> {
    let run = row::head(batch.sql, plan.run)?.ok_or_else(|| row::missing(plan.run))?;
    let session = SessionRef::Id(run.session);
    let head = batch.heads.find(batch.sql, &session)?;
    let head = head.ok_or_else(|| row::missing(plan.run))?;
    check(plan, &run)?;
    check_alone(batch, plan, &run, &head)?;
    for message in &plan.messages {
        write::refuse_repeat(batch, head.row_id, message)?;
    }
    let payer = Payer {
        run: Some(plan.run),
        session: Some(run.payer.unwrap_or(head.row_id)),
    };
    let booking = ledger::plan(batch, payer, &plan.ledger, plan.reserve.as_ref())?;

    journal::append(batch, run.row_id, run.journal_len, &plan.journal)?;
    let mut added = Vec::with_capacity(plan.messages.len());
    for message in &plan.messages {
        let head = batch.heads.find(batch.sql, &session)?;
        let head = head.ok_or_else(|| row::missing(plan.run))?;
        let (sent, row_id) = write::append(batch, head, message)?;
        added.push(Added {
            id: sent.message_id,
            seq: sent.seq,
            at: batch.now_ms,
            row_id,
        });
    }
    booking.apply(batch, payer)?;
    for key in &plan.steer_keys {
        batch
            .sql
            .prepare_cached(KEEP_STEER_KEY)?
            .execute((head.row_id, key, run.row_id))?;
    }
    let first = added.first().map(|added| added.seq);
    let last = added.last().map(|added| added.seq);
    row::update(
        batch.sql,
        &Update {
            row_id: run.row_id,
            journal_len: run.journal_len + plan.journal.len() as u64,
            first_message: run.first_message.or(first),
            last_message: last.or(run.last_message),
            summary: &plan.summary,
            notes: &plan.notes,
        },
    )?;
    for event in &plan.events {
        log(batch, plan, &run, (&head, event), &added)?;
    }
    failpoint::reach("run.step.written");
    Ok(added)
}

fn log(
    batch: &mut Batch<'_>,
    plan: &StepPlan,
    run: &RunHead,
    (session, event): (&Head, &PlannedEvent),
    added: &[Added],
) -> rusqlite::Result<()> {
    let in_row = *event.topic == *payload::COMPLETED
        && payload::completed(&session.face, plan.run, &plan.summary)
            .is_some_and(|rebuilt| rebuilt == event.payload);
    let message = event
        .shared
        .and_then(|(number, bytes)| Some((added.get(number)?.row_id, bytes)));
    let kept = match message {
        _ if in_row => Kept::Nothing,
        Some((message, bytes)) => Kept::Beginning { bytes, message },
        None => Kept::All,
    };
    let place = Place::Run {
        session: session.row_id,
        run: run.row_id,
        kept,
    };
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: Arc::clone(&event.topic),
        session: Some(session.face.tag.clone()),
        payload: Some(event.payload.clone()),
    };
    batch.log(event, place).map(drop)
}

/// Whether this write is the next one of its run.
fn check(plan: &StepPlan, run: &RunHead) -> Result<(), StoreError> {
    let id = plan.run;
    if !may_become(run.state, plan.summary.state) {
        let why = match run.state {
            RunState::Done => "has ended, so nothing more can happen in it",
            _ => "has begun, so it cannot wait for its turn again",
        };
        return Err(StoreError::Conflict(format!("Run {id} {why}.")));
    }
    if plan.at_index != run.journal_len {
        return Err(StoreError::Conflict(format!(
            "The journal of run {id} has {} entries, and this write expects {}: something else wrote to it meanwhile. Read it again.",
            run.journal_len, plan.at_index
        )));
    }
    Ok(())
}

/// Whether a run may go from one state to the other. Pure.
fn may_become(from: RunState, to: RunState) -> bool {
    match (from, to) {
        (RunState::Done, _) => false,
        (RunState::Queued, _) => true,
        (_, to) => to != RunState::Queued,
    }
}

/// A run begins only when no other one of its session is under way.
fn check_alone(
    batch: &Batch<'_>,
    plan: &StepPlan,
    run: &RunHead,
    session: &Head,
) -> Result<(), Trouble> {
    let under_way = |state| !matches!(state, RunState::Queued | RunState::Done);
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

pub(crate) const UNDER_WAY: &str = "SELECT id FROM runs INDEXED BY runs_live WHERE session = ?1
    AND state <> 'done' AND state <> 'queued' LIMIT 1";

const KEEP_STEER_KEY: &str =
    "INSERT OR IGNORE INTO steered_words (session, key, run) VALUES (?1, ?2, ?3)";
