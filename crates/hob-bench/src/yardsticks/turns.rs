//! Raw SQLite: the rows of one turn in three commits (accepted; begun with its journal, message
//! and reserved money; answered with its journal, message, settled money and end), in hand-made
//! batches with the same durability.

use crate::rows::turns::{ANSWER, TASK};
use anyhow::Result;
use rusqlite::{Connection, Transaction, params};
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
        content TEXT NOT NULL) STRICT;
    CREATE UNIQUE INDEX messages_place ON messages (session, seq);
    CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, topic TEXT NOT NULL,
        source TEXT NOT NULL, session INTEGER, message INTEGER, run INTEGER, payload BLOB) STRICT;
    CREATE TABLE runs (row_id INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
        session INTEGER NOT NULL, queued_at INTEGER NOT NULL, journal_len INTEGER NOT NULL,
        state TEXT NOT NULL, text TEXT NOT NULL, input_tokens INTEGER NOT NULL,
        output_tokens INTEGER NOT NULL, model TEXT, ended_at INTEGER) STRICT;
    CREATE INDEX runs_session ON runs (session);
    CREATE INDEX runs_live ON runs (session) WHERE state <> 'done';
    CREATE INDEX runs_state ON runs (state) WHERE state <> 'done';
    CREATE TABLE run_tasks (run INTEGER PRIMARY KEY, task TEXT NOT NULL, limits TEXT NOT NULL,
        params TEXT NOT NULL) STRICT;
    CREATE TABLE journal (run INTEGER NOT NULL, place INTEGER NOT NULL, entry TEXT NOT NULL,
        PRIMARY KEY (run, place)) STRICT, WITHOUT ROWID;
    CREATE TABLE ledger (row_id INTEGER PRIMARY KEY, call_key TEXT NOT NULL UNIQUE, run BLOB,
        session INTEGER, at INTEGER NOT NULL, day INTEGER NOT NULL, model TEXT NOT NULL,
        state TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL) STRICT;
    CREATE INDEX ledger_session ON ledger (session, day);
    CREATE TABLE spending (day INTEGER NOT NULL, model TEXT NOT NULL, calls INTEGER NOT NULL,
        input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
        PRIMARY KEY (day, model)) STRICT, WITHOUT ROWID;";

const MODEL: &str = "sim/sim-small";
/// As long as those of such a run: its limits, parameters, inputs, and what its events say.
const LIMITS_BYTES: usize = 112;
const PARAMS_BYTES: usize = 80;
const ENTRY_BYTES: usize = 97;
const PAYLOAD_BYTES: usize = 178;

/// Writes `count` turns, one at a time on each of `batch` sessions, a commit for each third of all
/// their turns.
#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
pub(crate) fn write(dir: &Path, count: i64, batch: i64) -> Result<Duration> {
    let mut connection = Connection::open(dir.join("raw.db"))?;
    connection.execute_batch(SCHEMA)?;
    connection.set_prepared_statement_cache_capacity(32);
    for session in 0..batch {
        connection.execute(
            "INSERT INTO sessions VALUES (?1, ?2, 'main', 0, 0)",
            params![session, session.to_le_bytes()],
        )?;
    }
    let started = Instant::now();
    let mut done = 0;
    while done < count {
        let turns = || (done..count.min(done + batch)).map(|at| YardstickTurn::new(at, batch));
        for third in [
            YardstickTurn::accept,
            YardstickTurn::begin,
            YardstickTurn::complete,
        ] {
            let transaction = connection.transaction()?;
            for turn in turns() {
                third(&turn, &transaction)?;
            }
            transaction.commit()?;
        }
        done += batch;
    }
    Ok(started.elapsed())
}

/// One turn of one session.
struct YardstickTurn {
    at: i64,
    session: i64,
    /// Messages of the session before it.
    messages: i64,
    id: [u8; 16],
}

impl YardstickTurn {
    fn new(at: i64, sessions: i64) -> Self {
        YardstickTurn {
            at,
            session: at % sessions,
            messages: at / sessions * 2,
            id: i128::from(at).to_be_bytes(),
        }
    }

