//! Checksums for rows of earlier versions: the small tables when the store is opened, the large
//! ones as bulk work that can be interrupted anywhere.
//!
//! `checksum_fill` has a row for each unfinished table: the key up to which rows are done, and the
//! last key that existed when the column was added. Invariant: the cursor and the checksums it
//! passes are one transaction, and a row that has a checksum keeps it.

use super::tables::{COVERED, CoveredTable};
use crate::batch::WriteBatch;
use crate::error::QueryError;
use crate::writer_queue::{BulkJob, BulkProgress};
use rusqlite::{Connection, OptionalExtension, ToSql};

/// Rows in one step.
const STEP_ROWS: i64 = 64;
/// Bytes after which a step ends; one large row is a step of its own.
const STEP_BYTES: i64 = 256 * 1024;

/// Adds the checksums of the small tables, once. Their rows are never trusted without one.
pub(crate) fn backfill_small_tables(sql: &Connection) -> rusqlite::Result<()> {
    let small = COVERED.iter().filter(|table| table.bulk_bytes.is_none());
    for table in small {
        let mut find = sql.prepare("SELECT 1 FROM checksum_fill WHERE name = ?1")?;
        if !find.exists([table.name])? {
            continue;
        }
        // Checksums and the note that they are done commit together: a crash repeats the whole
        // table.
        let transaction = sql.unchecked_transaction()?;
        let sum = table.checksum_sql(str::to_owned);
        transaction.execute(
            &format!(
                "UPDATE {} SET checksum = {sum} WHERE checksum IS NULL",
                table.name
            ),
            [],
        )?;
        transaction.execute("DELETE FROM checksum_fill WHERE name = ?1", [table.name])?;
        transaction.commit()?;
    }
    Ok(())
}

/// Bulk work: adds checksums to rows of the large tables.
#[derive(Debug)]
pub(crate) struct ChecksumBackfill;

impl BulkJob for ChecksumBackfill {
    fn name(&self) -> &'static str {
        "checksums of rows"
    }

    fn step(&mut self, batch: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError> {
        Ok(backfill_step(batch.sql)?)
    }
}

/// Adds the checksums of some more rows.
pub(crate) fn backfill_step(sql: &Connection) -> rusqlite::Result<BulkProgress> {
    let Some(cursor) = BackfillCursor::next(sql)? else {
        return Ok(BulkProgress::Done);
    };
    cursor.step(sql)?;
    Ok(BulkProgress::More)
}

/// The progress of the backfill in one table.
struct BackfillCursor {
    table: &'static CoveredTable,
    done: (i64, i64),
    last: (i64, i64),
}

impl BackfillCursor {
    fn next(sql: &Connection) -> rusqlite::Result<Option<BackfillCursor>> {
        for table in COVERED {
            if table.bulk_bytes.is_none() {
                continue;
            }
            let mut select = sql.prepare_cached(
                "SELECT major, minor, last_major, last_minor FROM checksum_fill WHERE name = ?1",
            )?;
            let found = select.query_row([table.name], |row| {
                Ok(BackfillCursor {
                    table,
                    done: (row.get(0)?, row.get(1)?),
                    last: (row.get(2)?, row.get(3)?),
                })
            });
            if let Some(cursor) = found.optional()? {
                return Ok(Some(cursor));
            }
        }
        Ok(None)
    }

    fn step(&self, sql: &Connection) -> rusqlite::Result<()> {
        let keys = self.keys(sql)?;
        for key in &keys {
            self.backfill_row(sql, *key)?;
        }
        match keys.last() {
            Some(done) => sql
                .prepare_cached("UPDATE checksum_fill SET major = ?2, minor = ?3 WHERE name = ?1")?
                .execute((self.table.name, done.0, done.1))?,
            // No row is left up to the last old key, so the table is done.
            None => sql
                .prepare_cached("DELETE FROM checksum_fill WHERE name = ?1")?
                .execute([self.table.name])?,
        };
        Ok(())
    }

    /// Returns the keys of the next rows.
    fn keys(&self, sql: &Connection) -> rusqlite::Result<Vec<(i64, i64)>> {
        let major = self.table.key[0];
        let minor = self.table.key.get(1);
        let bytes = self.table.bulk_bytes.unwrap_or("0");
        // A comparison of the first column alone lets SQLite start in the middle of the table.
        let (columns, condition, order) = match minor {
            Some(minor) => (
                format!("t.{major}, t.{minor}"),
                format!("(t.{major}, t.{minor}) > (?1, ?2) AND (t.{major}, t.{minor}) <= (?3, ?4)"),
                format!("t.{major}, t.{minor}"),
            ),
            None => (
                format!("t.{major}, 0"),
                format!("t.{major} > ?1 AND ?2 = ?2 AND t.{major} <= ?3 AND ?4 = ?4"),
                format!("t.{major}"),
            ),
        };
        let mut select = sql.prepare_cached(&format!(
            "SELECT {columns}, {bytes} FROM {} t WHERE {condition} ORDER BY {order} LIMIT ?5",
            self.table.name
        ))?;
        let mut rows = select.query((
            self.done.0,
            self.done.1,
            self.last.0,
            self.last.1,
            STEP_ROWS,
        ))?;
        let (mut keys, mut total) = (Vec::new(), 0_i64);
        while let Some(row) = rows.next()? {
            total = total.saturating_add(row.get::<_, Option<i64>>(2)?.unwrap_or(0));
            if total > STEP_BYTES && !keys.is_empty() {
                break;
            }
            keys.push((row.get(0)?, row.get(1)?));
        }
        Ok(keys)
    }

    fn backfill_row(&self, sql: &Connection, key: (i64, i64)) -> rusqlite::Result<()> {
        let table = self.table;
        // A row that was written after the column was added has its checksum, which must not
        // change.
        let fill = format!(
            "UPDATE {} SET checksum = {} WHERE {} AND checksum IS NULL",
            table.name,
            table.checksum_sql(str::to_owned),
            table.key_condition("")
        );
        let parts: [&dyn ToSql; 2] = [&key.0, &key.1];
        let filled = sql
            .prepare_cached(&fill)?
            .execute(&parts[..table.key.len()]);
        match filled {
            // A value has a type that its column forbids: the row is damaged and gets no checksum.
            Err(error)
                if error.sqlite_error_code() == Some(rusqlite::ErrorCode::ConstraintViolation) =>
            {
                tracing::error!(
                    table = table.name,
                    key = key.0,
                    "a row is damaged and gets no checksum: {error}"
                );
                Ok(())
            }
            other => other.map(drop),
        }
    }
}
