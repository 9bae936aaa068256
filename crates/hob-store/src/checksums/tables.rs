//! The covered tables: their columns, and the description of their rows.
//!
//! To add a column to a covered table, append one line to its `columns`: `column("name")` if it is
//! NULL in older rows, `column_or("name", "0")` if it has this default in the schema. The order is
//! part of the checksum: lines are only ever appended. A test compares the lists with the schema.

use rusqlite::{Connection, Params, Row};

/// A table whose rows have checksums.
#[derive(Debug)]
pub(crate) struct CoveredTable {
    pub(crate) name: &'static str,
    /// Part of each checksum, so that a row of one table never matches in another. Never changed.
    number: u8,
    pub(crate) key: &'static [&'static str],
    columns: &'static [CoveredColumn],
    /// SQL for the session's key and id, the row's number, and its id.
    pub(super) named_by: [&'static str; 4],
    /// The subject of a sentence about a row; `{session}`, `{number}` and `{id}` are filled in.
    pub(super) subject: &'static str,
    /// The consequence of damage, and advice.
    pub(super) consequence: &'static str,
    /// SQL for the approximate bytes of a row, if older rows are filled as bulk work. The small
    /// tables are filled when the store is opened.
    pub(super) bulk_bytes: Option<&'static str>,
}

/// A column that the checksum covers.
#[derive(Clone, Copy, Debug)]
struct CoveredColumn {
    name: &'static str,
    /// The default in the schema, which adds nothing to the checksum.
    default: Option<&'static str>,
}

const fn column(name: &'static str) -> CoveredColumn {
    CoveredColumn {
        name,
        default: None,
    }
}

/// A column that was added with a default to a table with rows.
#[allow(dead_code, reason = "the next such column uses it")]
const fn column_or(name: &'static str, default: &'static str) -> CoveredColumn {
    CoveredColumn {
        name,
        default: Some(default),
    }
}

const RESTORE: &str = "Restore a backup to get it back; 'hob verify' lists everything damaged.";

pub(crate) static MESSAGES: CoveredTable = CoveredTable {
    name: "messages",
    number: 1,
    key: &["row_id"],
    columns: &[
        column("session"),
        column("seq"),
        column("id"),
        column("role"),
        column("at"),
        column("idempotency_key"),
        column("content"),
        column("run"),
        column("step"),
        column("attempt"),
        column("outcome"),
    ],
    named_by: [
        "(SELECT s.key FROM sessions s WHERE s.row_id = t.session)",
        "(SELECT s.id FROM sessions s WHERE s.row_id = t.session)",
        "t.seq",
        "NULL",
    ],
    subject: "Message {number} of session '{session}'",
    consequence: RESTORE,
    bulk_bytes: Some("octet_length(t.content)"),
};

pub(crate) static JOURNAL: CoveredTable = CoveredTable {
    name: "journal",
    number: 2,
    key: &["run", "place"],
    columns: &[column("entry"), column("blob")],
    named_by: [
        "(SELECT s.key FROM runs r JOIN sessions s ON s.row_id = r.session WHERE r.row_id = t.run)",
        "(SELECT s.id FROM runs r JOIN sessions s ON s.row_id = r.session WHERE r.row_id = t.run)",
        "t.place",
        "(SELECT r.id FROM runs r WHERE r.row_id = t.run)",
    ],
    subject: "Entry {number} in the journal of run {id} (session '{session}')",
    consequence: "The run cannot be resumed or replayed; 'hob verify' lists everything damaged.",
    bulk_bytes: Some("ifnull(octet_length(t.entry), 0)"),
};

pub(crate) static RUNS: CoveredTable = CoveredTable {
    name: "runs",
    number: 3,
    key: &["row_id"],
    columns: &[
        column("id"),
        column("session"),
        column("asked"),
        column("idempotency_key"),
        column("params_hash"),
        column("queued_at"),
        column("journal_len"),
        column("first_message"),
        column("last_message"),
        column("state"),
        column("step"),
        column("attempt"),
        column("resumed"),
        column("text"),
        column("success"),
        column("cause"),
        column("message"),
        column("micro_dollars"),
        column("input_tokens"),
        column("output_tokens"),
        column("calls"),
        column("model"),
        column("notes"),
        column("started_at"),
        column("ended_at"),
        column("parent"),
        column("payer"),
    ],
    named_by: [
        "(SELECT s.key FROM sessions s WHERE s.row_id = t.session)",
        "(SELECT s.id FROM sessions s WHERE s.row_id = t.session)",
        "t.row_id",
        "t.id",
    ],
    subject: "Run {id} of session '{session}'",
    consequence: RESTORE,
    bulk_bytes: Some("octet_length(t.text) + octet_length(t.notes)"),
};

