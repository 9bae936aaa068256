//! The log's file: appended to, put aside by size. Invariant: after a write that failed half-way
//! the next record begins on a line of its own.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct LogFile {
    path: PathBuf,
    open: Option<Open>,
    pub(super) bytes_max: u64,
    pub(super) files_max: usize,
}

#[derive(Debug)]
struct Open {
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

    /// Appends one record, which ends with a line break.
    pub(super) fn append(&mut self, record: &[u8]) -> io::Result<()> {
        let length = record.len() as u64;
        let full = |open: &Open| open.bytes > 0 && open.bytes + length > self.bytes_max;
        if self.open.as_ref().is_some_and(full) {
            self.open = None;
            self.rotate()?;
        }
        let open = match &mut self.open {
            Some(open) => open,
            closed => closed.insert(Open::at(&self.path)?),
        };
        let written = open.append(record);
        if written.is_err() {
            // The next record opens the file anew, in case it was removed under us.
            self.open = None;
        }
        written
    }

    /// `hob.log` becomes `hob.log.1`, that `.2`, …; the oldest is removed.
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
        for number in (1..last).rev() {
            rename_if_there(&aside(number), &aside(number + 1))?;
        }
        rename_if_there(&self.path, &aside(1))?;
        self.remove_beyond(last)
    }

    /// Removes what is left of a time when more files were kept.
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

impl Open {
    fn at(path: &Path) -> io::Result<Open> {
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(path)?;
        let bytes = file.metadata()?.len();
        let mut last = [b'\n'];
        if bytes > 0 {
            file.read_exact_at(&mut last, bytes - 1)?;
        }
        let torn = last != [b'\n'];
        Ok(Open { file, bytes, torn })
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
