//! The folder of fetched model files.
//!
//! ```text
//! models/NAME/model.json      what the model is, and how far its download came
//! models/NAME/FILE.gguf       the verified file
//! models/NAME/FILE.gguf.part  the file while it is fetched
//! ```
//!
//! `models` itself may be a link that the user made, to a larger disk. Nothing below it may be one.
//!
//! Invariants: a file under its final name was verified; a folder belongs to one source, so that a
//! model never takes the place of another one of the same name.

use super::error::PullError;
use super::source::is_part;
use hob_kit::atomic_file;
use hob_kit::home::Home;
use serde::{Deserialize, Serialize};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

const RECORD: &str = "model.json";
const RECORD_BYTES_MAX: u64 = 64 * 1024;
const PART: &str = "part";
/// The models that are listed.
const MODELS_MAX: usize = 1_000;

/// The folder of all models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFolder {
    root: PathBuf,
}

/// What is known of a fetched model, or of one that is being fetched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRecord {
    /// What was pulled, and what to pull to continue.
    pub source: String,
    /// `OWNER/REPO` on the hub.
    pub repository: String,
    /// The commit of the repository.
    pub revision: String,
    /// The path in the repository.
    pub path: String,
    pub bytes: u64,
    pub sha256: String,
    #[serde(default)]
    pub licence: Option<String>,
    #[serde(default)]
    pub tools: Option<bool>,
    /// True once the file was verified.
    #[serde(default)]
    pub complete: bool,
    /// Bytes of the part that are surely on the disk. A download continues there.
    #[serde(default)]
    pub safe_bytes: u64,
    /// Why the last attempt failed.
    #[serde(default)]
    pub failure: Option<String>,
}

/// One model's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelPlace {
    pub name: String,
    folder: PathBuf,
}

impl ModelFolder {
    pub fn new(home: &Home) -> ModelFolder {
        ModelFolder {
            root: home.models(),
        }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The place of a model; an error if the name could be a path.
    pub fn place(&self, name: &str) -> Result<ModelPlace, PullError> {
        if !is_part(name) {
            let shown: String = name.chars().take(64).collect();
            return Err(PullError::Source(format!(
                "'{shown}' is no name of a model."
            )));
        }
        Ok(ModelPlace {
            name: name.to_owned(),
            folder: self.root.join(name),
        })
    }

    /// All models with their records, by name, and what cannot be read. Blocks.
    pub fn list(&self) -> (Vec<(ModelPlace, ModelRecord)>, Vec<String>) {
        let (mut found, mut problems) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) => {
                if error.kind() != io::ErrorKind::NotFound {
                    problems.push(format!(
                        "'{}' cannot be read: {error}.",
                        self.root.display()
                    ));
                }
                return (found, problems);
            }
        };
        let mut names: Vec<_> = entries
            .take(MODELS_MAX)
            .filter_map(|entry| Some(entry.ok()?.file_name().to_string_lossy().into_owned()))
            .collect();
        names.sort();
        for name in names {
            let read = self.place(&name).and_then(|place| {
                let record = place.read()?;
                Ok((place, record))
            });
            match read {
                Ok((place, Some(record))) => found.push((place, record)),
                Ok((place, None)) => problems.push(format!(
                    "'{}' holds no model that hob fetched.",
                    place.folder.display()
                )),
                Err(error) => problems.push(error.to_string()),
            }
        }
        (found, problems)
    }

    /// The name under which a file is served, if it is a fetched model's.
    pub fn name_of(&self, file: &Path) -> Option<String> {
        let folder = file.parent()?;
        let is_below = folder.parent() == Some(self.root.as_path());
        let name = folder.file_name()?.to_str()?;
        is_below.then(|| name.to_owned())
    }
}

