//! Stored rules in SQL.
//!
//! Invariants: a rule of a session is deleted with the session, a rule of a run with the run, at
//! the latest at the next start; expired rules are deleted when another rule is added.

use super::types::{NewRule, StoredRule};
use crate::batch::WriteBatch;
use crate::checksums::RULES;
use crate::checksums::damage::{ScanPage, WithDamage, damaged_row_error};
use crate::error::{QueryError, StoreError};
use crate::sessions::row as session_row;
use crate::store::to_json;
use crate::value::{int, number, optional_number, optional_uuid};
use hob_wire::id::SessionRef;
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rule::{PermissionRule, RuleTerms};
use hob_wire::work::{AnswerReach, RuleDecision};
use hob_wire::{RunId, SessionId};
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, Row};
use std::sync::LazyLock;

/// Stored rules.
pub(super) const RULES_MAX: u64 = 20_000;
/// Expired rules deleted with one new one.
const EXPIRED_STEP: i64 = 64;

/// The filter of a listing.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleFilter {
    pub(super) tool: Option<String>,
    pub(super) session: Option<SessionRef>,
    pub(super) after: Option<String>,
    pub(super) rows_max: usize,
}

/// A rule that can be written, or the one that its idempotency key made before.
pub(super) enum RulePlan {
    New { session: Option<RuleSession> },
    Repeat(Box<StoredRule>),
}

/// The session of a rule.
pub(super) struct RuleSession {
    row_id: i64,
    id: SessionId,
}

/// Checks everything that can refuse a rule.
pub(super) fn plan(batch: &WriteBatch<'_>, new: &NewRule) -> Result<RulePlan, QueryError> {
    if let Some(key) = &new.idempotency_key {
        let select = format!("{} WHERE r.idempotency_key = ?1", *SELECT);
        let mut select = batch.sql.prepare_cached(&select)?;
        let mut rows = select.query([key])?;
        let found = rows
            .next()?
            .map(|row| read_whole(batch.sql, row))
            .transpose()?;
        if let Some(mut found) = found {
            if found.rule.terms != new.terms {
                return Err(StoreError::Conflict(format!(
                    "The idempotency key '{key}' already made another rule. Use a new key for a new rule."
                ))
                .into());
            }
            found.duplicate = true;
            return Ok(RulePlan::Repeat(Box::new(found)));
        }
    }
    check_capacity(batch)?;
    let session = match (new.terms.scope, &new.terms.session_key) {
        (AnswerReach::Session, Some(key)) => {
            let named = SessionRef::parse(key);
            let found = session_row::find(batch.sql, &named)?;
            let found = found.ok_or_else(|| session_row::missing(&named))?;
            Some(RuleSession {
                row_id: found.row_id,
                id: found.session.id,
            })
        }
        _ => None,
    };
    Ok(RulePlan::New { session })
}

/// Refuses one more rule when there are too many.
pub(super) fn check_capacity(batch: &WriteBatch<'_>) -> Result<(), QueryError> {
    let kept: u64 = batch
        .sql
        .prepare_cached("SELECT count(*) FROM rules")?
        .query_row([], |row| number(row, 0))?;
    if kept >= RULES_MAX {
        return Err(StoreError::Conflict(format!(
            "There are {RULES_MAX} rules already; remove some that are no longer used."
        ))
        .into());
    }
    Ok(())
}

pub(super) fn insert(
    batch: &WriteBatch<'_>,
    new: &NewRule,
    session: Option<&RuleSession>,
) -> Result<StoredRule, QueryError> {
    batch
        .sql
        .prepare_cached(&format!(
            // Only intact rows: the expiry of a damaged rule cannot be trusted.
            "DELETE FROM rules WHERE row_id IN
             (SELECT r.row_id FROM rules r WHERE r.expires_at <= ?1 AND ({}) = 1 LIMIT ?2)",
            RULES.checksum_state_sql("r")
        ))?
        .execute((int(batch.now_ms), EXPIRED_STEP))?;
    let terms = &new.terms;
    let rule = PermissionRule {
        id: new.id.clone(),
        terms: terms.clone(),
        created_at: batch.now_ms,
        created_by: new.created_by.clone(),
        expires_at: terms
            .expires_ms
            .map(|lasts| batch.now_ms.saturating_add(lasts)),
    };
    // The column ends a rule with its run, so other scopes leave it empty.
    let run = terms.run_id.filter(|_| terms.scope == AnswerReach::Run);
    batch
        .sql
        .prepare_cached(
            "INSERT INTO rules (id, tool, scope, session, run, terms, created_at, created_by,
                                expires_at, idempotency_key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        )?
        .execute((
            &rule.id,
            &terms.tool,
            terms.scope.name(),
            session.map(|owner| owner.row_id),
            run.map(|run| run.0.as_bytes().to_vec()),
            to_json(terms)?,
            int(rule.created_at),
            &rule.created_by,
            rule.expires_at.map(int),
            &new.idempotency_key,
        ))?;
    RULES.write_checksum(batch.sql, [batch.sql.last_insert_rowid()])?;
    Ok(StoredRule {
        rule,
        session: session.map(|owner| owner.id),
        duplicate: false,
    })
}

