//! Looking for rot. SQLite notices a damaged page only when it meets it; these look everywhere.

use crate::blobs::{Hash, folder_of, problem as blob_problem};
use crate::connection::{beside, open_reader};
use crate::error::{StoreError, Trouble};
use crate::findings::{Held, Loss};
use crate::inspect::inspect;
use crate::migrations;
use crate::structure_check::is_read_failure;
use rusqlite::Connection;
use std::path::Path;

/// Problems named; more say nothing new.
const PROBLEMS_MAX: usize = 100;

/// What [`verify`] found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    /// What is wrong, a sentence each; empty when all is well.
    pub problems: Vec<String>,
    /// What may be wrong, where nothing is left that could tell.
    pub doubts: Vec<String>,
    /// What is unusual and harmless, such as a write that a crash cut off.
    pub notes: Vec<String>,
}

/// Checks structure and rules of a whole database that nobody has open.
pub(crate) fn verify(database: &Path) -> Result<Verdict, StoreError> {
    let mut verdict = Verdict::default();
    if !database.exists() && !beside(database, ".mark").exists() {
        verdict.notes.push(format!(
            "There is no database yet at '{}'.",
            database.display()
        ));
        return Ok(verdict);
    }
    let inspection = inspect(database, true)?;
    let sql = open_reader(database).map_err(|error| StoreError::of_sqlite(&error, database))?;
    for finding in inspection.findings(database, Held::read(&sql).ok()) {
        match finding.loss {
            Loss::None => verdict.notes.push(finding.text),
            Loss::Possible => verdict.doubts.push(finding.text),
            Loss::Certain => verdict.problems.push(finding.text),
        }
    }
    let checked = check_all(&sql, database, &mut verdict);
    match checked.map_err(|trouble| trouble.about(database)) {
        Ok(()) => {}
        Err(error @ StoreError::Damaged { .. }) => verdict.problems.push(error.to_string()),
        Err(error) => return Err(error),
    }
    Ok(verdict)
}

fn check_all(sql: &Connection, database: &Path, verdict: &mut Verdict) -> Result<(), Trouble> {
    let version = migrations::version(sql)?;
    if version != migrations::SCHEMA {
        verdict.notes.push(format!(
            "The database has schema {version}; this hob writes {}.",
            migrations::SCHEMA
        ));
        return Ok(());
    }
    let check = format!("PRAGMA integrity_check({PROBLEMS_MAX})");
    let mut rows = problems(sql, &check)?;
    if rows.iter().any(|row| is_read_failure(row)) {
        // The disk failed to read: look once more before the file is called damaged.
        rows = problems(sql, &check)?;
    }
    if let Some(row) = rows.iter().find(|row| is_read_failure(row)) {
        return Err(StoreError::Io(format!("'{}': {row}", database.display())).into());
    }
    for row in rows {
        if row != "ok" {
            verdict.problems.push(row);
        }
    }
    for (rule, select) in RULES {
        for row in problems(sql, select)? {
            verdict.problems.push(format!("{rule}: {row}"));
        }
    }
    check_blobs(sql, &folder_of(database), verdict)
}