impl ModelPlace {
    /// Creates the folder, or checks that it is a real folder of ours. Blocks.
    pub fn prepare(&self) -> Result<(), PullError> {
        let failed = |error: io::Error| PullError::at(&self.folder, &error);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)
            .map_err(failed)?;
        self.check()
    }

    /// Reads the record; none if there is no folder or no record. Blocks.
    pub fn read(&self) -> Result<Option<ModelRecord>, PullError> {
        if fs::symlink_metadata(&self.folder).is_err() {
            return Ok(None);
        }
        self.check()?;
        let path = self.folder.join(RECORD);
        let failed = |error: io::Error| PullError::at(&path, &error);
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(error)),
        };
        let mut text = String::new();
        let read = file.take(RECORD_BYTES_MAX).read_to_string(&mut text);
        read.map_err(failed)?;
        let record: Option<ModelRecord> = serde_json::from_str(&text).ok();
        // The path in a record becomes a path on the disk.
        let sound = record.filter(|record| record.path.split('/').all(is_part));
        sound.map(Some).ok_or_else(|| {
            PullError::Conflict(format!(
                "'{}' cannot be read; delete the model and pull it again: hob model delete {}",
                path.display(),
                self.name
            ))
        })
    }

    /// Writes the record durably. Blocks.
    pub fn write(&self, record: &ModelRecord) -> Result<(), PullError> {
        let path = self.folder.join(RECORD);
        let text = serde_json::to_vec_pretty(record).unwrap_or_default();
        atomic_file::replace(&path, &text).map_err(|error| PullError::at(&path, &error))
    }

    /// The verified file.
    pub fn file(&self, record: &ModelRecord) -> PathBuf {
        let name = record.path.rsplit('/').next().unwrap_or_default();
        self.folder.join(name)
    }

    /// The file while it is fetched.
    pub fn part(&self, record: &ModelRecord) -> PathBuf {
        self.file(record).with_added_extension(PART)
    }

    /// Returns true if the complete file is there. Blocks.
    pub fn is_complete(&self, record: &ModelRecord) -> bool {
        let there = fs::symlink_metadata(self.file(record));
        record.complete && there.is_ok_and(|it| it.is_file() && it.len() == record.bytes)
    }

    /// The bytes that a download would continue from. Blocks.
    pub fn bytes_done(&self, record: &ModelRecord) -> u64 {
        let there = fs::symlink_metadata(self.part(record));
        let length = there
            .ok()
            .filter(fs::Metadata::is_file)
            .map_or(0, |it| it.len());
        length.min(record.safe_bytes).min(record.bytes)
    }

    /// Returns true if there is anything of this model. Blocks.
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.folder).is_ok()
    }

    /// Returns true for a file directly in this folder.
    pub fn contains(&self, file: &Path) -> bool {
        file.parent() == Some(self.folder.as_path())
    }

    /// Gives the verified part its final name, durably. Blocks.
    pub fn finish(&self, record: &mut ModelRecord) -> Result<(), PullError> {
        let (part, file) = (self.part(record), self.file(record));
        fs::rename(&part, &file).map_err(|error| PullError::at(&file, &error))?;
        record.complete = true;
        record.failure = None;
        // The record's own write syncs the folder, and with it the rename.
        self.write(record)
    }

    /// Removes the folder and returns the freed bytes. A link in its place is removed, never followed.
    /// Blocks.
    pub fn delete(&self) -> Result<u64, PullError> {
        let failed = |error: io::Error| PullError::at(&self.folder, &error);
        let there = fs::symlink_metadata(&self.folder).map_err(failed)?;
        if !there.is_dir() {
            fs::remove_file(&self.folder).map_err(failed)?;
            return Ok(0);
        }
        let freed = crate::install::measure(&self.folder, 0);
        fs::remove_dir_all(&self.folder).map_err(failed)?;
        Ok(freed)
    }

    /// Removes the part after a failed verification. Blocks.
    pub fn discard_part(&self, record: &mut ModelRecord) -> Result<(), PullError> {
        let part = self.part(record);
        match fs::remove_file(&part) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(PullError::at(&part, &error));
            }
            _ => {}
        }
        record.safe_bytes = 0;
        self.write(record)
    }

    fn check(&self) -> Result<(), PullError> {
        let found = fs::symlink_metadata(&self.folder);
        let found = found.map_err(|error| PullError::at(&self.folder, &error))?;
        let why = if !found.is_dir() {
            "is not a folder"
        } else if found.uid() != rustix::process::geteuid().as_raw() || found.mode() & 0o022 != 0 {
            "can be changed by other users"
        } else {
            return Ok(());
        };
        Err(PullError::Conflict(format!(
            "'{}' {why}, so hob leaves it alone. Remove it and pull the model again.",
            self.folder.display()
        )))
    }
}

#[cfg(test)]
#[path = "model_folder_tests.rs"]
mod tests;
