//! Migrations are whole or did not happen, and a newer schema is left alone.

use super::{MIGRATIONS, SCHEMA, migrate, migrate_with, version};
use crate::connection::{APPLICATION_ID, WriterConnection};
use crate::error::StoreError;
use std::path::Path;

fn open(folder: &tempfile::TempDir) -> WriterConnection {
    let path = folder.path().join("hob.db");
    if !path.exists() {
        std::fs::write(&path, "").unwrap();
    }
    let mut open = WriterConnection::open(&path).unwrap();
    open.prepare().unwrap();
    open
}

fn tables(open: &WriterConnection) -> i64 {
    open.sql
        .query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))
        .unwrap()
}

#[test]
fn a_new_database_gets_every_migration_once() {
    let folder = tempfile::tempdir().unwrap();
    let open = open(&folder);
    let path = Path::new("hob.db");
    migrate(&open.sql, path).unwrap();
    assert_eq!(version(&open.sql).unwrap(), SCHEMA);
    let id: i32 = open
        .sql
        .pragma_query_value(None, "application_id", |row| row.get(0))
        .unwrap();
    assert_eq!(id, APPLICATION_ID);
    migrate(&open.sql, path).unwrap();
}

#[test]
fn one_that_fails_leaves_the_file_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let open = open(&folder);
    let path = Path::new("hob.db");
    migrate(&open.sql, path).unwrap();
    let before = tables(&open);
    let broken = "CREATE TABLE later (a); INSERT INTO later VALUES (1); CREATE TABLE sessions (a);";
    let mut migrations = MIGRATIONS.to_vec();
    migrations.extend(["CREATE TABLE sooner (a);", broken]);
    migrate_with(&open.sql, path, &migrations).unwrap_err();
    assert_eq!(version(&open.sql).unwrap(), SCHEMA);
    assert_eq!(tables(&open), before);
    assert!(open.sql.is_autocommit());
    // The same step, mended, goes through.
    *migrations.last_mut().unwrap() = "CREATE TABLE later (a);";
    migrate_with(&open.sql, path, &migrations).unwrap();
    assert_eq!(version(&open.sql).unwrap(), SCHEMA + 2);
}

#[test]
fn one_that_is_killed_is_as_if_it_never_began() {
    let folder = tempfile::tempdir().unwrap();
    let copy = tempfile::tempdir().unwrap();
    {
        let open = open(&folder);
        migrate(&open.sql, Path::new("hob.db")).unwrap();
        open.sql
            .execute_batch("BEGIN IMMEDIATE; CREATE TABLE later (a); PRAGMA user_version = 99;")
            .unwrap();
        // The files as a kill at this moment leaves them.
        for name in ["hob.db", "hob.db-wal"] {
            std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
        }
    }
    let open = self::open(&copy);
    assert_eq!(version(&open.sql).unwrap(), SCHEMA);
    migrate(&open.sql, Path::new("hob.db")).unwrap();
}

#[test]
fn a_newer_schema_is_refused_with_both_versions() {
    let folder = tempfile::tempdir().unwrap();
    let open = open(&folder);
    open.sql.pragma_update(None, "user_version", 712).unwrap();
    let error = migrate(&open.sql, Path::new("/h/hob.db")).unwrap_err();
    assert!(matches!(error, StoreError::NewerSchema { found: 712, .. }));
    let text = error.to_string();
    for part in ["/h/hob.db", "712", &SCHEMA.to_string(), "Update hob"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

/// A database as the first schema left it, with something in it.
fn lived_in(folder: &tempfile::TempDir) {
    let open = open(folder);
    migrate_with(&open.sql, Path::new("hob.db"), &MIGRATIONS[..1]).unwrap();
    open.sql
        .execute_batch(
            "INSERT INTO sessions VALUES
                 (1, x'0190aaaaaaaa7aaa8aaaaaaaaaaaaaaa', 's', 'main', NULL, NULL, 1, 2, 2, '{}');
             INSERT INTO messages VALUES
                 (1, 1, 1, x'0190aaaaaaaa7aaa8aaaaaaaaaaaaaab', 'user', 1, NULL, '\"one\"'),
                 (2, 1, 2, x'0190aaaaaaaa7aaa8aaaaaaaaaaaaaac', 'user', 2, 'k', '\"two\"');
             INSERT INTO events VALUES
                 (1, 1, 'session.created', 'sessions', 1, NULL, NULL, NULL, NULL),
                 (2, 1, 'session.message', 'sessions', 1, 1, NULL, NULL, NULL),
                 (3, 2, 'session.message', 'sessions', 1, 2, NULL, NULL, NULL),
                 (4, 2, 'echo.said', 'echo', NULL, NULL, 'id', 's', x'7b7d');",
        )
        .unwrap();
}

async fn assert_whole(folder: &tempfile::TempDir) {
    let (publisher, _) = hob_bus::publisher();
    let store = crate::Store::open(crate::StoreOptions {
        database: folder.path().join("hob.db"),
        clock: hob_kit::clock::Clock::manual(1_000),
        randomness: hob_kit::randomness::Randomness::system(),
        publisher,
        had_database: true,
    })
    .unwrap();
    assert_eq!(store.status().schema, SCHEMA);
    let export = hob_wire::rooms::session::SessionExportParams {
        session_key: "s".to_owned(),
        after: None,
        limit: None,
    };
    let messages = store.export(export).await.unwrap().messages;
    let contents: Vec<_> = messages
        .into_iter()
        .map(|message| message.content)
        .collect();
    assert_eq!(contents, ["one".into(), "two".into()]);
    let events = store.event_log().page(0, 10).await.unwrap();
    assert_eq!(events.len(), 4);
    assert_eq!(events[3].payload.as_deref(), Some(&b"{}"[..]));
    assert_eq!(store.run_stats().await.unwrap().runs, 0);
    store.close().await;
    let verified = crate::Store::verify(&folder.path().join("hob.db"), &mut |_, _| {}).unwrap();
    assert!(verified.sound, "{verified:?}");
}

#[tokio::test]
async fn a_database_of_the_first_schema_is_brought_up_with_all_it_holds() {
    let folder = tempfile::tempdir().unwrap();
    lived_in(&folder);
    assert_whole(&folder).await;
}

/// Killed after each statement of each later migration: the schema before it, whole, and the next
/// start goes through.
#[tokio::test]
async fn one_that_is_killed_at_any_statement_leaves_what_was() {
    for (version_before, migration) in MIGRATIONS.iter().enumerate().skip(1) {
        let statements = migration.split_inclusive(";\n").count();
        for killed_after in 0..statements {
            let folder = tempfile::tempdir().unwrap();
            let copy = tempfile::tempdir().unwrap();
            lived_in(&folder);
            {
                let open = open(&folder);
                let before = &MIGRATIONS[..version_before];
                migrate_with(&open.sql, Path::new("hob.db"), before).unwrap();
                open.sql
                    .execute_batch("BEGIN IMMEDIATE; PRAGMA user_version = 99;")
                    .unwrap();
                for statement in migration.split_inclusive(";\n").take(killed_after) {
                    open.sql.execute_batch(statement).unwrap();
                }
                for name in ["hob.db", "hob.db-wal"] {
                    std::fs::copy(folder.path().join(name), copy.path().join(name)).unwrap();
                }
            }
            let left = version(&self::open(&copy).sql).unwrap();
            assert_eq!(left as usize, version_before);
            assert_whole(&copy).await;
        }
    }
}
