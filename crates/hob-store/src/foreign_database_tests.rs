//! Reading another program's database: what is read, what is refused, and that nothing is written.

use super::{ForeignDatabase, ForeignDatabaseError, ForeignReadLimits, ForeignRows, ForeignValue};
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const LIMITS: ForeignReadLimits = ForeignReadLimits {
    rows_max: 100,
    bytes_max: 1_000,
};

#[expect(clippy::disallowed_methods, reason = "a test plays the other program")]
fn program(path: &Path, statements: &str) -> Connection {
    let sql = Connection::open(path).unwrap();
    sql.execute_batch(statements).unwrap();
    sql
}

fn folder() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    (folder, root)
}

/// Every file with its content.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = std::fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    entries
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect()
}

fn texts(found: &ForeignRows) -> Vec<String> {
    let rows = found.rows.iter();
    rows.map(|row| row[0].text().unwrap_or("-").to_owned())
        .collect()
}

#[test]
fn rows_come_in_the_order_they_were_added_and_nothing_is_written() {
    let (_folder, root) = folder();
    // A name that a URI must not misread.
    let path = root.join("a b%20?x#.db");
    for journal in ["delete", "wal"] {
        let _ = std::fs::remove_file(&path);
        let sql = program(
            &path,
            &format!(
                "PRAGMA journal_mode = {journal};
                 CREATE TABLE notes (id TEXT PRIMARY KEY, at INTEGER, body TEXT);
                 INSERT INTO notes VALUES ('z', 1, 'one'), ('a', NULL, 'two'), ('m', 2.5, x'00ff');"
            ),
        );
        drop(sql);
        let before = files(&root);
        let database = ForeignDatabase::open(&path).unwrap();
        let found = database
            .read_table("notes", &["body", "at"], LIMITS)
            .unwrap()
            .unwrap();
        assert_eq!(
            found.rows,
            [
                vec![
                    ForeignValue::Text("one".to_owned()),
                    ForeignValue::Integer(1)
                ],
                vec![ForeignValue::Text("two".to_owned()), ForeignValue::Null],
                vec![ForeignValue::Binary, ForeignValue::Real(2.5)],
            ]
        );
        assert!(!found.is_cut);
        assert_eq!(
            database.read_table("absent", &["body"], LIMITS).unwrap(),
            None
        );
        let no_column = database.read_table("notes", &["subject"], LIMITS);
        assert!(matches!(
            no_column,
            Err(ForeignDatabaseError::NoColumn { .. })
        ));
        drop(database);
        assert_eq!(files(&root), before, "{journal}");
    }
}

#[test]
fn rows_and_bytes_are_bounded() {
    let (_folder, root) = folder();
    let path = root.join("x.db");
    let mut sql = program(&path, "CREATE TABLE t (body TEXT)");
    let batch = sql.transaction().unwrap();
    for number in 0..50 {
        batch
            .execute("INSERT INTO t VALUES (?1)", [format!("{number:010}")])
            .unwrap();
    }
    batch.commit().unwrap();
    drop(sql);
    let database = ForeignDatabase::open(&path).unwrap();
    let read = |rows_max, bytes_max| {
        let limits = ForeignReadLimits {
            rows_max,
            bytes_max,
        };
        database
            .read_table("t", &["body"], limits)
            .unwrap()
            .unwrap()
    };
    let all = read(50, 500);
    assert_eq!((all.rows.len(), all.is_cut), (50, false));
    for cut in [read(49, 500), read(50, 499)] {
        assert_eq!((cut.rows.len(), cut.is_cut), (49, true));
        assert_eq!(texts(&cut), texts(&all)[..49]);
    }
}

#[test]
fn code_of_the_file_is_not_run() {
    let (_folder, root) = folder();
    let path = root.join("x.db");
    drop(program(
        &path,
        "CREATE TABLE real (body TEXT, made TEXT AS (upper(body)));
         INSERT INTO real (body) VALUES ('a');
         CREATE VIEW messages AS SELECT body FROM real;
         CREATE VIRTUAL TABLE sessions USING fts5(body);",
    ));
    let database = ForeignDatabase::open(&path).unwrap();
    for name in ["messages", "sessions"] {
        assert_eq!(
            database.read_table(name, &["body"], LIMITS).unwrap(),
            None,
            "{name}"
        );
    }
    let computed = database.read_table("real", &["made"], LIMITS);
    assert!(
        matches!(computed, Err(ForeignDatabaseError::NoColumn { .. })),
        "{computed:?}"
    );
}

#[test]
fn what_cannot_be_read_whole_is_refused_with_its_reason() {
    let (_folder, root) = folder();
    let path = root.join("x.db");
    let refusal = || ForeignDatabase::open(&path).unwrap_err();

    std::fs::write(&path, "no database at all, only words").unwrap();
    assert_eq!(refusal(), ForeignDatabaseError::NotADatabase);
    std::fs::write(&path, "").unwrap();
    assert_eq!(refusal(), ForeignDatabaseError::NotADatabase);
    std::fs::remove_file(&path).unwrap();

    // Another program is at work: its last rows are in the log only.
    let sql = program(
        &path,
        "PRAGMA journal_mode = wal; CREATE TABLE t (body TEXT); INSERT INTO t VALUES ('new');",
    );
    assert_eq!(refusal(), ForeignDatabaseError::Unfinished);
    drop(sql);
    ForeignDatabase::open(&path).unwrap();

    let link = root.join("link.db");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    assert_eq!(
        ForeignDatabase::open(&link).unwrap_err(),
        ForeignDatabaseError::NotADatabase
    );

    // Every page but the first is overwritten.
    let sql = program(&path, "PRAGMA journal_mode = delete;");
    for _ in 0..200 {
        sql.execute("INSERT INTO t VALUES (?1)", ["x".repeat(500)])
            .unwrap();
    }
    drop(sql);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[4_096..].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    assert!(matches!(refusal(), ForeignDatabaseError::Damaged(_)));

    let file = std::fs::File::create(&path).unwrap();
    file.set_len(super::FOREIGN_DATABASE_BYTES_MAX + 1).unwrap();
    assert!(matches!(refusal(), ForeignDatabaseError::TooLarge { .. }));
}
