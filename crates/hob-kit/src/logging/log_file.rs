//! The log file: appended to and rotated by size. Invariant: after a write that failed half-way,
//! the next record starts on a new line.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    open: Option<OpenLogFile>,
    pub(super) bytes_max: u64,
    pub(super) files_max: usize,
}

#[derive(Debug)]
struct OpenLogFile {
    file: File,
    bytes: u64,
    torn: bool,
}

impl LogFile {
    pub(super) fn new(path: PathBuf) -> LogFile {
        LogFile {
            path,
            open: None,
            bytes_max: u64::MAX,
            files_max: 1,
        }
    }

    /// Appends one record that ends with a line break.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let length = record.len() as u64;
        let full = |open: &OpenLogFile| open.bytes > 0 && open.bytes + length > self.bytes_max;
        if self.open.as_ref().is_some_and(full) {
            // Closed first: if rotating fails, the next record opens the file again.
            self.open = None;
            self.rotate()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(OpenLogFile::at(&self.path)?),
        };
        let written = open.append(record);
        if written.is_err() {
            // The next record opens the file again, in case it was removed.
            self.open = None;
        }
        written
    }

    /// Renames `hob.log` to `hob.log.1`, that to `.2` and so on, and removes the oldest.
    fn rotate(&self) -> io::Result<()> {
        let aside = |number: usize| {
            let mut name = self.path.clone().into_os_string();
            name.push(format!(".{number}"));
            PathBuf::from(name)
        };
        let last = self.files_max.saturating_sub(1);
        if last == 0 {
            return std::fs::remove_file(&self.path);
        }
        // From the oldest to the newest, so that no rename overwrites a file that is still needed.
        for number in (1..last).rev() {
            rename_if_there(&aside(number), &aside(number + 1))?;
        }
        rename_if_there(&self.path, &aside(1))?;
        self.remove_beyond(last)
    }

    /// Removes the files that remain after `log.files_max` was reduced.
    fn remove_beyond(&self, last: usize) -> io::Result<()> {
        let (Some(directory), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(());
        };
        let name = name.to_string_lossy();
        for entry in std::fs::read_dir(directory)? {
            let entry = entry?;
            let found = entry.file_name();
            let number = found
                .to_str()
                .and_then(|found| found.strip_prefix(&*name)?.strip_prefix('.')?.parse().ok());
            if number.is_some_and(|number: usize| number > last) {
                std::fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

impl OpenLogFile {
    fn at(path: &Path) -> io::Result<OpenLogFile> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        let bytes = file.metadata()?.len();
        // A crash or a full disk may have left a partial last line.
        let mut last = [b'\n'];
        if bytes > 0 {
            file.read_exact_at(&mut last, bytes - 1)?;
        }
        let torn = last != [b'\n'];
        Ok(OpenLogFile { file, bytes, torn })
    }

    fn append(&mut self, record: &[u8]) -> io::Result<()> {
        if self.torn {
            self.file.write_all(b"\n")?;
            self.bytes += 1;
            self.torn = false;
        }
        self.file.write_all(record)?;
        self.bytes += record.len() as u64;
        Ok(())
    }
}

fn rename_if_there(from: &Path, to: &Path) -> io::Result<()> {
    match std::fs::rename(from, to) {
        Err(failure) if failure.kind() == io::ErrorKind::NotFound => Ok(()),
        renamed => renamed,
    }
}
