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
fn one_that_fails_leaves_the_version_before_it() {
    let folder = tempfile::tempdir().unwrap();
    let open = open(&folder);
    let path = Path::new("hob.db");
    migrate(&open.sql, path).unwrap();
    let before = tables(&open);
    let broken = "CREATE TABLE later (a); INSERT INTO later VALUES (1); CREATE TABLE sessions (a);";
    let mut migrations = MIGRATIONS.to_vec();
    migrations.push(broken);
    migrate_with(&open.sql, path, &migrations).unwrap_err();
    assert_eq!(version(&open.sql).unwrap(), SCHEMA);
    assert_eq!(tables(&open), before);
    assert!(open.sql.is_autocommit());
    // The same step, mended, goes through.
    *migrations.last_mut().unwrap() = "CREATE TABLE later (a);";
    migrate_with(&open.sql, path, &migrations).unwrap();
    assert_eq!(version(&open.sql).unwrap(), SCHEMA + 1);
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
