//! What is too large for a row: files under `blobs/`, named by the SHA-256 of what they hold.
//!
//! A blob is written and synced before the row that names it is committed, and removed only after
//! the commit that took its last row away. Whoever is about to name one holds a [`Pin`], and a
//! pinned blob is not removed. What a crash or a refused command leaves is swept: the former at
//! the next start, the latter at once.
//!
//! Invariants: a row never names a blob that is not whole on disk; a file that no row names does
//! not outlive the next start.

use crate::batch::Batch;
use crate::disk::io_error;
use crate::error::{StoreError, Trouble};
use crate::lanes::{Bulk, Step};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Semaphore;

/// Above this a value is a file, not part of a row.
pub(crate) const INLINE_BYTES_MAX: usize = 64 * 1024;
/// Blobs written at once.
const WRITES_MAX: usize = 8;
/// Files looked at in one step of a sweep.
const SWEEP_STEP: usize = 32;
/// Bytes read at once of a draft that becomes a blob.
const ADOPT_STEP: usize = 64 * 1024;
/// How the name of a blob in the making begins; the daemon's start follows.
const DRAFT: &str = "new-";

/// The name of a blob.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hash(pub(crate) [u8; 32]);

impl Hash {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Hash(Sha256::digest(bytes).into())
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
        if name.len() != 64 || !name.is_ascii() {
            return None;
        }
        for (at, byte) in hash.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&name[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Hash(hash)).filter(|hash| hash.to_hex() == name)
    }
}

impl std::fmt::Debug for Hash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_hex())
    }
}

/// The folder and who is about to name what.
#[derive(Debug)]
pub(crate) struct Blobs {
    folder: PathBuf,
    epoch: u64,
    drafts: AtomicU64,
    writes: Semaphore,
    /// A std mutex, because it is held for a file's removal at the most, without await.
    pins: Mutex<HashMap<Hash, usize>>,
}

impl Blobs {
    /// The blobs beside `database`, as the daemon's start `epoch` writes them.
    pub(crate) fn new(database: &Path, epoch: u64) -> Self {
        Blobs {
            folder: folder_of(database),
            epoch,
            drafts: AtomicU64::new(0),
            writes: Semaphore::new(WRITES_MAX),
            pins: Mutex::new(HashMap::new()),
        }
    }

    /// Makes a blob of `bytes`: whole and synced when this answers, and kept as long as the pin.
    pub(crate) async fn keep(self: &Arc<Self>, bytes: Vec<u8>) -> Result<Pin, StoreError> {
        let turn = self.writes.acquire().await;
        let _turn = turn.map_err(|_| StoreError::Closed)?;
        let blobs = Arc::clone(self);
        let kept = tokio::task::spawn_blocking(move || blobs.keep_now(&bytes)).await;
        kept.unwrap_or_else(|error| Err(StoreError::Internal(format!("a write failed: {error}"))))
    }

    fn keep_now(self: &Arc<Self>, bytes: &[u8]) -> Result<Pin, StoreError> {
        let hash = Hash::of(bytes);
        let pin = self.pin(hash);
        let path = self.path(hash);
        // One that is there and damaged is made whole again.
        if read(&path, hash).is_err() {
            self.write(&path, bytes).map_err(|error| io_error(&error))?;
        }
        hob_kit::failpoint::reach("run.blob.synced");
        Ok(pin)
    }

    fn write(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.make_folder()?;
        let draft = self.draft();
        let draft = &draft.path;
        (|| {
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(draft)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(draft, path)?;
            File::open(&self.folder)?.sync_all()
        })()
    }

    pub(crate) fn make_folder(&self) -> io::Result<()> {
        if !self.folder.exists() {
            let mut builder = DirBuilder::new();
            builder.recursive(true).mode(0o700).create(&self.folder)?;
        }
        Ok(())
    }

    /// A file in the making, beside the blobs.
    pub(crate) fn draft(&self) -> Draft {
        let number = self.drafts.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("{DRAFT}{}-{number}", self.epoch));
        Draft { path }
    }

    /// Makes a blob of a draft, however large; answers its length too.
    pub(crate) async fn adopt(self: &Arc<Self>, draft: Draft) -> Result<(Pin, u64), StoreError> {
        let turn = self.writes.acquire().await;
        let _turn = turn.map_err(|_| StoreError::Closed)?;
        let blobs = Arc::clone(self);
        let adopted = tokio::task::spawn_blocking(move || {
            let adopted = blobs.adopt_now(&draft);
            adopted.map_err(|error| io_error(&error))
        });
        let failed = |error| Err(StoreError::Internal(format!("a write failed: {error}")));
        adopted.await.unwrap_or_else(failed)
    }

    fn adopt_now(self: &Arc<Self>, draft: &Draft) -> io::Result<(Pin, u64)> {
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
        file.sync_all()?;
        let pin = self.pin(Hash(digest.finalize().into()));
        fs::rename(&draft.path, self.path(pin.hash))?;
        File::open(&self.folder)?.sync_all()?;
        Ok((pin, bytes))
    }

    /// A blob's file, for one who reads it bit by bit.
    pub(crate) fn open(&self, hash: Hash) -> Result<File, StoreError> {
        let path = self.path(hash);
        let failed = |error| StoreError::Io(format!("'{}': {error}", path.display()));
        File::open(&path).map_err(failed)
    }

    /// What a blob holds; refuses one that is not what its name says.
    pub(crate) fn read(&self, hash: Hash) -> Result<Vec<u8>, StoreError> {
        read(&self.path(hash), hash)
    }

    fn pin(self: &Arc<Self>, hash: Hash) -> Pin {
        *self.pins().entry(hash).or_insert(0) += 1;
        Pin {
            blobs: Arc::clone(self),
            hash,
        }
    }

    /// Removes a blob that no committed row names, unless somebody is about to.
    pub(crate) fn remove(&self, hash: Hash) {
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

    fn path(&self, hash: Hash) -> PathBuf {
        self.folder.join(hash.to_hex())
    }

    fn pins(&self) -> MutexGuard<'_, HashMap<Hash, usize>> {
        self.pins.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A file in the making; it goes when this is dropped, unless a blob was made of it.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) path: PathBuf,
}

