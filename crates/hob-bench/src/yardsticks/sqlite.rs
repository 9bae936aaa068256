//! Raw SQLite: the rows of one appended message (the message, its event, its session's counters),
//! and those of a job's slot, committed in hand-made batches with the same durability.

use crate::measure::LatencySamples;
use crate::rows::append::{self, AppendRound};
use anyhow::Result;
use rusqlite::{Connection, params};
use std::path::Path;
use std::time::{Duration, Instant};

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE sessions (row_id INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, kind TEXT NOT NULL,
        updated_at INTEGER NOT NULL, message_count INTEGER NOT NULL) STRICT;
    CREATE INDEX sessions_recent ON sessions (updated_at);
    CREATE INDEX sessions_kind_recent ON sessions (kind, updated_at);
    CREATE TABLE messages (row_id INTEGER PRIMARY KEY, session INTEGER NOT NULL,
        seq INTEGER NOT NULL, id BLOB NOT NULL, role TEXT NOT NULL, at INTEGER NOT NULL,
        idempotency_key TEXT, content TEXT NOT NULL) STRICT;
    CREATE UNIQUE INDEX messages_place ON messages (session, seq);
    CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, topic TEXT NOT NULL,
        source TEXT NOT NULL, session INTEGER, message INTEGER) STRICT;";

/// Appends `count` messages round robin to `sessions` sessions, `batch` a commit.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn append(dir: &Path, count: i64, sessions: i64, batch: i64) -> Result<AppendRound> {
    let mut connection = Connection::open(dir.join("raw.db"))?;
    connection.execute_batch(SCHEMA)?;
    for session in 0..sessions {
        connection.execute(
            "INSERT INTO sessions VALUES (?1, ?2, 'main', 0, 0)",
            params![session, session.to_le_bytes()],
        )?;
    }
    let content = serde_json::to_string(&append::text())?;
    let mut latencies = LatencySamples::default();
    let started = Instant::now();
    let mut done = 0;
    while done < count {
        let begun = Instant::now();
        let end = count.min(done + batch);
        let transaction = connection.transaction()?;
        for at in done..end {
            let session = at % sessions;
            let seq = at / sessions + 1;
            transaction
                .prepare_cached(
                    "INSERT INTO messages VALUES (NULL, ?1, ?2, ?3, 'user', ?4, NULL, ?5)",
                )?
                .execute(params![
                    session,
                    seq,
                    i128::from(at).to_be_bytes(),
                    at,
                    content
                ])?;
            let message = transaction.last_insert_rowid();
            transaction
                .prepare_cached(
                    "UPDATE sessions SET updated_at = ?2, message_count = ?3 WHERE row_id = ?1",
                )?
                .execute(params![session, at, seq])?;
            transaction
                .prepare_cached(
                    "INSERT INTO events VALUES (NULL, ?1, 'session.message', 'sessions', ?2, ?3)",
                )?
                .execute(params![at, session, message])?;
        }
        transaction.commit()?;
        let latency = begun.elapsed();
        for _ in done..end {
            latencies.push(latency);
        }
        done = end;
    }
    let elapsed = started.elapsed();
    Ok(AppendRound { elapsed, latencies })
}

const SLOTS_SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE jobs (row_id INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
        cursor INTEGER NOT NULL) STRICT;
    CREATE TABLE slots (number INTEGER PRIMARY KEY, job INTEGER NOT NULL, key TEXT NOT NULL,
        due_at INTEGER NOT NULL, state TEXT NOT NULL, session_key TEXT) STRICT;
    CREATE UNIQUE INDEX slots_key ON slots (job, key);
    CREATE INDEX slots_job ON slots (job, number);
    CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, topic TEXT NOT NULL,
        source TEXT NOT NULL, payload BLOB) STRICT;";

/// Opens a slot of each of `count` jobs, `batch` a commit; after how long each was on disk.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn slots(dir: &Path, count: i64, batch: i64) -> Result<Vec<Duration>> {
    let mut connection = Connection::open(dir.join("raw.db"))?;
    connection.execute_batch(SLOTS_SCHEMA)?;
    let transaction = connection.transaction()?;
    for job in 0..count {
        let id = format!("cron-{job:016x}");
        transaction.execute("INSERT INTO jobs VALUES (?1, ?2, 0)", params![job, id])?;
    }
    transaction.commit()?;
    let payload = vec![b'x'; 250];
    let started = Instant::now();
    let mut times = Vec::new();
    let mut done = 0;
    while done < count {
        let transaction = connection.transaction()?;
        let end = count.min(done + batch);
        for job in done..end {
            transaction
                .prepare_cached("UPDATE jobs SET cursor = ?2 WHERE row_id = ?1")?
                .execute(params![job, job])?;
            transaction
                .prepare_cached("INSERT INTO slots VALUES (NULL, ?1, ?2, ?3, 'due', ?4)")?
                .execute(params![job, "2026-11-16T09:00:00Z", job, "cron:job:2026"])?;
            transaction
                .prepare_cached("INSERT INTO events VALUES (NULL, ?1, 'cron.trigger', 'cron', ?2)")?
                .execute(params![job, payload])?;
        }
        transaction.commit()?;
        times.extend((done..end).map(|_| started.elapsed()));
        done = end;
    }
    Ok(times)
}
