//! The schema and its migrations: one SQL file per version. All that are missing are applied in one
//! transaction together with the version number. A new file is synced once, not once per version.
//!
//! Invariants: an interrupted migration leaves the file as it was; a schema newer than this program
//! is never touched.

use crate::connection::APPLICATION_ID;
use crate::error::StoreError;
use hob_kit::failpoint;
use rusqlite::Connection;
use std::path::Path;

const MIGRATIONS: &[&str] = &[
    include_str!("migrations/0001_house.sql"),
    include_str!("migrations/0002_runs.sql"),
    include_str!("migrations/0003_changes.sql"),
    include_str!("migrations/0004_outputs.sql"),
    include_str!("migrations/0005_judgements.sql"),
    include_str!("migrations/0006_families.sql"),
    include_str!("migrations/0007_loops.sql"),
    include_str!("migrations/0008_schedule.sql"),
    include_str!("migrations/0009_terminals.sql"),
    include_str!("migrations/0010_authority.sql"),
    include_str!("migrations/0011_log_starts.sql"),
    include_str!("migrations/0012_outcomes.sql"),
    include_str!("migrations/0013_checksums.sql"),
    include_str!("migrations/0014_steered_words.sql"),
    include_str!("migrations/0015_message_origins.sql"),
    include_str!("migrations/0016_recorded_output.sql"),
    include_str!("migrations/0017_forks.sql"),
    include_str!("migrations/0018_drafts.sql"),
];

/// The schema version of this program.
#[expect(clippy::cast_possible_truncation, reason = "a handful of files")]
pub(crate) const SCHEMA: u32 = MIGRATIONS.len() as u32;

/// Migrates the schema to the present version; returns whether it changed.
pub(crate) fn migrate(sql: &Connection, file: &Path) -> Result<bool, StoreError> {
    migrate_with(sql, file, MIGRATIONS)
}

fn migrate_with(sql: &Connection, file: &Path, migrations: &[&str]) -> Result<bool, StoreError> {
    let failed = |error: rusqlite::Error| StoreError::from_sqlite(&error, file);
    let found = version(sql).map_err(failed)?;
    let known = u32::try_from(migrations.len()).unwrap_or(u32::MAX);
    // Refused before any write: an older program does not know what it would break.
    if found > known {
        return Err(StoreError::NewerSchema {
            file: file.to_owned(),
            found,
            known,
        });
    }
    if found == known {
        return Ok(false);
    }
    let missing = (1..).zip(migrations).skip(found as usize);
    apply(sql, missing).map_err(failed)?;
    tracing::info!(
        from = found,
        to = known,
        "the database's schema was brought up to date"
    );
    Ok(true)
}

/// Reads the schema version of the file.
pub(crate) fn version(sql: &Connection) -> rusqlite::Result<u32> {
    sql.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn apply<'a>(
    sql: &Connection,
    migrations: impl Iterator<Item = (u32, &'a &'a str)>,
) -> rusqlite::Result<()> {
    sql.execute_batch("BEGIN IMMEDIATE")?;
    let applied = (|| {
        sql.pragma_update(None, "application_id", APPLICATION_ID)?;
        for (version, migration) in migrations {
            // The version is part of the transaction: a crash leaves both the old schema and the
            // old number.
            sql.pragma_update(None, "user_version", version)?;
            failpoint::reach("store.migrate.before");
            sql.execute_batch(migration)?;
        }
        sql.execute_batch("COMMIT")
    })();
    if applied.is_err() && !sql.is_autocommit() {
        // The first error is reported. Without a commit the transaction ends anyway.
        let _ = sql.execute_batch("ROLLBACK");
    }
    failpoint::reach("store.migrate.after");
    applied
}

#[cfg(test)]
#[path = "migrations_tests.rs"]
mod tests;