pub(crate) static RUN_TASKS: CoveredTable = CoveredTable {
    name: "run_tasks",
    number: 4,
    key: &["run"],
    columns: &[
        column("task"),
        column("limits"),
        column("params"),
        column("params_blob"),
    ],
    named_by: [
        "(SELECT s.key FROM runs r JOIN sessions s ON s.row_id = r.session WHERE r.row_id = t.run)",
        "(SELECT s.id FROM runs r JOIN sessions s ON s.row_id = r.session WHERE r.row_id = t.run)",
        "t.run",
        "(SELECT r.id FROM runs r WHERE r.row_id = t.run)",
    ],
    subject: "The task of run {id} (session '{session}')",
    consequence: RESTORE,
    bulk_bytes: Some("octet_length(t.task) + ifnull(octet_length(t.params), 0)"),
};

pub(crate) static RULES: CoveredTable = CoveredTable {
    name: "rules",
    number: 5,
    key: &["row_id"],
    columns: &[
        column("id"),
        column("tool"),
        column("scope"),
        column("session"),
        column("run"),
        column("terms"),
        column("created_at"),
        column("created_by"),
        column("expires_at"),
        column("idempotency_key"),
    ],
    named_by: ["NULL", "NULL", "t.row_id", "t.id"],
    subject: "The permission rule '{id}'",
    consequence: "It allows nothing. As it may have been a denial, hob asks before every call \
                  until you remove it: 'hob permission remove {id}'.",
    bulk_bytes: None,
};

pub(crate) static JOBS: CoveredTable = CoveredTable {
    name: "jobs",
    number: 6,
    key: &["row_id"],
    columns: &[
        column("id"),
        column("name"),
        column("terms"),
        column("enabled"),
        column("cursor"),
        column("failures"),
        column("problem"),
        column("nonce"),
        column("created_at"),
        column("updated_at"),
    ],
    named_by: ["NULL", "NULL", "t.row_id", "t.name"],
    subject: "The job '{id}'",
    consequence: "It does not run any more. Remove it with 'hob cron remove {id}' and add it again.",
    bulk_bytes: None,
};

pub(crate) static TOKENS: CoveredTable = CoveredTable {
    name: "tokens",
    number: 7,
    key: &["id"],
    columns: &[
        column("name"),
        column("scopes"),
        column("secret_hash"),
        column("created_at"),
        column("expires_at"),
        column("revoked_at"),
        column("workspaces"),
    ],
    named_by: ["NULL", "NULL", "NULL", "t.id"],
    subject: "The token '{id}'",
    consequence: "It opens nothing any more. Remove it with 'hob token revoke {id}' and make a new one.",
    bulk_bytes: None,
};

pub(crate) static AUDIT: CoveredTable = CoveredTable {
    name: "audit",
    number: 8,
    key: &["seq"],
    columns: &[
        column("at"),
        column("act"),
        column("by"),
        column("session_key"),
        column("run"),
        column("tool"),
        column("matter"),
        column("previous"),
        column("hash"),
    ],
    named_by: ["t.session_key", "NULL", "t.seq", "NULL"],
    subject: "Entry {number} of the audit record",
    consequence: RESTORE,
    bulk_bytes: Some("octet_length(t.matter)"),
};

/// Every covered table.
pub(crate) static COVERED: [&CoveredTable; 8] = [
    &MESSAGES, &JOURNAL, &RUNS, &RUN_TASKS, &RULES, &JOBS, &TOKENS, &AUDIT,
];

impl CoveredTable {
    /// Returns SQL for the state of a row under `alias`: 1 if it is whole, 0 if it is damaged, NULL
    /// if it has no checksum. [`CoveredTable::is_whole`] reads it.
    pub(crate) fn checksum_state_sql(&self, alias: &str) -> String {
        let sum = self.checksum_sql(|column| format!("{alias}.{column}"));
        format!(
            // `IS`, not `=`: a missing checksum compares as different, not as NULL.
            "CASE WHEN {alias}.checksum IS {sum} THEN 1 WHEN {alias}.checksum IS NULL THEN NULL ELSE 0 END"
        )
    }

