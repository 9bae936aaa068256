//! Blobs, for values that are too large for a row: files under `blobs/`, named by the SHA-256 of
//! their content.
//!
//! A blob is written and synced before the row that references it is committed. It is removed only
//! after the commit that deleted its last reference. A caller that is about to reference a blob
//! holds a [`BlobPin`], and a pinned blob is not removed. Leftovers are swept: those of a crash at
//! the next start, those of a refused command at once.
//!
//! Invariants: a row never references a blob that is not whole on disk; a file without a reference
//! does not survive the next start.

use crate::batch::WriteBatch;
use crate::error::{QueryError, StoreError};
use crate::writer_database::io_error;
use crate::writer_queue::{BulkJob, BulkProgress};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// A larger value is stored in a file, not in a row.
pub(crate) const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Blobs written at the same time.
const WRITES_MAX: usize = 8;
/// Files checked in one step of a sweep.
const SWEEP_STEP: usize = 32;
/// Bytes read at once when a draft becomes a blob.
const ADOPT_STEP: usize = 64 * 1024;
/// The prefix of a draft's file name; the daemon's start follows.
const DRAFT: &str = "new-";

/// The SHA-256 of a blob's content, which is its name.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct BlobHash(pub(crate) [u8; 32]);

impl BlobHash {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        BlobHash(Sha256::digest(bytes).into())
    }

    pub(crate) fn to_hex(self) -> String {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let digit = |nibble: u8| char::from(DIGITS[usize::from(nibble)]);
        let bytes = self.0.into_iter();
        bytes
            .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)])
            .collect()
    }

    fn parse(name: &str) -> Option<Self> {
        let mut hash = [0; 32];
        // Checked before slicing, which would panic inside a longer character.
        if name.len() != 64 || !name.is_ascii() {
            return None;
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&name[2 * at..2 * at + 2], 16).ok()?;
        }
        // `from_str_radix` takes upper case and a sign too, which no name of ours has.
        Some(BlobHash(hash)).filter(|hash| hash.to_hex() == name)
    }
}

impl std::fmt::Debug for BlobHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// The folder of blobs, and the pins on them.
#[derive(Debug)]
pub(crate) struct BlobStore {
    folder: PathBuf,
    epoch: u64,
    drafts: AtomicU64,
    writes: Semaphore,
    /// A std mutex, because it is held for a file's removal at the most, without await.
    pins: Mutex<HashMap<BlobHash, usize>>,
}

impl BlobStore {
    /// The blobs beside `database`, as the daemon's start `epoch` writes them.
    pub(crate) fn new(database: &Path, epoch: u64) -> Self {
        BlobStore {
            folder: folder_of(database),
            epoch,
            drafts: AtomicU64::new(0),
            writes: Semaphore::new(WRITES_MAX),
            pins: Mutex::new(HashMap::new()),
        }
    }

