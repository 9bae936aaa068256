//! Events about loops. Events with a prompt or an answer are not stored: the run has both, and its
//! session's key has the loop's name and the iteration's number.

use super::row;
use super::types::{LoopMode, LoopRow};
use crate::batch::WriteBatch;
use crate::error::QueryError;
use crate::events::{PayloadSource, SessionIdentity, StoredPayload, encode_payload};
use bytes::Bytes;
use hob_bus::NewEvent;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{
    EVENTS, KIND, LoopConfig, LoopConfigured, LoopConfiguredPayload, LoopEnd, LoopPhase,
    LoopPrompt, LoopPromptPayload, LoopResponse, LoopResponsePayload, LoopStateChanged,
    LoopStatePayload, LoopStopped, LoopStoppedPayload, WorkOutcome,
};
use hob_wire::{EventTopic, RunId};
use std::sync::{Arc, LazyLock};

pub(crate) const PROMPT: &str = LoopPrompt::SPEC.topic;
pub(crate) const RESPONSE: &str = LoopResponse::SPEC.topic;

static SOURCE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());

/// The key of an iteration's session.
pub(crate) fn session_key(name: &str, number: u32) -> String {
    format!("{KIND}:{name}:{number}")
}

/// Returns the loop and the iteration that a session's key names.
fn iteration_of(key: &str) -> Option<(&str, u32)> {
    let (kind, rest) = key.split_once(':')?;
    let (name, number) = rest.rsplit_once(':')?;
    (kind == KIND).then_some(())?;
    Some((name, number.parse().ok()?))
}

pub(crate) fn prompt(session: &SessionIdentity, run: RunId, task: &str) -> Option<Bytes> {
    let (name, iteration) = iteration_of(session.name())?;
    Some(encode_payload(&LoopPromptPayload {
        name: name.to_owned(),
        iteration,
        run_id: run,
        prompt: task.to_owned(),
    }))
}

pub(crate) fn response(session: &SessionIdentity, run: RunId, text: &str) -> Option<Bytes> {
    let (name, iteration) = iteration_of(session.name())?;
    Some(encode_payload(&LoopResponsePayload {
        name: name.to_owned(),
        iteration,
        run_id: run,
        response: text.to_owned(),
    }))
}

/// Logs an event that is rebuilt from a run.
pub(super) fn log_of_run<T: EventTopic>(
    batch: &mut WriteBatch<'_>,
    session: (i64, &SessionIdentity),
    run: i64,
    payload: Bytes,
) -> rusqlite::Result<()> {
    let (row_id, identity) = session;
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: T::SPEC.topic.into(),
        session: Some(identity.tag.clone()),
        payload: Some(payload),
    };
    let place = PayloadSource::Run {
        session: row_id,
        run,
        // Prompt and answer are in the run's row, which rebuilds the payload.
        kept: StoredPayload::Nothing,
    };
    batch.log_event(event, place).map(drop)
}

pub(super) fn log_config(batch: &mut WriteBatch<'_>, row: &LoopRow) -> Result<(), QueryError> {
    let config = LoopConfig {
        grants: row::grants(batch.sql, &row.name)?,
        ..row.config.clone()
    };
    Ok(batch.log_topic::<LoopConfigured>(&LoopConfiguredPayload {
        name: row.name.clone(),
        config,
        persistent: row.persistent,
        working: row.working,
    })?)
}

/// Logs the present state of a loop, and the outcome of the iteration that just ended.
pub(super) fn log_state(
    batch: &mut WriteBatch<'_>,
    row: &LoopRow,
    phase: LoopPhase,
    cost: Cost,
    ended: Option<(WorkOutcome, Option<&str>)>,
) -> rusqlite::Result<()> {
    let message = ended.and_then(|(_, message)| message);
    batch.log_topic::<LoopStateChanged>(&LoopStatePayload {
        name: row.name.clone(),
        running: row.mode != LoopMode::Idle,
        phase,
        iteration: row.iteration,
        next_at: row.next_at,
        errors: row.errors,
        outcome: ended.map(|(outcome, _)| outcome),
        message: message.map(str::to_owned),
        cost,
    })
}

pub(super) fn log_stopped(
    batch: &mut WriteBatch<'_>,
    row: &LoopRow,
    end: LoopEnd,
    message: &str,
) -> rusqlite::Result<()> {
    batch.log_topic::<LoopStopped>(&LoopStoppedPayload {
        name: row.name.clone(),
        iteration: row.iteration,
        end,
        message: message.to_owned(),
    })
}
