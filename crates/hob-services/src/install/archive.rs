//! Taking a fetched archive apart.
//!
//! Invariants: nothing is written outside the folder, no link is made, no file is written twice,
//! and no more than the stated bytes come out, whatever the archive says of itself.

use super::error::InstallError;
use super::recipe::Archive;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use tokio_util::sync::CancellationToken;

const ENTRIES_MAX: usize = 50_000;
const NAME_BYTES_MAX: usize = 512;
const CHUNK_BYTES: usize = 256 * 1024;
/// What npm puts everything below.
const TARBALL_ROOT: &str = "package";

/// Unpacks `file` into `folder`, which is there. Blocks.
pub(crate) fn unpack(
    file: &Path,
    archive: Archive,
    folder: &Path,
    bytes_max: u64,
    stop: &CancellationToken,
) -> Result<(), InstallError> {
    let opened = File::open(file).map_err(|error| InstallError::at(file, &error))?;
    let mut sink = Sink {
        file: file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into(),
        folder,
        left: bytes_max,
        entries: 0,
        stop,
    };
    match archive {
        Archive::Wheel => unpack_wheel(opened, &mut sink),
        Archive::Tarball => unpack_tarball(opened, &mut sink),
    }
}

fn unpack_wheel(file: File, sink: &mut Sink<'_>) -> Result<(), InstallError> {
    let archive = zip::ZipArchive::new(BufReader::new(file));
    let mut archive = archive.map_err(|error| sink.refused(error.to_string()))?;
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|error| sink.refused(error.to_string()))?;
        let name = entry.name().map(std::borrow::Cow::into_owned);
        let name = name.map_err(|error| sink.refused(error.to_string()))?;
        if entry.is_symlink() {
            return Err(sink.refused(format!("'{name}' in it is a link")));
        }
        let is_program = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        if entry.is_dir() {
            sink.folder(&name)?;
        } else {
            sink.put(&name, is_program, &mut entry)?;
        }
    }
    Ok(())
}

fn unpack_tarball(file: File, sink: &mut Sink<'_>) -> Result<(), InstallError> {
    // A bound on what the decoder gives also bounds the headers' own long names.
    let bytes_max = sink.left.saturating_mul(2).saturating_add(1 << 20);
    let plain = flate2::read::GzDecoder::new(BufReader::new(file)).take(bytes_max);
    let mut archive = tar::Archive::new(plain);
    let entries = archive
        .entries()
        .map_err(|error| sink.refused(error.to_string()))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| sink.refused(error.to_string()))?;
        let name = entry.path_bytes();
        let name = String::from_utf8(name.into_owned())
            .map_err(|_| sink.refused("a name in it is no text".to_owned()))?;
        let inside = name.strip_prefix(TARBALL_ROOT);
        let Some(inside) = inside.and_then(|rest| rest.strip_prefix('/')) else {
            return Err(sink.refused(format!("'{name}' lies outside '{TARBALL_ROOT}'")));
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            if !inside.is_empty() {
                sink.folder(inside)?;
            }
        } else if kind.is_file() {
            let is_program = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
            sink.put(inside, is_program, &mut entry)?;
        } else {
            return Err(sink.refused(format!("'{name}' in it is neither a file nor a folder")));
        }
    }
    Ok(())
}

/// Where entries go, and how much more may come.
struct Sink<'a> {
    /// The archive's name, for messages.
    file: String,
    folder: &'a Path,
    left: u64,
    entries: usize,
    stop: &'a CancellationToken,
}

impl Sink<'_> {
    fn folder(&mut self, name: &str) -> Result<(), InstallError> {
        let path = self.place(name)?;
        make_folder(&path).map_err(|error| InstallError::at(&path, &error))
    }

    fn put(
        &mut self,
        name: &str,
        is_program: bool,
        content: &mut impl Read,
    ) -> Result<(), InstallError> {
        let path = self.place(name)?;
        let failed = |error: io::Error| InstallError::at(&path, &error);
        if let Some(parent) = path.parent() {
            make_folder(parent).map_err(failed)?;
        }
        let mode = if is_program { 0o700 } else { 0o600 };
        let mut options = OpenOptions::new();
        let opened = options.write(true).create_new(true).mode(mode).open(&path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.refused(format!("'{name}' is in it twice")));
            }
            opened => opened.map_err(failed)?,
        };
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            if self.stop.is_cancelled() {
                return Err(InstallError::Stopped);
            }
            let length = content
                .read(&mut buffer)
                .map_err(|error| self.refused(error.to_string()))?;
            if length == 0 {
                break;
            }
            let left = self.left.checked_sub(length as u64);
            self.left = left.ok_or_else(|| self.refused("more comes out than it should".into()))?;
            file.write_all(&buffer[..length]).map_err(failed)?;
        }
        file.sync_all().map_err(failed)
    }

    /// Where a name of the archive leads; an error unless that is plainly below the folder.
    fn place(&mut self, name: &str) -> Result<PathBuf, InstallError> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(self.refused(format!("it holds more than {ENTRIES_MAX} files")));
        }
        let path = Path::new(name);
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        let is_odd = name.is_empty()
            || name.len() > NAME_BYTES_MAX
            || name.contains(['\\', '\0'])
            || name.split('/').any(|part| part == "." || part == "..");
        if !is_plain || is_odd {
            return Err(self.refused(format!("'{name}' in it is no name for a file")));
        }
        Ok(self.folder.join(path))
    }

    fn refused(&self, why: String) -> InstallError {
        InstallError::Archive {
            file: self.file.clone(),
            why,
        }
    }
}

/// Makes a folder that only its owner may enter.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