/// Finds a rule to remove, by its id or a unique prefix. A damaged rule is returned as far as it
/// can be read.
pub(super) fn find(sql: &Connection, id: &str) -> Result<PermissionRule, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        // Two rows are enough to see that a prefix is not unique; an exact id comes first.
        "{} WHERE r.id = ?1 OR substr(r.id, 1, length(?1)) = ?1
         ORDER BY r.id = ?1 DESC LIMIT 2",
        *SELECT
    ))?;
    let mut rows = select.query([id])?;
    let mut found: Vec<StoredRule> = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(match read_whole(sql, row) {
            Err(QueryError::Refused(StoreError::DamagedRow(_))) => read_remains(row)?,
            rule => rule?,
        });
    }
    let is_one = |found: &[StoredRule]| found.len() == 1 || found[0].rule.id == id;
    // An empty prefix would match every rule.
    if found.is_empty() || id.is_empty() {
        let message = format!("There is no rule '{id}'; 'hob permission list' shows all rules.");
        return Err(StoreError::NotFound(message).into());
    }
    if !is_one(&found) {
        let message = format!("Several rules begin with '{id}'; give more of the id.");
        return Err(StoreError::Conflict(message).into());
    }
    Ok(found.swap_remove(0).rule)
}

/// Returns the rules of this creator, in order; with `sessions` only those with this session
/// pattern.
pub(crate) fn made_by(
    sql: &Connection,
    by: &str,
    sessions: Option<&str>,
) -> Result<Vec<PermissionRule>, QueryError> {
    let select = format!("{} WHERE r.created_by = ?1 ORDER BY r.row_id", *SELECT);
    let mut select = sql.prepare_cached(&select)?;
    let mut rows = select.query([by])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let rule = match read_whole(sql, row) {
            // A damaged rule allows nothing, so it is no grant.
            Err(QueryError::Refused(StoreError::DamagedRow(_))) => continue,
            rule => rule?.rule,
        };
        if sessions.is_none_or(|sessions| rule.terms.sessions.as_deref() == Some(sessions)) {
            found.push(rule);
        }
    }
    Ok(found)
}

/// Removes a rule; false when there is none.
pub(super) fn remove(batch: &WriteBatch<'_>, id: &str) -> rusqlite::Result<bool> {
    // `+` avoids the index, in which a damaged id cannot be found.
    RULES.retry_after_reindex(batch.sql, || {
        let delete = "DELETE FROM rules WHERE +id = ?1";
        Ok(batch.sql.prepare_cached(delete)?.execute([id])? > 0)
    })
}

/// Removes the rules of a run that has ended.
pub(super) fn end_run(batch: &WriteBatch<'_>, run: RunId) -> rusqlite::Result<usize> {
    let mut delete = batch
        .sql
        .prepare_cached("DELETE FROM rules WHERE run = ?1")?;
    delete.execute([run.0.as_bytes().as_slice()])
}

/// Removes the rules of a deleted session.
pub(crate) fn end_session(batch: &WriteBatch<'_>, session: i64) -> rusqlite::Result<()> {
    let mut delete = batch
        .sql
        .prepare_cached("DELETE FROM rules WHERE session = ?1")?;
    delete.execute([session]).map(drop)
}

/// Removes expired rules, and rules of runs that have ended or are unknown.
pub(super) fn prune(batch: &WriteBatch<'_>) -> rusqlite::Result<()> {
    // A damaged rule stays until a person has seen it, because it may have been a denial.
    let is_whole = RULES.checksum_state_sql("r");
    let expired = format!("DELETE FROM rules AS r WHERE r.expires_at <= ?1 AND ({is_whole}) = 1");
    batch
        .sql
        .prepare_cached(&expired)?
        .execute([int(batch.now_ms)])?;
    let over = format!(
        "DELETE FROM rules AS r WHERE r.run IS NOT NULL AND ({is_whole}) = 1 AND NOT EXISTS
         (SELECT 1 FROM runs WHERE runs.id = r.run AND runs.state <> 'done')"
    );
    batch.sql.prepare_cached(&over)?.execute([])?;
    Ok(())
}

