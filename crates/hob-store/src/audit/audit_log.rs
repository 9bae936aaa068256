//! The audit record in SQL: appends to the chain and reads it.

use super::types::NewAuditEntry;
use crate::batch::WriteBatch;
use crate::checksums::AUDIT;
use crate::checksums::damage::WithDamage;
use crate::error::{QueryError, StoreError};
use crate::value::{int, number, optional_uuid};
use hob_core::permission::{AUDIT_ROOT, AuditChain, canonical_json, entry_hash};
use hob_wire::limits::PAGE_BYTES_MAX;
use hob_wire::rule::AuditEntry;
use hob_wire::{DamagedRow, RunId};
use rusqlite::{Connection, OptionalExtension, Row};
use std::sync::LazyLock;

/// The bytes of an entry's matter as JSON.
const MATTER_BYTES_MAX: usize = 64 * 1024;

/// The filter of a listing.
#[derive(Clone, Debug, Default)]
pub(super) struct AuditFilter {
    pub(super) session_key: Option<String>,
    pub(super) run: Option<RunId>,
    pub(super) tool: Option<String>,
    pub(super) before: Option<u64>,
    pub(super) rows_max: usize,
}

/// Entries and whether more follow.
pub(crate) type AuditPage = WithDamage<(Vec<AuditEntry>, bool)>;

/// Refuses entries that are too large, before anything is queued; returns their approximate size.
pub(crate) fn check(entries: &[NewAuditEntry]) -> Result<usize, StoreError> {
    let mut bytes = 0;
    for entry in entries {
        let matter = canonical_json(&entry.matter).len();
        if matter > MATTER_BYTES_MAX {
            return Err(StoreError::Invalid(format!(
                "An entry of the audit record takes at most {MATTER_BYTES_MAX} bytes."
            )));
        }
        bytes += matter;
    }
    Ok(bytes)
}

pub(crate) fn append(batch: &WriteBatch<'_>, entries: &[NewAuditEntry]) -> rusqlite::Result<()> {
    // Read in the transaction of the insert, and only the writer inserts: no entry can come
    // between.
    let last = batch
        .sql
        .prepare_cached("SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1")?
        .query_row([], |row| Ok((number(row, 0)?, row.get(1)?)))
        .optional()?;
    let (mut seq, mut head) = last.unwrap_or_else(|| (0, AUDIT_ROOT.to_owned()));
    let mut insert = batch.sql.prepare_cached(&INSERT)?;
    for new in entries {
        seq += 1;
        let mut entry = AuditEntry {
            seq,
            at: batch.now_ms,
            act: new.act.to_owned(),
            by: new.by.clone(),
            session_key: new.session_key.clone(),
            run_id: new.run_id,
            tool: new.tool.clone(),
            matter: new.matter.clone(),
            previous: head,
            hash: String::new(),
        };
        entry.hash = entry_hash(&entry);
        insert.execute((
            int(entry.seq),
            int(entry.at),
            &entry.act,
            &entry.by,
            &entry.session_key,
            entry.run_id.map(|run| run.0.as_bytes().to_vec()),
            &entry.tool,
            canonical_json(&entry.matter),
            &entry.previous,
            &entry.hash,
        ))?;
        // The next entry names this hash, so removing or changing one breaks the chain after it.
        head = entry.hash;
    }
    Ok(())
}

/// Returns entries in order, after `after`.
pub(crate) fn after(
    sql: &Connection,
    after: u64,
    rows_max: usize,
) -> Result<AuditPage, QueryError> {
    let mut select =
        sql.prepare_cached(&format!("{} WHERE seq > ?1 ORDER BY seq LIMIT ?2", *SELECT))?;
    let rows = select.query((int(after), int(rows_max.saturating_add(1) as u64)))?;
    read_page(sql, rows, rows_max)
}

/// Returns matching entries, the newest first.
pub(super) fn list(sql: &Connection, filter: &AuditFilter) -> Result<AuditPage, QueryError> {
    let mut select = sql.prepare_cached(&format!(
        "{} WHERE seq < ?1
         AND (?2 IS NULL OR session_key = ?2) AND (?3 IS NULL OR run = ?3)
         AND (?4 IS NULL OR tool = ?4) ORDER BY seq DESC LIMIT ?5",
        *SELECT
    ))?;
    let rows = select.query((
        filter.before.map_or(i64::MAX, int),
        &filter.session_key,
        filter.run.map(|run| run.0.as_bytes().to_vec()),
        &filter.tool,
        int(filter.rows_max.saturating_add(1) as u64),
    ))?;
    read_page(sql, rows, filter.rows_max)
}

fn read_page(
    sql: &Connection,
    mut rows: rusqlite::Rows<'_>,
    rows_max: usize,
) -> Result<AuditPage, QueryError> {
    let mut page = AuditPage::default();
    let mut bytes = 0;
    while let Some(row) = rows.next()? {
        let (entries, more) = &mut page.rows;
        // Damaged entries count too, so that a damaged table cannot make a page unbounded.
        if entries.len() + page.damaged.len() >= rows_max || bytes >= PAGE_BYTES_MAX {
            *more = true;
            break;
        }
        bytes += row.get_ref(7)?.as_bytes().map_or(0, <[u8]>::len);
        let seq: i64 = row.get(0)?;
        if AUDIT.is_whole(sql, row, COLUMNS.len(), (seq, 0))? {
            entries.push(from_row(row)?);
        } else {
            page.damaged.push(AUDIT.damaged_at(sql, [seq])?);
        }
    }
    Ok(page)
}

/// Verifies the chain over a page; returns the problem. A damaged entry is reported where the chain
/// reaches it.
pub(crate) fn verify_page(
    chain: &mut AuditChain,
    entries: &[AuditEntry],
    damaged: &[DamagedRow],
) -> Option<String> {
    let damage_at = |place: u64| {
        let row = damaged.iter().find(|row| row.number == Some(place));
        row.map(|row| row.message.clone())
    };
    for entry in entries {
        if let Some(problem) = damage_at(chain.entries() + 1) {
            return Some(problem);
        }
        if let Err(problem) = chain.verify_next(entry) {
            return Some(problem);
        }
    }
    damage_at(chain.entries() + 1)
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<AuditEntry> {
    let matter = row.get_ref(7)?.as_str()?;
    Ok(AuditEntry {
        seq: number(row, 0)?,
        at: number(row, 1)?,
        act: row.get(2)?,
        by: row.get(3)?,
        session_key: row.get(4)?,
        run_id: optional_uuid(row, 5)?.map(RunId),
        tool: row.get(6)?,
        // A matter that is no JSON was changed, and its hash shows it.
        matter: serde_json::from_str(matter).unwrap_or_else(|_| matter.into()),
        previous: row.get(8)?,
        hash: row.get(9)?,
    })
}

const COLUMNS: [&str; 10] = [
    "seq",
    "at",
    "act",
    "by",
    "session_key",
    "run",
    "tool",
    "matter",
    "previous",
    "hash",
];
static INSERT: LazyLock<String> = LazyLock::new(|| AUDIT.insert_sql(&COLUMNS));
static SELECT: LazyLock<String> = LazyLock::new(|| {
    format!(
        "SELECT {}, {} FROM audit t",
        COLUMNS.join(", "),
        AUDIT.checksum_state_sql("t")
    )
});
