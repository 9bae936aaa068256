//! Reads a recording while it grows.
//!
//! Invariants: a reader returns the bytes of the recording in order, each once, from the offset at
//! which it was opened; a slow reader blocks nobody.

use super::{ENDED, list_segments, segment_path};
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
/// The interval of checks without an event, in case one was lost.
const POLL_INTERVAL: Duration = Duration::from_secs(2);
/// The interval of checks if inotify is not available.
const POLL_INTERVAL_UNWATCHED: Duration = Duration::from_millis(20);

/// A piece of a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RecordedPiece {
    /// At most [`PIECE_BYTES_MAX`].
    Bytes(Vec<u8>),
    /// The number of bytes that were removed or never written.
    Skipped(u64),
    /// The recording has ended: the pane or its recorder is gone.
    Ended,
}

#[derive(Debug)]
pub struct RecordingReader {
    folder: PathBuf,
    offset: u64,
    /// The current segment and the offset of its first byte.
    open: Option<(u64, File)>,
    events: Option<AsyncFd<OwnedFd>>,
    /// True if files may have been created since the folder was read.
    is_stale: bool,
    /// True if the end was reported and nothing came since.
    is_end_reported: bool,
    buffer: Vec<u8>,
}

impl RecordingReader {
    /// Opens the recording of a folder at an offset. Must be called in a tokio runtime.
    pub fn open(folder: &Path, offset: u64) -> io::Result<RecordingReader> {
        // The watch starts before the first read, so that no byte is missed in between.
        let events = watch(folder);
        if let Err(error) = &events {
            tracing::warn!(
                "inotify is not available for a recording ({error}); it is polled instead"
            );
        }
        // A missing watch is tolerated above; a missing folder is not.
        std::fs::metadata(folder)?;
        Ok(RecordingReader {
            folder: folder.to_owned(),
            offset,
            open: None,
            events: events.ok(),
            is_stale: true,
            is_end_reported: false,
            buffer: vec![0; PIECE_BYTES_MAX],
        })
    }

    /// The offset after the last returned byte.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Waits for the next piece. Cancel-safe. After [`RecordedPiece::Ended`] it waits for a
    /// recorder that continues.
    pub async fn next(&mut self) -> io::Result<RecordedPiece> {
        loop {
            if let Some(piece) = self.take()? {
                return Ok(piece);
            }
            self.wait().await?;
        }
    }

    /// Returns the next piece if there is one already.
    pub fn take(&mut self) -> io::Result<Option<RecordedPiece>> {
        // Before the read: the events so far are about bytes that are read now.
        self.drain_events();
        // The end marker is checked before the bytes, so that bytes written before it are not
        // missed.
        let ended = self.is_stale && self.folder.join(ENDED).try_exists()?;
        loop {
            if let Some((start, file)) = &self.open {
                // A blocking read is fine here: recent bytes are in the page cache.
                let place = self.offset.saturating_sub(*start);
                let length = file.read_at(&mut self.buffer, place)?;
                if length > 0 {
                    self.offset = self.offset.saturating_add(length as u64);
                    self.is_end_reported = false;
                    return Ok(Some(RecordedPiece::Bytes(self.buffer[..length].to_vec())));
                }
            }
            if !self.is_stale {
                return Ok(None);
            }
            match self.open_next_segment()? {
                SegmentChange::Opened => {}
                SegmentChange::Skipped(bytes) => return Ok(Some(RecordedPiece::Skipped(bytes))),
                SegmentChange::Nothing => {
                    self.is_stale = false;
                    let was_reported = std::mem::replace(&mut self.is_end_reported, ended);
                    return Ok((ended && !was_reported).then_some(RecordedPiece::Ended));
                }
            }
        }
    }

    /// Opens the segment with the next byte, unless it is open already.
    fn open_next_segment(&mut self) -> io::Result<SegmentChange> {
        let current = self.open.as_ref().map(|(start, _)| *start);
        let found = list_segments(&self.folder)?;
        // The last segment that starts at or before the next byte, or else the first one after it.
        let at = found.iter().rev().find(|start| **start <= self.offset);
        if let Some(start) = at
            && current != Some(*start)
            && let Some(file) = open(&self.folder, *start)?
        {
            let holds = file.metadata()?.len() > self.offset - start;
            // The newest segment is opened even if it has no more bytes, because the next ones come
            // there.
            if holds || found.last() == Some(start) {
                self.open = Some((*start, file));
                return Ok(if holds {
                    SegmentChange::Opened
                } else {
                    SegmentChange::Nothing
                });
            }
        }
        let Some(start) = found.into_iter().find(|start| *start > self.offset) else {
            return Ok(SegmentChange::Nothing);
        };
        let Some(file) = open(&self.folder, start)? else {
            // It was removed in the meantime: look again.
            return Ok(SegmentChange::Opened);
        };
        // The previous segment may have grown since it was read. It is full by now, so read its
        // rest first.
        if let Some((first, before)) = &self.open
            && before.metadata()?.len() > self.offset.saturating_sub(*first)
        {
            return Ok(SegmentChange::Opened);
        }
        self.open = Some((start, file));
        let skipped = start - self.offset;
        self.offset = start;
        Ok(SegmentChange::Skipped(skipped))
    }

    async fn wait(&mut self) -> io::Result<()> {
        let Some(events) = &self.events else {
            tokio::time::sleep(POLL_INTERVAL_UNWATCHED).await;
            self.is_stale = true;
            return Ok(());
        };
        if let Ok(told) = tokio::time::timeout(POLL_INTERVAL, events.readable()).await {
            return told.map(|_| ());
        }
        self.is_stale = true;
        Ok(())
    }

    /// Reads pending inotify events. New bytes are found by reading; new files set `is_stale`.
    fn drain_events(&mut self) {
        let Some(events) = &self.events else {
            self.is_stale = true;
            return;
        };
        let mut space = [MaybeUninit::uninit(); 2048];
        let mut stale = false;
        // The loop ends with the error that no event is left.
        let _ = events.try_io(Interest::READABLE, |told| -> io::Result<()> {
            let mut reader = inotify::Reader::new(told, &mut space);
            loop {
                stale |= !(reader.next()?.events() - ReadFlags::MODIFY).is_empty();
            }
        });
        self.is_stale |= stale;
    }
}

enum SegmentChange {
    /// A segment is open for reading.
    Opened,
    Skipped(u64),
    Nothing,
}

/// Opens a segment; none if it was removed since it was listed.
fn open(folder: &Path, start: u64) -> io::Result<Option<File>> {
    match File::open(segment_path(folder, start)) {
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
    let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK)?;
    let flags = WatchFlags::MODIFY | WatchFlags::CREATE | WatchFlags::ONLYDIR;
    inotify::add_watch(&events, folder, flags)?;
    // SAFETY: the descriptor is owned by what is registered, which never closes or replaces it.
    Ok(unsafe { AsyncFd::register_with_interest(events, Interest::READABLE)? })
}