/// Returns rules in order, after a row, and the last row read, if there was one.
pub(super) fn page(
    sql: &Connection,
    after: i64,
    rows_max: usize,
) -> Result<WithDamage<ScanPage<StoredRule>>, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{} WHERE r.row_id > ?1 ORDER BY r.row_id LIMIT ?2",
        *SELECT
    ))?;
    let mut rows = select.query((after, int(rows_max as u64)))?;
    let mut page = WithDamage::<ScanPage<StoredRule>>::default();
    while let Some(row) = rows.next()? {
        page.rows.1 = Some(row.get(7)?);
        match read_whole(sql, row) {
            Err(QueryError::Refused(StoreError::DamagedRow(row))) => page.damaged.push(*row),
            rule => page.rows.0.push(rule?),
        }
    }
    Ok(page)
}

/// Returns rules that have not expired, the newest first, and whether there are more.
pub(super) fn list(
    sql: &Connection,
    filter: &RuleFilter,
    now_ms: u64,
) -> Result<WithDamage<(Vec<PermissionRule>, bool)>, QueryError> {
    let session = match &filter.session {
        None => None,
        Some(named) => {
            let found = session_row::find(sql, named)?;
            Some(found.ok_or_else(|| session_row::missing(named))?.row_id)
        }
    };
    let mut select = sql.prepare_cached(&format!(
        "{} WHERE (r.expires_at IS NULL OR r.expires_at > ?1)
         AND (?2 IS NULL OR r.row_id < (SELECT row_id FROM rules WHERE id = ?2))
         AND (?3 IS NULL OR r.tool = ?3
              OR (substr(r.tool, -1) = '*' AND substr(?3, 1, length(r.tool) - 1) || '*' = r.tool))
         AND (?4 IS NULL OR (r.session IS NULL AND r.run IS NULL) OR r.session = ?4
              OR r.run IN (SELECT id FROM runs WHERE session = ?4))
         ORDER BY r.row_id DESC LIMIT ?5",
        *SELECT
    ))?;
    let mut rows = select.query((
        int(now_ms),
        &filter.after,
        &filter.tool,
        session,
        int(filter.rows_max.saturating_add(1) as u64),
    ))?;
    let mut page = WithDamage::<(Vec<PermissionRule>, bool)>::default();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (rules, more) = &mut page.rows;
        if rules.len() >= filter.rows_max || bytes >= PAGE_BYTES_MAX {
            *more = true;
            break;
        }
        bytes += row.get_ref(1)?.as_bytes().map_or(0, <[u8]>::len);
        match read_whole(sql, row) {
            Err(QueryError::Refused(StoreError::DamagedRow(row))) => page.damaged.push(*row),
            rule => rules.push(rule?.rule),
        }
    }
    Ok(page)
}

/// Reads a rule; refuses a damaged one.
fn read_whole(sql: &Connection, row: &Row<'_>) -> Result<StoredRule, QueryError> {
    let row_id: i64 = row.get(7)?;
    if !RULES.is_whole(sql, row, 8, (row_id, 0))? {
        return Err(damaged_row_error(RULES.damaged_at(sql, [row_id])?));
    }
    Ok(from_row(row)?)
}

/// Reads what is left of a damaged rule, for the audit entry of its removal.
fn read_remains(row: &Row<'_>) -> rusqlite::Result<StoredRule> {
    from_row(row).or_else(|_| {
        Ok(StoredRule {
            rule: PermissionRule {
                id: row.get(0)?,
                terms: RuleTerms::new("?", RuleDecision::Ask, AnswerReach::Always),
                created_at: 0,
                created_by: "?".to_owned(),
                expires_at: None,
            },
            session: None,
            duplicate: false,
        })
    })
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<StoredRule> {
    let terms = serde_json::from_str(row.get_ref(1)?.as_str()?);
    Ok(StoredRule {
        rule: PermissionRule {
            id: row.get(0)?,
            terms: terms.map_err(|error| FromSqlError::Other(Box::new(error)))?,
            created_at: number(row, 2)?,
            created_by: row.get(3)?,
            expires_at: optional_number(row, 4)?,
        },
        session: optional_uuid(row, 6)?.map(SessionId),
        duplicate: false,
    })
}

static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT r.id, r.terms, r.created_at, r.created_by, r.expires_at, r.session, s.id, r.row_id,
         {} FROM rules r LEFT JOIN sessions s ON s.row_id = r.session",
        RULES.checksum_state_sql("r")
    )
});
