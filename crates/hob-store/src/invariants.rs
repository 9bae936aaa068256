//! The invariants across the tables of the database, as queries that find violations.
//! `structure_check` and `verify` check the rest.

use rusqlite::Connection;

/// Each invariant with the query that finds its violations.
pub(crate) const INVARIANTS: &[(&str, &str)] = &[
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

/// Runs a query whose rows are problems, and returns them.
pub(crate) fn select_problems(sql: &Connection, select: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = sql.prepare(select)?;
    let rows = select.query_map([], |row| row.get(0))?;
    rows.collect()
}
