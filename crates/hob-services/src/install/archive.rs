//! Unpacks a downloaded archive.
//!
//! Invariants: nothing is written outside the folder, no link is created, no file is written twice,
//! and no more than the stated bytes are written, whatever the archive's own headers say.

use super::error::InstallError;
use super::recipe::ArchiveKind;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Component, Path, PathBuf};
use tokio_util::sync::CancellationToken;

const ENTRIES_MAX: usize = 50_000;
const NAME_BYTES_MAX: usize = 512;
const CHUNK_BYTES: usize = 256 * 1024;
/// The top folder of every npm package.
const TARBALL_ROOT: &str = "package";

/// Unpacks `file` into the existing `folder`. Blocks.
pub(crate) fn unpack(
    file: &Path,
    archive: ArchiveKind,
    folder: &Path,
    bytes_max: u64,
    stop: &CancellationToken,
) -> Result<(), InstallError> {
    let opened = File::open(file).map_err(|error| InstallError::at(file, &error))?;
    let mut target = UnpackTarget {
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
        ArchiveKind::Wheel => unpack_wheel(opened, &mut target),
        ArchiveKind::Tarball => unpack_tarball(opened, &mut target),
    }
}

fn unpack_wheel(file: File, target: &mut UnpackTarget<'_>) -> Result<(), InstallError> {
    let archive = zip::ZipArchive::new(BufReader::new(file));
    let mut archive = archive.map_err(|error| target.refused(error.to_string()))?;
    for index in 0..archive.len() {
        let mut entry = archive
            .by_index(index)
            .map_err(|error| target.refused(error.to_string()))?;
        let name = entry.name().map(std::borrow::Cow::into_owned);
        let name = name.map_err(|error| target.refused(error.to_string()))?;
        // A later entry could be written through the link, outside of the folder.
        if entry.is_symlink() {
            return Err(target.refused(format!("'{name}' in it is a link")));
        }
        let is_program = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
        if entry.is_dir() {
            target.create_folder(&name)?;
        } else {
            target.write_file(&name, is_program, &mut entry)?;
        }
    }
    Ok(())
}

fn unpack_tarball(file: File, target: &mut UnpackTarget<'_>) -> Result<(), InstallError> {
    // Limiting the decoder's output also limits long names in the headers.
    let bytes_max = target.left.saturating_mul(2).saturating_add(1 << 20);
    let plain = flate2::read::GzDecoder::new(BufReader::new(file)).take(bytes_max);
    let mut archive = tar::Archive::new(plain);
    let entries = archive
        .entries()
        .map_err(|error| target.refused(error.to_string()))?;
    for entry in entries {
        let mut entry = entry.map_err(|error| target.refused(error.to_string()))?;
        let name = entry.path_bytes();
        let name = String::from_utf8(name.into_owned())
            .map_err(|_| target.refused("a name in it is not UTF-8".to_owned()))?;
        let inside = name.strip_prefix(TARBALL_ROOT);
        let Some(inside) = inside.and_then(|rest| rest.strip_prefix('/')) else {
            return Err(target.refused(format!("'{name}' lies outside '{TARBALL_ROOT}'")));
        };
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            if !inside.is_empty() {
                target.create_folder(inside)?;
            }
        } else if kind.is_file() {
            let is_program = entry.header().mode().is_ok_and(|mode| mode & 0o111 != 0);
            target.write_file(inside, is_program, &mut entry)?;
        } else {
            return Err(target.refused(format!("'{name}' in it is neither a file nor a folder")));
        }
    }
    Ok(())
}

/// The folder that entries are unpacked to, and the remaining bytes.
struct UnpackTarget<'a> {
    /// The archive's name, for messages.
    file: String,
    folder: &'a Path,
    left: u64,
    entries: usize,
    stop: &'a CancellationToken,
}

impl UnpackTarget<'_> {
    fn create_folder(&mut self, name: &str) -> Result<(), InstallError> {
        let path = self.checked_path(name)?;
        make_folder(&path).map_err(|error| InstallError::at(&path, &error))
    }

    fn write_file(
        &mut self,
        name: &str,
        is_program: bool,
        content: &mut impl Read,
    ) -> Result<(), InstallError> {
        let path = self.checked_path(name)?;
        let failed = |error: io::Error| InstallError::at(&path, &error);
        if let Some(parent) = path.parent() {
            make_folder(parent).map_err(failed)?;
        }
        // Only the execute bit comes from the archive; other users get no access.
        let mode = if is_program { 0o700 } else { 0o600 };
        let mut options = OpenOptions::new();
        // `create_new` follows no link and refuses a second entry of the same name.
        let opened = options.write(true).create_new(true).mode(mode).open(&path);
        let mut file = match opened {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(self.refused(format!("'{name}' is in it twice")));
            }
            opened => opened.map_err(failed)?,
        };
        let mut buffer = vec![0; CHUNK_BYTES];
        loop {
            // Checked for each chunk, because one file can be large.
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
            self.left =
                left.ok_or_else(|| self.refused("it unpacks to more bytes than expected".into()))?;
            file.write_all(&buffer[..length]).map_err(failed)?;
        }
        // `InstallSite::finish` syncs only folders.
        file.sync_all().map_err(failed)
    }

    /// Returns the path of an archive entry; an error unless it is plainly below the folder.
    fn checked_path(&mut self, name: &str) -> Result<PathBuf, InstallError> {
        self.entries += 1;
        if self.entries > ENTRIES_MAX {
            return Err(self.refused(format!("it holds more than {ENTRIES_MAX} files")));
        }
        let path = Path::new(name);
        let is_plain = path
            .components()
            .all(|part| matches!(part, Component::Normal(_)));
        // `Path::components` drops `.` parts, so the text is checked as well.
        let is_odd = name.is_empty()
            || name.len() > NAME_BYTES_MAX
            || name.contains(['\\', '\0'])
            || name.split('/').any(|part| part == "." || part == "..");
        if !is_plain || is_odd {
            return Err(self.refused(format!("'{name}' in it is not a valid file name")));
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

/// Creates a folder that only its owner may enter.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
#[path = "archive_tests.rs"]
mod tests;
