//! Accepting a run: it is stored, with its session if that is new, or refused.

use super::children::ChildRegistration;
use super::payload;
use super::planning::AcceptPlan;
use super::row;
use super::types::{AcceptedRun, RunRow, RunSummary};
use crate::batch::WriteBatch;
use crate::checksums::{RUN_TASKS, RUNS};
use crate::error::{QueryError, StoreError};
use crate::events::{PayloadSource, StoredPayload};
use crate::sessions::row::SessionHead;
use crate::sessions::write::{self, NewSession};
use crate::value::int;
use hob_bus::NewEvent;
use hob_kit::failpoint;
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{EVENTS, QueueMode, RunState};
use rusqlite::OptionalExtension;
use std::sync::{Arc, LazyLock};

pub(crate) fn accept(
    batch: &mut WriteBatch<'_>,
    plan: &AcceptPlan,
) -> Result<AcceptedRun, QueryError> {
    if batch
        .sql
        .prepare_cached(BY_ID)?
        .exists([plan.id.0.as_bytes()])?
    {
        // A retry after a lost answer repeats the id, with or without a key.
        let run = row::find(batch.sql, plan.id)?;
        return Ok(duplicate(run.ok_or_else(|| row::missing(plan.id))?));
    }
    let asked = batch.heads.find(batch.sql, &plan.session)?;
    if let Some(asked) = &asked {
        if let Some(run) = accepted_before(batch, asked.row_id, plan)? {
            return Ok(duplicate(run));
        }
        // A fork works in a session of its own, where no other run waits.
        if !plan.fork {
            check_queue(batch, asked, plan)?;
        }
    }
    // Checked before any session is created: a refused child should leave no row.
    let child = match &plan.parent_link {
        Some(parent_link) => Some(ChildRegistration::check(batch, parent_link)?),
        None => None,
    };
    let asked = match (asked, &child) {
        (Some(asked), _) => asked,
        (None, Some(child)) => create_child_session(batch, plan, child)?,
        (None, None) => create_own_session(batch, Some(&plan.session), plan, None)?,
    };
    let session = if plan.fork {
        create_own_session(batch, None, plan, Some(&asked))?
    } else {
        asked.clone()
    };
    let row_id = insert_run(batch, plan, asked.row_id, session.row_id)?;
    if let Some(child) = &child {
        child.write(batch, row_id)?;
    }
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: Arc::clone(&QUEUED),
        session: Some(session.identity.tag.clone()),
        payload: Some(payload::queued(&session.identity, plan.id, &plan.task)),
    };
    let place = PayloadSource::Run {
        session: session.row_id,
        run: row_id,
        kept: StoredPayload::Nothing,
    };
    batch.log_event(event, place)?;
    failpoint::reach("run.accept.written");
    Ok(AcceptedRun {
        run: queued_row(plan, &session, batch.now_ms),
        duplicate: false,
    })
}

/// The row of a run that was just queued.
fn queued_row(plan: &AcceptPlan, session: &SessionHead, now_ms: u64) -> RunRow {
    let parent_link = plan.parent_link.as_ref();
    RunRow {
        id: plan.id,
        parent: parent_link.map(|parent_link| parent_link.parent),
        session_id: session.identity.id,
        session_key: session.identity.name().to_owned(),
        task: plan.task.clone(),
        limits: plan.limits,
        queued_at: now_ms,
        journal_len: 0,
        first_message: None,
        last_message: None,
        summary: RunSummary {
            state: RunState::Queued,
            ..RunSummary::default()
        },
    }
}

fn duplicate(run: RunRow) -> AcceptedRun {
    AcceptedRun {
        run,
        duplicate: true,
    }
}

/// Returns the run that this key already made or steered; refuses a key used for something else.
fn accepted_before(
    batch: &WriteBatch<'_>,
    asked: i64,
    plan: &AcceptPlan,
) -> Result<Option<RunRow>, QueryError> {
    let Some(key) = plan.idempotency_key.as_deref() else {
        return Ok(None);
    };
    let found = batch
        .sql
        .prepare_cached(BY_KEY)?
        .query_row((asked, key), |row| {
            let hash: Option<[u8; 32]> = row.get(1)?;
            Ok((RunId(crate::value::uuid(row, 0)?), hash))
        })
        .optional()?;
    let Some((id, hash)) = found else {
        return steered_before(batch, asked, key);
    };
    let run = row::find(batch.sql, id)?;
    if hash != plan.params_hash.map(|hash| hash.0) {
        return Err(StoreError::Conflict(format!(
            "The idempotency key '{key}' already made run {id} of this session, with another task or other parameters. Use a new key for a new run."
        ))
        .into());
    }
    match run {
        Some(run) => Ok(Some(run)),
        // It worked on a fork that was deleted since. It can neither be shown nor made again.
        None => Err(StoreError::Conflict(format!(
            "The idempotency key '{key}' made run {id}, whose session was deleted. Use a new key for a new run."
        ))
        .into()),
    }
}

