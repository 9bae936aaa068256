//! Every column of every covered table is in its checksum; rows of former versions get theirs step
//! by step, and a checksum never covers up damage.

use super::backfill::{backfill_small_tables, backfill_step};
use super::tables::COVERED;
use crate::connection::open_draft;
use crate::migrations::migrate;
use rusqlite::Connection;
use rusqlite::types::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// A row in each covered table, each column filled, with its checksum.
fn filled() -> (tempfile::TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.db");
    std::fs::write(&path, "").unwrap();
    let sql = open_draft(&path).unwrap();
    migrate(&sql, Path::new("x.db")).unwrap();
    backfill_small_tables(&sql).unwrap();
    sql.execute_batch(
        "INSERT INTO sessions (row_id, id, key, kind, created_at, updated_at, message_count, metadata)
             VALUES (1, zeroblob(16), 'chat:main', 'main', 1, 1, 1, '{}');
         INSERT INTO messages (row_id, session, seq, id, role, at, idempotency_key, content)
             VALUES (1, 1, 1, zeroblob(16), 'user', 5, 'k', '\"one\"');
         INSERT INTO messages (row_id, session, seq, id, role, at, content, run, step, attempt, outcome)
             VALUES (2, 1, 2, zeroblob(16), 'tool', 5, '\"two\"', 1, 2, 3, '{}');
         INSERT INTO runs (row_id, id, session, asked, idempotency_key, params_hash, queued_at,
                first_message, last_message, cause, message, micro_dollars, model, started_at,
                ended_at, parent, payer)
             VALUES (1, zeroblob(16), 1, 1, 'k', zeroblob(32), 5, 1, 1, 'answered', 'm', 7, 'sim', 6,
                7, zeroblob(16), 1);
         INSERT INTO run_tasks VALUES (1, 'task', '{}', '{}', NULL, NULL);
         INSERT INTO run_tasks VALUES (2, 'task', '{}', NULL, zeroblob(32), NULL);
         INSERT INTO journal VALUES (1, 0, '{}', NULL, NULL), (1, 1, NULL, zeroblob(32), NULL);
         INSERT INTO rules VALUES (1, 'r1', 'exec', 'always', 1, zeroblob(16), '{}', 5, 'owner', 9,
                'k', NULL);
         INSERT INTO jobs VALUES (1, 'j1', 'tidy', '{}', 1, 5, 0, 'p', 'n', 5, 5, NULL);
         INSERT INTO tokens VALUES ('t1', 'phone', 'read', zeroblob(32), 5, 9, 8, '[]', NULL);
         INSERT INTO audit VALUES (1, 5, 'allowed', 'owner', 'chat:main', zeroblob(16), 'exec', '{}',
                'a', 'b', NULL);",
    )
    .unwrap();
    for table in COVERED {
        let sum = table.checksum_sql(str::to_owned);
        let seal = format!("UPDATE {} SET checksum = {sum}", table.name);
        assert!(sql.execute(&seal, []).unwrap() > 0);
    }
    (folder, sql)
}

/// How many rows of a table are not whole.
fn damaged(sql: &Connection, table: &super::CoveredTable) -> i64 {
    let select = format!(
        "SELECT count(*) FROM {} t WHERE ({}) IS NOT 1",
        table.name,
        table.checksum_state_sql("t")
    );
    sql.query_row(&select, [], |row| row.get(0)).unwrap()
}

#[test]
fn the_lists_name_every_column_of_the_schema() {
    let (_folder, sql) = filled();
    for table in COVERED {
        let mut select = sql
            .prepare("SELECT name FROM pragma_table_info(?1)")
            .unwrap();
        let names = select.query_map([table.name], |row| row.get(0)).unwrap();
        let mut names: BTreeSet<String> = names.map(Result::unwrap).collect();
        assert!(names.remove("checksum"), "{}", table.name);
        let listed: BTreeSet<String> = table
            .column_names()
            .into_iter()
            .map(str::to_owned)
            .collect();
        assert_eq!(listed, names, "{}", table.name);
    }
}

#[test]
fn a_change_of_any_column_of_any_table_is_seen() {
    let (_folder, sql) = filled();
    let mut changed = 0;
    for table in COVERED {
        assert_eq!(damaged(&sql, table), 0, "{}", table.name);
        let mut columns = table.column_names();
        columns.push("checksum");
        for column in columns {
            let select = format!(
                "SELECT {column} FROM {} WHERE {column} IS NOT NULL LIMIT 1",
                table.name
            );
            let stored: Value = sql.query_row(&select, [], |row| row.get(0)).unwrap();
            let other = flipped(&stored);
            let change = format!(
                "UPDATE {} SET {column} = ?1 WHERE {column} = ?2",
                table.name
            );
            sql.execute_batch("SAVEPOINT flip").unwrap();
            sql.execute(&change, (&other, &stored)).unwrap();
            assert!(damaged(&sql, table) > 0, "{}.{column}", table.name);
            sql.execute_batch("ROLLBACK TO flip; RELEASE flip").unwrap();
            changed += 1;
        }
        assert_eq!(damaged(&sql, table), 0, "{}", table.name);
    }
    assert!(changed > 70, "{changed}");
}

