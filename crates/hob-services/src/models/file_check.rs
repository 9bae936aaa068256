//! The comparison of a fetched file with what the hub listed.
//!
//! Invariant: what is compared was read from the disk, after it was synced.

use super::error::PullError;
use super::model_folder::ModelRecord;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use tokio_util::sync::CancellationToken;

/// The first bytes of a GGUF file.
const MAGIC: &[u8] = b"GGUF";
const HASH_BYTES: usize = 1024 * 1024;

/// What was read from the disk.
pub(crate) struct FoundFile {
    bytes: u64,
    sha256: String,
    is_gguf: bool,
}

/// Reads a file and reports the bytes. Blocks.
pub(crate) fn digest(
    path: &Path,
    stop: &CancellationToken,
    report: impl Fn(u64),
) -> Result<FoundFile, PullError> {
    let failed = |error: io::Error| PullError::at(path, &error);
    let mut file = File::open(path).map_err(failed)?;
    file.sync_all().map_err(failed)?;
    let (mut hasher, mut bytes, mut is_gguf) = (Sha256::new(), 0, false);
    let mut buffer = vec![0; HASH_BYTES];
    loop {
        if stop.is_cancelled() {
            return Err(PullError::Stopped);
        }
        let length = file.read(&mut buffer).map_err(failed)?;
        if length == 0 {
            break;
        }
        if bytes == 0 {
            is_gguf = buffer[..length].starts_with(MAGIC);
        }
        hasher.update(&buffer[..length]);
        bytes += length as u64;
        report(bytes);
    }
    let sha256 = crate::install::hex(&hasher.finalize());
    Ok(FoundFile {
        bytes,
        sha256,
        is_gguf,
    })
}

/// Returns the difference between the file and its record.
pub(crate) fn find_difference(record: &ModelRecord, found: &FoundFile) -> Option<String> {
    if found.bytes != record.bytes {
        return Some(format!(
            "it has {} bytes instead of {}",
            found.bytes, record.bytes
        ));
    }
    if found.sha256 != record.sha256 {
        return Some(format!(
            "its SHA-256 is {} instead of {}",
            found.sha256, record.sha256
        ));
    }
    (!found.is_gguf).then(|| "it is not a GGUF file".to_owned())
}