    fn accept(&self, sql: &Transaction<'_>) -> Result<()> {
        sql.prepare_cached(
            "INSERT INTO runs VALUES (?1, ?2, ?3, ?4, 0, 'queued', '', 0, 0, NULL, NULL)",
        )?
        .execute(params![self.at, self.id, self.session, self.at])?;
        sql.prepare_cached("INSERT INTO run_tasks VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![
                self.at,
                TASK,
                "l".repeat(LIMITS_BYTES),
                "p".repeat(PARAMS_BYTES)
            ])?;
        self.event(sql, "run.queued", None)
    }

    fn begin(&self, sql: &Transaction<'_>) -> Result<()> {
        self.journal(sql, 0)?;
        self.message(sql, "user", TASK)?;
        sql.prepare_cached(
            "INSERT INTO ledger VALUES (NULL, ?1, ?2, ?3, ?4, 1, ?5, 'reserved', 0, 0)",
        )?
        .execute(params![
            self.call_key(),
            self.id,
            self.session,
            self.at,
            MODEL
        ])?;
        Self::spend(sql, 0)?;
        sql.prepare_cached(
            "UPDATE runs SET journal_len = 1, state = 'running', model = ?2 WHERE row_id = ?1",
        )?
        .execute(params![self.at, MODEL])?;
        self.event(sql, "run.started", Some(PAYLOAD_BYTES))
    }

    fn complete(&self, sql: &Transaction<'_>) -> Result<()> {
        self.journal(sql, 1)?;
        self.message(sql, "assistant", ANSWER)?;
        sql.prepare_cached(
            "UPDATE ledger SET state = 'settled', input_tokens = 100, output_tokens = 5
             WHERE call_key = ?1",
        )?
        .execute([self.call_key()])?;
        Self::spend(sql, 100)?;
        sql.prepare_cached(
            "UPDATE runs SET journal_len = 2, state = 'done', text = ?2, input_tokens = 100,
             output_tokens = 5, ended_at = ?1 WHERE row_id = ?1",
        )?
        .execute(params![self.at, ANSWER])?;
        self.event(sql, "run.step", Some(PAYLOAD_BYTES))?;
        self.event(sql, "run.completed", None)
    }

    fn call_key(&self) -> String {
        format!("{:036}/1/1", self.at)
    }

    fn journal(&self, sql: &Transaction<'_>, place: i64) -> Result<()> {
        sql.prepare_cached("INSERT INTO journal VALUES (?1, ?2, ?3)")?
            .execute(params![self.at, place, "e".repeat(ENTRY_BYTES)])?;
        Ok(())
    }

    fn message(&self, sql: &Transaction<'_>, role: &str, content: &str) -> Result<()> {
        let seq = self.messages + if role == "user" { 1 } else { 2 };
        sql.prepare_cached("INSERT INTO messages VALUES (NULL, ?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![self.session, seq, self.id, role, self.at, content])?;
        let message = sql.last_insert_rowid();
        sql.prepare_cached(
            "UPDATE sessions SET updated_at = ?2, message_count = ?3 WHERE row_id = ?1",
        )?
        .execute(params![self.session, self.at, seq])?;
        sql.prepare_cached(
            "INSERT INTO events
             VALUES (NULL, ?1, 'session.message', 'sessions', ?2, ?3, NULL, NULL)",
        )?
        .execute(params![self.at, self.session, message])?;
        Ok(())
    }

    fn event(&self, sql: &Transaction<'_>, topic: &str, payload: Option<usize>) -> Result<()> {
        sql.prepare_cached("INSERT INTO events VALUES (NULL, ?1, ?2, 'agent', ?3, NULL, ?1, ?4)")?
            .execute(params![
                self.at,
                topic,
                self.session,
                payload.map(|bytes| vec![b'x'; bytes])
            ])?;
        Ok(())
    }

    fn spend(sql: &Transaction<'_>, tokens: i64) -> Result<()> {
        sql.prepare_cached(
            "INSERT INTO spending VALUES (1, ?1, 1, ?2, 5) ON CONFLICT (day, model) DO UPDATE
             SET calls = calls + excluded.calls,
                 input_tokens = input_tokens + excluded.input_tokens,
                 output_tokens = output_tokens + excluded.output_tokens",
        )?
        .execute(params![MODEL, tokens])?;
        Ok(())
    }
}
