//! Raw SQLite: the rows of one appended message (the message, its event, its session's counters),
//! committed in hand-made batches with the same durability.

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
pub(crate) fn append(dir: &Path, count: i64, sessions: i64, batch: i64) -> Result<Duration> {
    let mut connection = Connection::open(dir.join("raw.db"))?;
    connection.execute_batch(SCHEMA)?;
    for session in 0..sessions {
        connection.execute(
            "INSERT INTO sessions VALUES (?1, ?2, 'main', 0, 0)",
            params![session, session.to_le_bytes()],
        )?;
    }
    let content = serde_json::to_string(&super::super::rows::append::text())?;
    let started = Instant::now();
    let mut done = 0;
    while done < count {
        let transaction = connection.transaction()?;
        for at in done..count.min(done + batch) {
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
        done += batch;
    }
    Ok(started.elapsed())
}