    /// Stores `bytes` as a blob. It is synced when this returns, and kept as long as the pin.
    pub(crate) async fn put(self: &Arc<Self>, bytes: Vec<u8>) -> Result<BlobPin, StoreError> {
        let turn = self.writes.acquire().await;
        let _turn = turn.map_err(|_| StoreError::Closed)?;
        let blobs = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || blobs.put_blocking(&bytes)).await;
        kept.unwrap_or_else(|error| Err(StoreError::Internal(format!("a write failed: {error}"))))
    }

    fn put_blocking(self: &Arc<Self>, bytes: &[u8]) -> Result<BlobPin, StoreError> {
        let hash = BlobHash::of(bytes);
        // Pinned before the file is looked at: a sweep in between could remove it.
        let pin = self.pin(hash);
        let path = self.path(hash);
        // An existing blob that is damaged is written again.
        if read(&path, hash).is_err() {
            self.write(&path, bytes).map_err(|error| io_error(&error))?;
        }
        hob_kit::failpoint::reach("run.blob.synced");
        Ok(pin)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.create_folder()?;
        let draft = self.new_draft();
        // Shadowed and not moved: the draft deletes its file if a step below fails.
        let draft = &draft.path;
        (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(draft)?;
            file.write_all(bytes)?;
            // Content, rename, folder: after a power cut a blob is whole under its name, or
            // missing.
            file.sync_all()?;
            fs::rename(draft, path)?;
            File::open(&self.folder)?.sync_all()
        })()
    }

    pub(crate) fn create_folder(&self) -> io::Result<()> {
        if !self.folder.exists() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&self.folder)?;
        }
        Ok(())
    }

    /// Returns a new draft file beside the blobs.
    pub(crate) fn new_draft(&self) -> BlobDraft {
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{DRAFT}{}-{number}", self.epoch));
        BlobDraft { path }
    }

    /// Makes a blob of a draft of any size; returns its length too.
    pub(crate) async fn adopt_draft(
        self: &Arc<Self>,
        draft: BlobDraft,
    ) -> Result<(BlobPin, u64), StoreError> {
        let turn = self.writes.acquire().await;
        let _turn = turn.map_err(|_| StoreError::Closed)?;
        let blobs = Arc::clone(self);
        let adopted = tokio::task::spawn_blocking(move || {
            let adopted = blobs.adopt_draft_blocking(&draft);
            adopted.map_err(|error| io_error(&error))
        });
        let failed = |error| Err(StoreError::Internal(format!("a write failed: {error}")));
        adopted.await.unwrap_or_else(failed)
    }

    fn adopt_draft_blocking(self: &Arc<Self>, draft: &BlobDraft) -> io::Result<(BlobPin, u64)> {
        let mut file = File::open(&draft.path)?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; ADOPT_STEP];
        let mut bytes = 0;
        loop {
            let count = file.read(&mut buffer)?;
            if count == 0 {
                break;
            }
            digest.update(&buffer[..count]);
            bytes += count as u64;
        }
        // This syncs what others wrote to the file too, although it was opened for reading here.
        file.sync_all()?;
        // Pinned before it has its name, or a sweep could remove it at once.
        let pin = self.pin(BlobHash(digest.finalize().into()));
        fs::rename(&draft.path, self.path(pin.hash))?;
        File::open(&self.folder)?.sync_all()?;
        Ok((pin, bytes))
    }

    /// Opens a blob's file for reading in parts. The hash is not checked.
    pub(crate) fn open(&self, hash: BlobHash) -> Result<File, StoreError> {
        let path = self.path(hash);
        let failed = |error| StoreError::Io(format!("'{}': {error}", path.display()));
        File::open(&path).map_err(failed)
    }

    /// Reads a blob; refuses content that does not match its hash.
    pub(crate) fn read(&self, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
        read(&self.path(hash), hash)
    }

    fn pin(self: &Arc<Self>, hash: BlobHash) -> BlobPin {
        *self.pins().entry(hash).or_insert(0) += 1;
        BlobPin {
            blobs: Arc::clone(self),
            hash,
        }
    }

    /// Removes a blob without a committed reference, unless it is pinned.
    pub(crate) fn remove(&self, hash: BlobHash) {
        // Held until the file is gone: a caller that pins it meanwhile then finds it missing and
        // writes it.
        let pins = self.pins();
        if pins.contains_key(&hash) {
            return;
        }
        match fs::remove_file(self.path(hash)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                tracing::warn!("an unused blob could not be removed: {error}");
            }
            _ => {}
        }
    }

    fn path(&self, hash: BlobHash) -> PathBuf {
        self.folder.join(hash.to_hex())
    }

    fn pins(&self) -> MutexGuard<'_, HashMap<BlobHash, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file that becomes a blob, or is deleted when this is dropped.
#[derive(Debug)]
pub(crate) struct BlobDraft {
    pub(crate) path: PathBuf,
}