/// Returns the run that took a steering message under this key.
fn steered_before(
    batch: &WriteBatch<'_>,
    session: i64,
    key: &str,
) -> Result<Option<RunRow>, QueryError> {
    let id = batch
        .sql
        .prepare_cached(BY_STEER_KEY)?
        .query_row((session, key), |row| crate::value::uuid(row, 0))
        .optional()?;
    match id {
        Some(id) => Ok(row::find(batch.sql, RunId(id))?),
        None => Ok(None),
    }
}

/// True if this key made a run of the session, or steered one of its runs.
pub(crate) fn knows_key(
    sql: &rusqlite::Connection,
    session: &SessionRef,
    key: &str,
) -> Result<bool, QueryError> {
    let Some(head) = crate::sessions::row::find_head(sql, session)? else {
        return Ok(false);
    };
    for query in [BY_KEY, BY_STEER_KEY] {
        if sql.prepare_cached(query)?.exists((head.row_id, key))? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn check_queue(
    batch: &WriteBatch<'_>,
    session: &SessionHead,
    plan: &AcceptPlan,
) -> Result<(), QueryError> {
    let live: u32 = batch
        .sql
        .prepare_cached(COUNT_LIVE)?
        .query_row([session.row_id], |row| row.get(0))?;
    let name = session.identity.name();
    if live > 0 && plan.mode == QueueMode::Reject {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' has a run that has not ended. Wait for it, or stop it."
        ))
        .into());
    }
    // One of the live runs is active; the others wait.
    if live > plan.queue_max {
        return Err(StoreError::Overloaded(format!(
            "{} runs of the session '{name}' are waiting, the most allowed. Try again later.",
            live - 1
        ))
        .into());
    }
    Ok(())
}

/// Creates the session `name`, or a nameless fork of `parent`.
fn create_own_session(
    batch: &mut WriteBatch<'_>,
    name: Option<&SessionRef>,
    plan: &AcceptPlan,
    parent: Option<&SessionHead>,
) -> Result<SessionHead, QueryError> {
    let metadata = parent.map_or_else(
        || "{}".to_owned(),
        |parent| format!("{{\"forkedAt\":{}}}", parent.message_count),
    );
    let session = NewSession {
        name: name.cloned(),
        id: None,
        kind: plan.kind.clone(),
        label: None,
        parent: parent.map(|parent| SessionRef::Id(parent.identity.id)),
        metadata,
    };
    create_session(batch, &session)
}

/// Creates the session of a child run.
fn create_child_session(
    batch: &mut WriteBatch<'_>,
    plan: &AcceptPlan,
    child: &ChildRegistration,
) -> Result<SessionHead, QueryError> {
    let session = NewSession {
        name: Some(plan.session.clone()),
        id: None,
        kind: plan.kind.clone(),
        label: plan
            .parent_link
            .as_ref()
            .and_then(|parent_link| parent_link.label.clone()),
        parent: Some(SessionRef::Id(child.session)),
        metadata: "{}".to_owned(),
    };
    create_session(batch, &session)
}

fn create_session(
    batch: &mut WriteBatch<'_>,
    session: &NewSession,
) -> Result<SessionHead, QueryError> {
    let made = write::create(batch, session)?;
    let made = SessionRef::Id(made.session.id);
    let head = batch.heads.find(batch.sql, &made)?;
    head.ok_or_else(|| StoreError::Internal("a session just made is not there".to_owned()).into())
}

fn insert_run(
    batch: &WriteBatch<'_>,
    plan: &AcceptPlan,
    asked: i64,
    session: i64,
) -> rusqlite::Result<i64> {
    let row_id = batch
        .sql
        .prepare_cached(
            "INSERT INTO runs (id, session, asked, idempotency_key, params_hash, queued_at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .insert((
            &plan.id.0.as_bytes()[..],
            session,
            asked,
            &plan.idempotency_key,
            plan.params_hash.as_ref().map(|hash| &hash.0[..]),
            int(batch.now_ms),
        ))?;
    // After the insert, because the checksum covers the row id that SQLite chose.
    RUNS.write_checksum(batch.sql, [row_id])?;
    batch.sql.prepare_cached(&INSERT_TASK)?.execute((
        row_id,
        &plan.task,
        &plan.limits_json,
        plan.params.text(),
        plan.params.blob(),
    ))?;
    Ok(row_id)
}

static INSERT_TASK: LazyLock<String> =
    LazyLock::new(|| RUN_TASKS.insert_sql(&["run", "task", "limits", "params", "params_blob"]));
pub(crate) const BY_ID: &str = "SELECT 1 FROM runs WHERE id = ?1";
pub(crate) const BY_KEY: &str =
    "SELECT id, params_hash FROM runs WHERE asked = ?1 AND idempotency_key = ?2";
pub(crate) const BY_STEER_KEY: &str = "SELECT r.id FROM steered_words AS s
    JOIN runs AS r ON r.row_id = s.run WHERE s.session = ?1 AND s.key = ?2";
pub(crate) const COUNT_LIVE: &str =
    "SELECT count(*) FROM runs WHERE session = ?1 AND state <> 'done'";

/// The source of events about runs.
pub(crate) static SOURCE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());
static QUEUED: LazyLock<Arc<str>> = LazyLock::new(|| payload::QUEUED.into());