impl Drop for Draft {
    fn drop(&mut self) {
        // Usually it is a blob by now, or was never written.
        let _ = fs::remove_file(&self.path);
    }
}

/// Keeps a blob from being removed while its row is on the way.
#[derive(Debug)]
pub(crate) struct Pin {
    blobs: Arc<Blobs>,
    pub(crate) hash: Hash,
}

impl Drop for Pin {
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

/// What is wrong with the blob of this name, if anything.
pub(crate) fn problem(folder: &Path, hash: Hash) -> Option<StoreError> {
    read(&folder.join(hash.to_hex()), hash).err()
}

fn read(path: &Path, hash: Hash) -> Result<Vec<u8>, StoreError> {
    let damaged = |what: &str| StoreError::Damaged {
        file: path.to_owned(),
        what: format!("this part of a run {what}. Restore it from a backup."),
    };
    match fs::read(path) {
        Ok(bytes) if Hash::of(&bytes) == hash => Ok(bytes),
        Ok(_) => Err(damaged("is damaged")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(damaged("is missing")),
        Err(error) => Err(StoreError::Io(format!(
            "'{}' cannot be read: {error}",
            path.display()
        ))),
    }
}

/// Whether a row names this blob.
pub(crate) fn is_named(batch: &Batch<'_>, hash: Hash) -> rusqlite::Result<bool> {
    let mut select = batch.sql.prepare_cached(NAMED)?;
    select.exists([&hash.0[..]])
}

pub(crate) const NAMED: &str = "SELECT 1 FROM run_tasks WHERE params_blob = ?1
     UNION ALL SELECT 1 FROM journal WHERE blob = ?1
     UNION ALL SELECT 1 FROM changes WHERE blob = ?1
     UNION ALL SELECT 1 FROM outputs WHERE blob = ?1";

/// Bulk work: finds files that no row names.
#[derive(Debug)]
pub(crate) struct BlobSweep {
    blobs: Arc<Blobs>,
    names: Names,
}

#[derive(Debug)]
enum Names {
    /// Everything in the folder, read when its turn comes.
    Folder(Option<fs::ReadDir>),
    These(Vec<Hash>),
}

impl BlobSweep {
    /// Looks at every file, once after a start.
    pub(crate) fn all(blobs: Arc<Blobs>) -> Self {
        BlobSweep {
            blobs,
            names: Names::Folder(None),
        }
    }

    /// Looks at blobs that a refused command left.
    pub(crate) fn these(blobs: Arc<Blobs>, hashes: Vec<Hash>) -> Self {
        BlobSweep {
            blobs,
            names: Names::These(hashes),
        }
    }

    /// The next blob to look at; the folder's foreign drafts are removed on the way.
    fn next(&mut self) -> Option<Hash> {
        let folder = match &mut self.names {
            Names::These(hashes) => return hashes.pop(),
            Names::Folder(Some(folder)) => folder,
            Names::Folder(unread) => unread.insert(fs::read_dir(&self.blobs.folder).ok()?),
        };
        let ours = format!("{DRAFT}{}-", self.blobs.epoch);
        for entry in folder.filter_map(Result::ok) {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if let Some(hash) = Hash::parse(&name) {
                return Some(hash);
            }
            if name.starts_with(DRAFT) && !name.starts_with(&ours) {
                // One that stays is tried again at the next start.
                let _ = fs::remove_file(entry.path());
            }
        }
        None
    }
}

impl Bulk for BlobSweep {
    fn name(&self) -> &'static str {
        "unused blobs"
    }

    fn step(&mut self, batch: &mut Batch<'_>) -> Result<Step, Trouble> {
        for _ in 0..SWEEP_STEP {
            let Some(hash) = self.next() else {
                return Ok(Step::Done);
            };
            batch.drop_blob(hash)?;
        }
        Ok(Step::More)
    }
}

#[cfg(test)]
#[path = "blobs_tests.rs"]
mod tests;