/// Every blob that a row names is there, and what its name says.
fn check_blobs(sql: &Connection, folder: &Path, verdict: &mut Verdict) -> Result<(), Trouble> {
    let mut select = sql.prepare(
        "SELECT params_blob FROM run_tasks WHERE params_blob IS NOT NULL
         UNION SELECT blob FROM journal WHERE blob IS NOT NULL
         UNION SELECT blob FROM changes WHERE blob IS NOT NULL
         UNION SELECT blob FROM outputs",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let problem = blob_problem(folder, Hash(row.get(0)?));
        let problem = problem.map(|problem| problem.to_string());
        verdict.problems.extend(problem);
        if verdict.problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    Ok(())
}

/// What must always hold, and the query that finds where it does not.
const RULES: &[(&str, &str)] = &[
    (
        "Messages of a session are numbered from 1 without holes, and counted",
        "SELECT 'session ' || s.row_id || ' counts ' || s.message_count || ' and has '
                || count(m.row_id) || ', numbered ' || ifnull(min(m.seq), 0) || ' to '
                || ifnull(max(m.seq), 0)
         FROM sessions s LEFT JOIN messages m ON m.session = s.row_id GROUP BY s.row_id
         HAVING count(m.row_id) <> s.message_count
             OR (s.message_count > 0 AND (min(m.seq) <> 1 OR max(m.seq) <> s.message_count))
         LIMIT 20",
    ),
    (
        "Every message has its session, or one that is being deleted",
        "SELECT 'session ' || m.session FROM messages m
         LEFT JOIN sessions s ON s.row_id = m.session
         LEFT JOIN deletions d ON d.session = m.session
         WHERE s.row_id IS NULL AND d.session IS NULL GROUP BY m.session LIMIT 20",
    ),
    (
        "Every content is JSON",
        "SELECT 'message ' || row_id FROM messages WHERE NOT json_valid(content) LIMIT 20",
    ),
    (
        "Every metadata is JSON",
        "SELECT 'session ' || row_id FROM sessions WHERE NOT json_valid(metadata) LIMIT 20",
    ),
    (
        "Events are numbered from 1",
        "SELECT 'event ' || seq FROM events WHERE seq < 1 LIMIT 20",
    ),
    (
        "Every run has its task, and its session or one that is being deleted",
        "SELECT 'run ' || r.row_id FROM runs r LEFT JOIN run_tasks t ON t.run = r.row_id
         LEFT JOIN sessions s ON s.row_id = r.session
         LEFT JOIN deletions d ON d.session = r.session
         WHERE t.run IS NULL OR (s.row_id IS NULL AND d.session IS NULL) LIMIT 20",
    ),
    (
        "A run has a cause and an end when it is done, and only then",
        "SELECT 'run ' || row_id FROM runs WHERE (state = 'done') <> (ended_at IS NOT NULL)
             OR (state = 'done') <> (cause IS NOT NULL) LIMIT 20",
    ),
    (
        "Entries of a journal are numbered from 0 without holes, and counted",
        "SELECT 'run ' || r.row_id || ' counts ' || r.journal_len || ' and has ' || count(j.place)
         FROM runs r LEFT JOIN journal j ON j.run = r.row_id
         JOIN sessions s ON s.row_id = r.session GROUP BY r.row_id
         HAVING count(j.place) <> r.journal_len
             OR (r.journal_len > 0 AND (min(j.place) <> 0 OR max(j.place) <> r.journal_len - 1))
         LIMIT 20",
    ),
    (
        "Every entry of a journal has its run",
        "SELECT 'run ' || j.run FROM journal j LEFT JOIN runs r ON r.row_id = j.run
         WHERE r.row_id IS NULL GROUP BY j.run LIMIT 20",
    ),
    (
        "The sums of a day and model are those of the ledger",
        "SELECT day || ' ' || model FROM (
             SELECT day, model, calls, unpriced, micro_dollars, input_tokens, output_tokens
             FROM spending UNION ALL
             SELECT day, model, -1, -(micro_dollars IS NULL), -ifnull(micro_dollars, 0),
                    -input_tokens, -output_tokens FROM ledger)
         GROUP BY day, model HAVING sum(calls) <> 0 OR sum(unpriced) <> 0
             OR sum(micro_dollars) <> 0 OR sum(input_tokens) <> 0 OR sum(output_tokens) <> 0
         LIMIT 20",
    ),
    (
        "What a session has spent is what the ledger says",
        "SELECT 'session ' || s.row_id FROM sessions s
         LEFT JOIN ledger l ON l.session = s.row_id GROUP BY s.row_id
         HAVING s.spent <> ifnull(sum(l.micro_dollars), 0) LIMIT 20",
    ),
];

pub(crate) fn problems(sql: &Connection, select: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = sql.prepare(select)?;
    let rows = select.query_map([], |row| row.get(0))?;
    rows.collect()
}
