//! Reading a recording while it grows.
//!
//! Invariant: the pieces of one reader are the bytes of the recording in order, each once, from the
//! offset it was opened at; whoever reads slowly or not at all holds nobody up.

use super::{ENDED, segment, segments};
use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// The largest piece.
pub const PIECE_BYTES_MAX: usize = 64 * 1024;
/// How often is looked without being told, should a word of the kernel's be missing.
const TICK: Duration = Duration::from_secs(2);
/// The same where the kernel gives no word at all.
const TICK_ALONE: Duration = Duration::from_millis(20);

/// A piece of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// At most [`PIECE_BYTES_MAX`].
    Bytes(Vec<u8>),
    /// So many bytes are no longer there, or were never written.
    Skipped(u64),
    /// Nothing is recorded any more: the pane is gone, or its recorder is.
    Ended,
}

#[derive(Debug)]
pub struct Reader {
    folder: PathBuf,
    offset: u64,
    /// The segment being read and the offset of its first byte.
    open: Option<(u64, File)>,
    words: Option<AsyncFd<OwnedFd>>,
    /// Whether files may have come since the folder was looked at.
    stale: bool,
    /// Whether the end has been told, and nothing came since.
    ended: bool,
    buffer: Vec<u8>,
}

impl Reader {
    /// Reads the recording of a folder from an offset on. Called in a tokio runtime.
    pub fn open(folder: &Path, offset: u64) -> io::Result<Reader> {
        // Watched before anything is read: what comes in between is told.
        let words = watch(folder);
        if let Err(error) = &words {
            tracing::warn!(
                "the kernel tells nothing of a recording ({error}); it is looked at often"
            );
        }
        std::fs::metadata(folder)?;
        Ok(Reader {
            folder: folder.to_owned(),
            offset,
            open: None,
            words: words.ok(),
            stale: true,
            ended: false,
            buffer: vec![0; PIECE_BYTES_MAX],
        })
    }

    /// The offset behind what has been handed out.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// The next piece, as soon as there is one. It may be dropped while it waits; nothing is lost.
    /// After [`Piece::Ended`] it may be called again and waits for a recorder that goes on.
    pub async fn next(&mut self) -> io::Result<Piece> {
        loop {
            if let Some(piece) = self.take()? {
                return Ok(piece);
            }
            self.wait().await?;
        }
    }

    /// The next piece if there is one already.
    pub fn take(&mut self) -> io::Result<Option<Piece>> {
        // What was told so far is about what is read now.
        self.hear();
        // Looked for first: what was written before the end is read after it.
        let ended = self.stale && self.folder.join(ENDED).try_exists()?;
        loop {
            if let Some((begins, file)) = &self.open {
                // A read of what has just been written does not wait for a disk.
                let place = self.offset.saturating_sub(*begins);
                let length = file.read_at(&mut self.buffer, place)?;
                if length > 0 {
                    self.offset = self.offset.saturating_add(length as u64);
                    self.ended = false;
                    return Ok(Some(Piece::Bytes(self.buffer[..length].to_vec())));
                }
            }
            if !self.stale {
                return Ok(None);
            }
            match self.turn()? {
                Turn::Opened => {}
                Turn::Skipped(bytes) => return Ok(Some(Piece::Skipped(bytes))),
                Turn::Nothing => {
                    self.stale = false;
                    let told = std::mem::replace(&mut self.ended, ended);
                    return Ok((ended && !told).then_some(Piece::Ended));
                }
            }
        }
    }

    /// Opens the segment that has the next byte, unless it is open already.
    fn turn(&mut self) -> io::Result<Turn> {
        let current = self.open.as_ref().map(|(begins, _)| *begins);
        let found = segments(&self.folder)?;
        // The last one that begins at or before the next byte, or else the first one after it.
        let at = found.iter().rev().find(|begins| **begins <= self.offset);
        if let Some(begins) = at
            && current != Some(*begins)
            && let Some(file) = open(&self.folder, *begins)?
        {
            let holds = file.metadata()?.len() > self.offset - begins;
            if holds || found.last() == Some(begins) {
                self.open = Some((*begins, file));
                return Ok(if holds { Turn::Opened } else { Turn::Nothing });
            }
        }
        let Some(begins) = found.into_iter().find(|begins| *begins > self.offset) else {
            return Ok(Turn::Nothing);
        };
        let Some(file) = open(&self.folder, begins)? else {
            // Removed in between: look again.
            return Ok(Turn::Opened);
        };
        // The segment before it may have grown since it was read: it is full by now.
        if let Some((first, before)) = &self.open
            && before.metadata()?.len() > self.offset.saturating_sub(*first)
        {
            return Ok(Turn::Opened);
        }
        self.open = Some((begins, file));
        let skipped = begins - self.offset;
        self.offset = begins;
        Ok(Turn::Skipped(skipped))
    }

    async fn wait(&mut self) -> io::Result<()> {
        let Some(words) = &self.words else {
            tokio::time::sleep(TICK_ALONE).await;
            self.stale = true;
            return Ok(());
        };
        if let Ok(told) = tokio::time::timeout(TICK, words.readable()).await {
            return told.map(|_| ());
        }
        self.stale = true;
        Ok(())
    }

    /// Takes what the kernel has told. New bytes are found by reading; new files are remembered.
    fn hear(&mut self) {
        let Some(words) = &self.words else {
            self.stale = true;
            return;
        };
        let mut space = [MaybeUninit::uninit(); 2048];
        let mut stale = false;
        // Ends with the error that there is nothing more.
        let _ = words.try_io(Interest::READABLE, |told| -> io::Result<()> {
            let mut events = inotify::Reader::new(told, &mut space);
            loop {
                stale |= !(events.next()?.events() - ReadFlags::MODIFY).is_empty();
            }
        });
        self.stale |= stale;
    }
}

enum Turn {
    /// There is something to read now.
    Opened,
    Skipped(u64),
    Nothing,
}

/// A segment; none if it was removed since it was seen.
fn open(folder: &Path, begins: u64) -> io::Result<Option<File>> {
    match File::open(segment(folder, begins)) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

#[expect(
    unsafe_code,
    reason = "tokio cannot know that a descriptor stays open; this one is owned"
)]
fn watch(folder: &Path) -> io::Result<AsyncFd<OwnedFd>> {
    let words = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::ONLYDIR;
    inotify::add_watch(&words, folder, flags)?;
    // SAFETY: the descriptor is owned by what is registered, which never closes or replaces it.
    Ok(unsafe { AsyncFd::register_with_interest(words, Interest::READABLE)? })
}
