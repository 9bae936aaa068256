//! A disk that fills up, for tests of this crate: databases whose writer may not exceed a number of
//! pages, which SQLite reports like a full disk.

use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static LIMITS: Mutex<BTreeMap<PathBuf, u32>> = Mutex::new(BTreeMap::new());

/// Limits the writers of `database` that are prepared from now on.
pub(crate) fn set(database: &Path, pages: Option<u32>) {
    let mut limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    match pages {
        Some(pages) => limits.insert(database.to_owned(), pages),
        None => limits.remove(database),
    };
}

pub(crate) fn apply(sql: &Connection) -> rusqlite::Result<()> {
    let limits = LIMITS.lock().unwrap_or_else(PoisonError::into_inner);
    let path = sql.path().map(PathBuf::from).unwrap_or_default();
    match limits.get(&path) {
        Some(pages) => sql.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())),
        None => Ok(()),
    }
}
