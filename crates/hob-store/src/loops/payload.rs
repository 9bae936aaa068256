//! Events about loops. Those that carry a prompt or an answer are not stored: the run has both, and
//! its session's key has the loop's name and the number.

use super::row;
use super::words::{LoopRow, Mode};
use crate::batch::Batch;
use crate::error::Trouble;
use crate::events::{Kept, Place, SessionFace, encode};
use bytes::Bytes;
use hob_bus::NewEvent;
use hob_wire::rooms::agent::Cost;
use hob_wire::rooms::loops::{
    EVENTS, KIND, LoopConfig, LoopConfigured, LoopConfiguredPayload, LoopEnd, LoopPhase,
    LoopPrompt, LoopPromptPayload, LoopResponse, LoopResponsePayload, LoopStateChanged,
    LoopStatePayload, LoopStopped, LoopStoppedPayload, WorkOutcome,
};
use hob_wire::{RunId, Topic};
use std::sync::{Arc, LazyLock};

pub(crate) const PROMPT: &str = LoopPrompt::SPEC.topic;
pub(crate) const RESPONSE: &str = LoopResponse::SPEC.topic;

static SOURCE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());

/// The key of an iteration's session.
pub(crate) fn session_key(name: &str, number: u32) -> String {
    format!("{KIND}:{name}:{number}")
}

/// The loop and the number that a session's key names.
fn iteration_of(key: &str) -> Option<(&str, u32)> {
    let (kind, rest) = key.split_once(':')?;
    let (name, number) = rest.rsplit_once(':')?;
    (kind == KIND).then_some(())?;
    Some((name, number.parse().ok()?))
}

pub(crate) fn prompt(session: &SessionFace, run: RunId, task: &str) -> Option<Bytes> {
    let (name, iteration) = iteration_of(session.name())?;
    Some(encode(&LoopPromptPayload {
        name: name.to_owned(),
        iteration,
        run_id: run,
        prompt: task.to_owned(),
    }))
}

pub(crate) fn response(session: &SessionFace, run: RunId, text: &str) -> Option<Bytes> {
    let (name, iteration) = iteration_of(session.name())?;
    Some(encode(&LoopResponsePayload {
        name: name.to_owned(),
        iteration,
        run_id: run,
        response: text.to_owned(),
    }))
}

/// Logs an event that is rebuilt from a run.
pub(super) fn log_of_run<T: Topic>(
    batch: &mut Batch<'_>,
    session: (i64, &SessionFace),
    run: i64,
    payload: Bytes,
) -> rusqlite::Result<()> {
    let (row_id, face) = session;
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: T::SPEC.topic.into(),
        session: Some(face.tag.clone()),
        payload: Some(payload),
    };
    let place = Place::Run {
        session: row_id,
        run,
        kept: Kept::Nothing,
    };
    batch.log(event, place).map(drop)
}

pub(super) fn log_config(batch: &mut Batch<'_>, row: &LoopRow) -> Result<(), Trouble> {
    let config = LoopConfig {
        grants: row::grants(batch.sql, &row.name)?,
        ..row.config.clone()
    };
    Ok(batch.tell::<LoopConfigured>(&LoopConfiguredPayload {
        name: row.name.clone(),
        config,
        persistent: row.persistent,
        working: row.working,
    })?)
}

/// Logs what a loop is doing now, and how the iteration went that just ended.
pub(super) fn log_state(
    batch: &mut Batch<'_>,
    row: &LoopRow,
    phase: LoopPhase,
    cost: Cost,
    ended: Option<(WorkOutcome, Option<&str>)>,
) -> rusqlite::Result<()> {
    let message = ended.and_then(|(_, message)| message);
    batch.tell::<LoopStateChanged>(&LoopStatePayload {
        name: row.name.clone(),
        running: row.mode != Mode::Idle,
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
    batch: &mut Batch<'_>,
    row: &LoopRow,
    end: LoopEnd,
    message: &str,
) -> rusqlite::Result<()> {
    batch.tell::<LoopStopped>(&LoopStoppedPayload {
        name: row.name.clone(),
        iteration: row.iteration,
        end,
        message: message.to_owned(),
    })
}