impl Drop for BlobDraft {
    fn drop(&mut self) {
        // Usually the draft is a blob by now, or was never written.
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps a blob from being removed before its row is committed.
#[derive(Debug)]
pub(crate) struct BlobPin {
    blobs: Arc<BlobStore>,
    pub(crate) hash: BlobHash,
}

impl Drop for BlobPin {
    fn drop(&mut self) {
        let mut pins = self.blobs.pins();
        if let Some(count) = pins.get_mut(&self.hash) {
            *count -= 1;
            if *count == 0 {
                pins.remove(&self.hash);
            }
        }
    }
}

/// The folder of a database's blobs.
pub(crate) fn folder_of(database: &Path) -> PathBuf {
    database.parent().unwrap_or(Path::new(".")).join("blobs")
}

/// Returns the problem of this blob, if it has one.
pub(crate) fn find_problem(folder: &Path, hash: BlobHash) -> Option<StoreError> {
    read(&folder.join(hash.to_hex()), hash).err()
}

fn read(path: &Path, hash: BlobHash) -> Result<Vec<u8>, StoreError> {
    let damaged = |what: &str| StoreError::Damaged {
        file: path.to_owned(),
        what: format!("this part of a run {what}. Restore it from a backup."),
    };
    match fs::read(path) {
        Ok(bytes) if BlobHash::of(&bytes) == hash => Ok(bytes),
        Ok(_) => Err(damaged("is damaged")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(damaged("is missing")),
        Err(error) => Err(StoreError::Io(format!(
            "'{}' cannot be read: {error}",
            path.display()
        ))),
    }
}

/// True if a row references this blob.
pub(crate) fn is_referenced(batch: &WriteBatch<'_>, hash: BlobHash) -> rusqlite::Result<bool> {
    let mut select = batch.sql.prepare_cached(SELECT_REFERENCE)?;
    select.exists([&hash.0[..]])
}

pub(crate) const SELECT_REFERENCE: &str = "SELECT 1 FROM run_tasks WHERE params_blob = ?1
     UNION ALL SELECT 1 FROM journal WHERE blob = ?1
     UNION ALL SELECT 1 FROM changes WHERE blob = ?1
     UNION ALL SELECT 1 FROM outputs WHERE blob = ?1";

/// Bulk work: removes files without a reference.
#[derive(Debug)]
pub(crate) struct BlobSweep {
    blobs: Arc<BlobStore>,
    names: SweepTargets,
}

/// The blobs that a sweep checks.
#[derive(Debug)]
enum SweepTargets {
    /// Everything in the folder, which is read when the sweep runs.
    Folder(Option<fs::ReadDir>),
    These(Vec<BlobHash>),
}

impl BlobSweep {
    /// Checks every file, once after a start.
    pub(crate) fn all(blobs: Arc<BlobStore>) -> Self {
        BlobSweep {
            blobs,
            names: SweepTargets::Folder(None),
        }
    }

    /// Checks blobs that a refused command left.
    pub(crate) fn these(blobs: Arc<BlobStore>, hashes: Vec<BlobHash>) -> Self {
        BlobSweep {
            blobs,
            names: SweepTargets::These(hashes),
        }
    }

    /// Returns the next blob to check, and removes drafts of earlier starts on the way.
    fn next(&mut self) -> Option<BlobHash> {
        let folder = match &mut self.names {
            SweepTargets::These(hashes) => return hashes.pop(),
            SweepTargets::Folder(Some(folder)) => folder,
            // A home that never had a blob has no folder, and nothing to sweep.
            SweepTargets::Folder(unread) => unread.insert(fs::read_dir(&self.blobs.folder).ok()?),
        };
        let ours = format!("{DRAFT}{}-", self.blobs.epoch);
        for entry in folder.filter_map(Result::ok) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if let Some(hash) = BlobHash::parse(&name) {
                return Some(hash);
            }
            // Drafts of this start may be in the course of being written.
            if name.starts_with(DRAFT) && !name.starts_with(&ours) {
                // A draft that stays is tried again at the next start.
                let _ = fs::remove_file(entry.path());
            }
        }
        None
    }
}

impl BulkJob for BlobSweep {
    fn name(&self) -> &'static str {
        "unused blobs"
    }

    fn step(&mut self, batch: &mut WriteBatch<'_>) -> Result<BulkProgress, QueryError> {
        for _ in 0..SWEEP_STEP {
            let Some(hash) = self.next() else {
                return Ok(BulkProgress::Done);
            };
            // The file goes after the commit, so that a rollback of this batch harms nothing.
            batch.release_blob(hash)?;
        }
        Ok(BulkProgress::More)
    }
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