/// The value with one bit of it changed.
fn flipped(value: &Value) -> Value {
    match value {
        Value::Integer(number) => Value::Integer(number ^ 4),
        Value::Text(text) => {
            let mut bytes = text.clone().into_bytes();
            match bytes.first_mut() {
                Some(first) => *first ^= 1,
                None => bytes.push(b'x'),
            }
            Value::Text(String::from_utf8(bytes).unwrap())
        }
        Value::Blob(bytes) => {
            let mut bytes = bytes.clone();
            bytes[3] ^= 1;
            Value::Blob(bytes)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn values_that_trade_places_types_or_bytes_are_seen() {
    let (_folder, sql) = filled();
    for (table, change) in [
        (&super::RULES, "UPDATE rules SET tool = scope, scope = tool"),
        (
            &super::RULES,
            "UPDATE rules SET tool = 'execa', scope = 'lways'",
        ),
        (
            &super::MESSAGES,
            "UPDATE messages SET idempotency_key = NULL",
        ),
        (&super::JOBS, "UPDATE jobs SET problem = NULL, nonce = 'pn'"),
        (&super::JOURNAL, "UPDATE journal SET place = 1 - place + 10"),
        (
            &super::TOKENS,
            "UPDATE tokens SET expires_at = revoked_at, revoked_at = expires_at",
        ),
    ] {
        sql.execute_batch("SAVEPOINT trade").unwrap();
        assert!(sql.execute(change, []).unwrap() > 0);
        assert!(damaged(&sql, table) > 0, "{change}");
        sql.execute_batch("ROLLBACK TO trade; RELEASE trade")
            .unwrap();
    }
}

/// The values of the checksum are stored in homes, so they stay what they are.
#[test]
fn the_checksum_of_given_values_never_changes() {
    let (_folder, sql) = filled();
    let sum = |arguments: &str| -> i64 {
        let select = format!("SELECT row_checksum({arguments})");
        sql.query_row(&select, [], |row| row.get(0)).unwrap()
    };
    assert_eq!(
        sum("1, 2, 'three', x'04', NULL"),
        sum("1, 2, 'three', x'04'")
    );
    assert_ne!(sum("1, NULL, 2"), sum("1, 2"));
    assert_ne!(sum("'4'"), sum("x'34'"));
    assert_eq!(sum("1, 2, 'three', x'04'"), GOLDEN);
}

const GOLDEN: i64 = 6_709_171_643_459_503_791;

/// Messages and a journal as a former version left them.
fn unfilled(rows: i64) -> (tempfile::TempDir, Connection) {
    let (folder, sql) = filled();
    for number in 2..=rows {
        sql.execute(
            "INSERT OR REPLACE INTO messages (row_id, session, seq, id, role, at, content)
             VALUES (?1, 1, ?1, zeroblob(16), 'user', 5, '\"m\"')",
            [number],
        )
        .unwrap();
        sql.execute(
            "INSERT INTO journal VALUES (?1, ?1 % 7, '{}', NULL, NULL)",
            [number],
        )
        .unwrap();
    }
    sql.execute_batch(
        "UPDATE messages SET checksum = NULL; UPDATE journal SET checksum = NULL;
         INSERT INTO checksum_fill SELECT 'messages', 0, 0, max(row_id), 0 FROM messages;
         INSERT INTO checksum_fill SELECT 'journal', 0, -1, run, place FROM journal
             ORDER BY run DESC, place DESC LIMIT 1;",
    )
    .unwrap();
    (folder, sql)
}

#[test]
fn rows_of_a_former_version_get_theirs_and_a_kill_between_two_steps_loses_nothing() {
    let (_folder, sql) = unfilled(200);
    let count = |what: &str| -> i64 {
        let select = format!("SELECT count(*) FROM {what}");
        sql.query_row(&select, [], |row| row.get(0)).unwrap()
    };
    let (mut steps, mut killed) = (0, false);
    while count("checksum_fill") > 0 {
        // Whatever is not passed yet is taken for whole, and what is passed is checked.
        let unsummed = count("messages WHERE checksum IS NULL");
        assert_eq!(whole_messages(&sql), 200, "{unsummed} to go");
        sql.execute_batch("BEGIN").unwrap();
        backfill_step(&sql).unwrap();
        if steps == 2 && !killed {
            // The transaction never came to its end.
            killed = true;
            sql.execute_batch("ROLLBACK").unwrap();
            assert_eq!(count("messages WHERE checksum IS NULL"), unsummed);
            continue;
        }
        sql.execute_batch("COMMIT").unwrap();
        steps += 1;
        assert!(steps < 100);
    }
    assert!(killed && steps > 6, "{steps}");
    for table in COVERED {
        assert_eq!(damaged(&sql, table), 0, "{}", table.name);
    }
    // From now on a missing checksum is damage.
    sql.execute("UPDATE messages SET checksum = NULL WHERE row_id = 7", [])
        .unwrap();
    assert_eq!(whole_messages(&sql), 199);
}

/// Messages that a reader would show.
fn whole_messages(sql: &Connection) -> usize {
    let table = &super::MESSAGES;
    let select = format!(
        "SELECT t.row_id, {} FROM messages t",
        table.checksum_state_sql("t")
    );
    let mut select = sql.prepare(&select).unwrap();
    let rows = select
        .query_map([], |row| table.is_whole(sql, row, 1, (row.get(0)?, 0)))
        .unwrap();
    rows.map(Result::unwrap).filter(|whole| *whole).count()
}

#[test]
fn filling_leaves_a_damaged_row_damaged() {
    let (_folder, sql) = unfilled(10);
    // One that was written meanwhile has its checksum, and rotted since.
    sql.execute_batch("UPDATE messages SET checksum = 5 WHERE row_id = 4;")
        .unwrap();
    while sql
        .query_row("SELECT count(*) FROM checksum_fill", [], |row| {
            row.get::<_, i64>(0)
        })
        .unwrap()
        > 0
    {
        backfill_step(&sql).unwrap();
    }
    assert_eq!(damaged(&sql, &super::MESSAGES), 1);
}
