//! The last change of the config file that `config.undo` may take back: one text, in `meta`.

use crate::error::StoreError;
use crate::store::Store;
use rusqlite::OptionalExtension;

/// The longest record that is kept.
const RECORD_BYTES_MAX: usize = 512 * 1024;
const NAME: &str = "config_undo";

impl Store {
    /// Returns the record, if there is one.
    pub async fn config_undo(&self) -> Result<Option<String>, StoreError> {
        self.read(|sql| {
            let found = sql
                .prepare_cached("SELECT value FROM meta WHERE name = ?1")?
                .query_row([NAME], |row| row.get(0));
            Ok(found.optional()?)
        })
        .await
    }

    /// Replaces the record; removes it with `None`, and if it is too long to keep.
    pub async fn set_config_undo(&self, record: Option<String>) -> Result<(), StoreError> {
        let record = record.filter(|record| record.len() <= RECORD_BYTES_MAX);
        let bytes = record.as_ref().map_or(0, String::len);
        self.write(bytes, move |batch| {
            let done = match &record {
                Some(record) => batch
                    .sql
                    .prepare_cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?1, ?2)")?
                    .execute((NAME, record)),
                None => batch
                    .sql
                    .prepare_cached("DELETE FROM meta WHERE name = ?1")?
                    .execute([NAME]),
            };
            Ok(done.map(drop)?)
        })
        .await
    }
}