    /// Returns an INSERT of these columns with their checksum. Every column that is not NULL must
    /// be among them, the key too.
    pub(crate) fn insert_sql(&self, columns: &[&str]) -> String {
        let place = |name: &str| columns.iter().position(|column| *column == name);
        let value = |name: &str| match place(name) {
            Some(place) => format!("?{}", place + 1),
            // A column that is not given is NULL in the row, and so in the checksum.
            None => "NULL".to_owned(),
        };
        let given: Vec<String> = columns.iter().map(|name| value(name)).collect();
        format!(
            "INSERT INTO {} ({}, checksum) VALUES ({}, {})",
            self.name,
            columns.join(", "),
            given.join(", "),
            self.checksum_sql(value)
        )
    }

    /// Writes the checksum of the row with this key, after it was inserted or changed in the same
    /// transaction.
    pub(crate) fn write_checksum(
        &self,
        sql: &Connection,
        key: impl Params,
    ) -> rusqlite::Result<()> {
        let sum = self.checksum_sql(str::to_owned);
        let seal = format!(
            "UPDATE {} SET checksum = {sum} WHERE {}",
            self.name,
            self.key_condition("")
        );
        sql.prepare_cached(&seal)?.execute(key).map(drop)
    }

    /// Reads the [`CoveredTable::checksum_state_sql`] in this column: true if the row is whole.
    /// `key` is its key, with 0 for a missing second part.
    pub(crate) fn is_whole(
        &self,
        sql: &Connection,
        row: &Row<'_>,
        column: usize,
        key: (i64, i64),
    ) -> rusqlite::Result<bool> {
        match row.get::<_, Option<bool>>(column)? {
            Some(is_whole) => Ok(is_whole),
            None => self.is_unfilled(sql, key),
        }
    }

    /// True if the row with this key has not got its first checksum yet.
    fn is_unfilled(&self, sql: &Connection, key: (i64, i64)) -> rusqlite::Result<bool> {
        // Small tables are filled before the store opens, so a missing checksum is damage.
        if self.bulk_bytes.is_none() {
            return Ok(false);
        }
        let mut select = sql.prepare_cached(
            "SELECT 1 FROM checksum_fill WHERE name = ?1 AND (?2, ?3) > (major, minor)
             AND (?2, ?3) <= (last_major, last_minor)",
        )?;
        select.exists((self.name, key.0, key.1))
    }

    /// True if its key is one number or two.
    pub(crate) fn is_numbered(&self) -> bool {
        // Tokens are the only covered table with a text key.
        self.key != ["id"]
    }

    /// Returns a SELECT for checking every row: the two parts of its key, its state, its name. With
    /// a numeric key it reads `?3` rows after the key `?1`, `?2`.
    pub(crate) fn scan_sql(&self) -> String {
        let (state, named) = (self.checksum_state_sql("t"), self.named_by.join(", "));
        let name = self.name;
        match self.key {
            [major, minor] => format!(
                "SELECT t.{major}, t.{minor}, {state}, {named} FROM {name} t
                 WHERE (t.{major}, t.{minor}) > (?1, ?2) ORDER BY t.{major}, t.{minor} LIMIT ?3"
            ),
            [major] if self.is_numbered() => format!(
                "SELECT t.{major}, 0, {state}, {named} FROM {name} t
                 WHERE t.{major} > ?1 AND ?2 = ?2 ORDER BY t.{major} LIMIT ?3"
            ),
            _ => format!("SELECT 0, 0, {state}, {named} FROM {name} t"),
        }
    }

    /// Returns the condition that finds a row by its key, from the first parameter on.
    pub(crate) fn key_condition(&self, alias: &str) -> String {
        let columns = self.key.iter().enumerate();
        let parts: Vec<String> = columns
            .map(|(place, column)| format!("{alias}{column} = ?{}", place + 1))
            .collect();
        parts.join(" AND ")
    }

    /// The names of all covered columns.
    #[cfg(test)]
    pub(crate) fn column_names(&self) -> Vec<&'static str> {
        let columns = self.columns.iter().map(|column| column.name);
        self.key.iter().copied().chain(columns).collect()
    }

    /// Returns the SQL of a row's checksum; `value` gives the SQL of each column.
    pub(super) fn checksum_sql(&self, value: impl Fn(&str) -> String) -> String {
        let key = self.key.iter().map(|name| value(name));
        let columns = self.columns.iter().map(|column| match column.default {
            // The default counts as NULL: older rows have it in this column without a new checksum.
            Some(default) => format!("nullif({}, {default})", value(column.name)),
            None => value(column.name),
        });
        let values: Vec<String> = key.chain(columns).collect();
        format!("row_checksum({}, {})", self.number, values.join(", "))
    }
}
