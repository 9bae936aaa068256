//! Accepting a run: it is durable, with its session if that had to be made, or refused.

use super::family::Family;
use super::payload;
use super::planning::AcceptPlan;
use super::row;
use super::words::{Accepted, RunRow, RunSummary};
use crate::batch::Batch;
use crate::checksums::{RUN_TASKS, RUNS};
use crate::error::{StoreError, Trouble};
use crate::events::{Kept, Place};
use crate::sessions::row::Head;
use crate::sessions::write::{self, Plan};
use crate::value::int;
use hob_bus::NewEvent;
use hob_kit::failpoint;
use hob_wire::RunId;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{EVENTS, QueueMode, RunState};
use rusqlite::OptionalExtension;
use std::sync::{Arc, LazyLock};

pub(crate) fn accept(batch: &mut Batch<'_>, plan: &AcceptPlan) -> Result<Accepted, Trouble> {
    if batch
        .sql
        .prepare_cached(BY_ID)?
        .exists([plan.id.0.as_bytes()])?
    {
        let run = row::find(batch.sql, plan.id)?;
        return Ok(known(run.ok_or_else(|| row::missing(plan.id))?));
    }
    let asked = batch.heads.find(batch.sql, &plan.session)?;
    if let Some(asked) = &asked {
        if let Some(run) = accepted_before(batch, asked.row_id, plan)? {
            return Ok(known(run));
        }
        if !plan.fork {
            check_queue(batch, asked, plan)?;
        }
    }
    let family = match &plan.birth {
        Some(birth) => Some(Family::of(batch, birth)?),
        None => None,
    };
    let asked = match (asked, &family) {
        (Some(asked), _) => asked,
        (None, Some(family)) => born_session(batch, plan, family)?,
        (None, None) => make_session(batch, Some(&plan.session), plan, None)?,
    };
    let session = if plan.fork {
        make_session(batch, None, plan, Some(&asked))?
    } else {
        asked.clone()
    };
    let row_id = insert(batch, plan, asked.row_id, session.row_id)?;
    if let Some(family) = &family {
        family.register(batch, row_id)?;
    }
    let event = NewEvent {
        source: Arc::clone(&SOURCE),
        topic: Arc::clone(&QUEUED),
        session: Some(session.face.tag.clone()),
        payload: Some(payload::queued(&session.face, plan.id, &plan.task)),
    };
    let place = Place::Run {
        session: session.row_id,
        run: row_id,
        kept: Kept::Nothing,
    };
    batch.log(event, place)?;
    failpoint::reach("run.accept.written");
    Ok(Accepted {
        run: RunRow {
            id: plan.id,
            parent: plan.birth.as_ref().map(|birth| birth.parent),
            session_id: session.face.id,
            session_key: session.face.name().to_owned(),
            task: plan.task.clone(),
            limits: plan.limits,
            queued_at: batch.now_ms,
            journal_len: 0,
            first_message: None,
            last_message: None,
            summary: RunSummary {
                state: RunState::Queued,
                ..RunSummary::default()
            },
        },
        duplicate: false,
    })
}

fn known(run: RunRow) -> Accepted {
    Accepted {
        run,
        duplicate: true,
    }
}

/// The run that this key already made, or whose words it named; refuses a key used for something
/// else.
fn accepted_before(
    batch: &Batch<'_>,
    asked: i64,
    plan: &AcceptPlan,
) -> Result<Option<RunRow>, Trouble> {
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
        // It worked on a fork that was deleted since: it cannot be shown, nor made once more.
        None => Err(StoreError::Conflict(format!(
            "The idempotency key '{key}' made run {id}, whose session was deleted. Use a new key for a new run."
        ))
        .into()),
    }
}

/// The run that took words under this key, while it was under way.
fn steered_before(batch: &Batch<'_>, session: i64, key: &str) -> Result<Option<RunRow>, Trouble> {
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

/// Whether this key made a run of the session, or named words that one of its runs took.
pub(crate) fn knows_key(
    sql: &rusqlite::Connection,
    session: &SessionRef,
    key: &str,
) -> Result<bool, Trouble> {
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

fn check_queue(batch: &Batch<'_>, session: &Head, plan: &AcceptPlan) -> Result<(), Trouble> {
    let live: u32 = batch
        .sql
        .prepare_cached(COUNT_LIVE)?
        .query_row([session.row_id], |row| row.get(0))?;
    let name = session.face.name();
    if live > 0 && plan.mode == QueueMode::Reject {
        return Err(StoreError::Conflict(format!(
            "The session '{name}' has a run that has not ended. Wait for it, or stop it."
        ))
        .into());
    }
    if live > plan.queue_max {
        return Err(StoreError::Overloaded(format!(
            "{} runs of the session '{name}' wait already, and no more may. Try again later.",
            live - 1
        ))
        .into());
    }
    Ok(())
}

/// Makes the session `name`, or a nameless one forked from `parent`.
fn make_session(
    batch: &mut Batch<'_>,
    name: Option<&SessionRef>,
    plan: &AcceptPlan,
    parent: Option<&Head>,
) -> Result<Head, Trouble> {
    let metadata = parent.map_or_else(
        || "{}".to_owned(),
        |parent| format!("{{\"forkedAt\":{}}}", parent.message_count),
    );
    let session = Plan {
        name: name.cloned(),
        id: None,
        kind: plan.kind.clone(),
        label: None,
        parent: parent.map(|parent| SessionRef::Id(parent.face.id)),
        metadata,
    };
    made_head(batch, &session)
}

/// Makes the session of a child.
fn born_session(
    batch: &mut Batch<'_>,
    plan: &AcceptPlan,
    family: &Family,
) -> Result<Head, Trouble> {
    let session = Plan {
        name: Some(plan.session.clone()),
        id: None,
        kind: plan.kind.clone(),
        label: plan.birth.as_ref().and_then(|birth| birth.label.clone()),
        parent: Some(SessionRef::Id(family.session)),
        metadata: "{}".to_owned(),
    };
    made_head(batch, &session)
}

fn made_head(batch: &mut Batch<'_>, session: &Plan) -> Result<Head, Trouble> {
    let made = write::create(batch, session)?;
    let made = SessionRef::Id(made.session.id);
    let head = batch.heads.find(batch.sql, &made)?;
    head.ok_or_else(|| StoreError::Internal("a session just made is not there".to_owned()).into())
}

fn insert(batch: &Batch<'_>, plan: &AcceptPlan, asked: i64, session: i64) -> rusqlite::Result<i64> {
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
    RUNS.seal(batch.sql, [row_id])?;
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
    LazyLock::new(|| RUN_TASKS.insert(&["run", "task", "limits", "params", "params_blob"]));
pub(crate) const BY_ID: &str = "SELECT 1 FROM runs WHERE id = ?1";
pub(crate) const BY_KEY: &str =
    "SELECT id, params_hash FROM runs WHERE asked = ?1 AND idempotency_key = ?2";
pub(crate) const BY_STEER_KEY: &str = "SELECT r.id FROM steered_words AS s
    JOIN runs AS r ON r.row_id = s.run WHERE s.session = ?1 AND s.key = ?2";
pub(crate) const COUNT_LIVE: &str =
    "SELECT count(*) FROM runs WHERE session = ?1 AND state <> 'done'";

/// Who says what happens to runs.
pub(crate) static SOURCE: LazyLock<Arc<str>> = LazyLock::new(|| EVENTS[0].service.into());
static QUEUED: LazyLock<Arc<str>> = LazyLock::new(|| payload::QUEUED.into());
