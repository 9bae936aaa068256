//! The last change of the config file, which `config.undo` takes back.
//!
//! The record is stored before the file is written. If hob ends in between, the file is not what
//! the record says, and nothing is taken back. Invariant: a file that anybody else changed since is
//! left alone.

use hob_kit::settings::edit::{self, EditError};
use hob_kit::settings::{ConfigProblems, SettingValue, Settings, SettingsCatalog};
use hob_kit::{atomic_file, host_environment::EnvVars};
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use std::sync::Arc;

/// A change of the file, with its whole text before and after.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct FileChange {
    pub(super) key: String,
    pub(super) before: String,
    pub(super) after: String,
}

/// The reason for which the file was not changed.
#[derive(Debug, thiserror::Error)]
pub(super) enum ChangeError {
    #[error("the config file could not be read or written: {0}")]
    Io(#[from] io::Error),
    #[error("{0}")]
    Edit(#[from] EditError),
    #[error("{0}")]
    Refused(#[from] ConfigProblems),
    #[error("the config file was changed meanwhile. Try again.")]
    ChangedMeanwhile,
}

impl FileChange {
    /// Plans a change of one key; returns it with the settings that it gives.
    pub(super) fn plan(
        file: &Path,
        (key, value): (&str, Option<&SettingValue>),
        catalog: &Arc<SettingsCatalog>,
        env: &EnvVars,
    ) -> Result<(FileChange, Settings), ChangeError> {
        let before = edit::read_file(file)?;
        let after = edit::set(&before, key, value)?;
        // The whole new text is checked: a daemon must never find a file that it refuses.
        let newer = Settings::load(catalog, &file.display().to_string(), &after, env)?;
        let key = key.to_owned();
        Ok((FileChange { key, before, after }, newer))
    }

    /// The change that takes this one back, if the file is as this one left it; else `None`.
    pub(super) fn reversed(
        self,
        file: &Path,
        catalog: &Arc<SettingsCatalog>,
        env: &EnvVars,
    ) -> Result<Option<(FileChange, Settings)>, ChangeError> {
        if edit::read_file(file)? != self.after {
            return Ok(None);
        }
        let name = file.display().to_string();
        let older = Settings::load(catalog, &name, &self.before, env)?;
        let reversed = FileChange {
            key: self.key,
            before: self.after,
            after: self.before,
        };
        Ok(Some((reversed, older)))
    }

    /// Writes the file, if it still is what the change was planned from.
    pub(super) fn write(&self, file: &Path) -> Result<(), ChangeError> {
        if edit::read_file(file)? != self.before {
            return Err(ChangeError::ChangedMeanwhile);
        }
        Ok(atomic_file::replace(file, self.after.as_bytes())?)
    }
}
