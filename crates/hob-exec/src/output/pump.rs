//! From a child's pipe into memory, a file, and whoever takes pieces.
//!
//! Invariants: a pump ends when its pipe does; a taker of chunks slows it, and once the child is
//! gone no longer than [`LAST_PIECES_TIME_MAX`]; whoever gets the output gets it masked, and every
//! count and offset is one of masked bytes.

use super::keep::Keep;
use super::text::{Decoder, Lines};
use super::{Piece, Source};
use crate::plan::Feed;
use hob_kit::known_secrets::StreamMask;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

/// What is read at once.
const CHUNK_BYTES: usize = 64 * 1024;
/// How long a taker may hold up the last pieces of a child that is gone.
const LAST_PIECES_TIME_MAX: Duration = Duration::from_secs(5);

/// What the pumps of one child share.
#[derive(Debug)]
pub(crate) struct Basin {
    // Std mutexes: held for a copy of at most the bound, never over an await.
    stdout: Mutex<Keep>,
    stderr: Mutex<Keep>,
    file: tokio::sync::Mutex<Option<OutputFile>>,
    pub(crate) dropped_lines: AtomicU64,
}

/// The whole output, up to a bound.
#[derive(Debug)]
pub(crate) struct OutputFile {
    pub(crate) file: File,
    pub(crate) room: u64,
    pub(crate) written: u64,
    pub(crate) truncated: bool,
}

impl Basin {
    pub(crate) fn new(bound: usize, file: Option<OutputFile>) -> Basin {
        Basin {
            stdout: Mutex::new(Keep::new(bound)),
            stderr: Mutex::new(Keep::new(bound)),
            file: tokio::sync::Mutex::new(file),
            dropped_lines: AtomicU64::new(0),
        }
    }

    pub(crate) fn look<T>(&self, source: Source, at: impl FnOnce(&mut Keep) -> T) -> T {
        let keep = match source {
            Source::Stdout => &self.stdout,
            Source::Stderr => &self.stderr,
        };
        at(&mut keep.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Writes out what is left and gives the file's length and whether it holds everything.
    pub(crate) async fn close_file(&self) -> Option<(u64, bool)> {
        let mut file = self.file.lock().await.take()?;
        let flushed = file.file.flush().await;
        Some((file.written, file.truncated || flushed.is_err()))
    }

    async fn store(&self, bytes: &[u8]) {
        let mut held = self.file.lock().await;
        let Some(file) = held.as_mut() else {
            return;
        };
        let fits = usize::try_from(file.room).map_or(bytes.len(), |room| room.min(bytes.len()));
        file.truncated |= fits < bytes.len();
        if fits > 0 && file.file.write_all(&bytes[..fits]).await.is_err() {
            // A full disk ends the file, not the run.
            file.truncated = true;
            file.room = 0;
            return;
        }
        let fits = u64::try_from(fits).unwrap_or(u64::MAX);
        file.room -= fits;
        file.written += fits;
    }
}

/// Where pieces go.
pub(crate) struct Drain {
    pub(crate) source: Source,
    pub(crate) feed: Feed,
    pub(crate) mask: Option<StreamMask>,
    pub(crate) taker: Option<mpsc::Sender<Piece>>,
    /// Becomes true when the child is gone.
    pub(crate) gone: watch::Receiver<bool>,
}

/// Empties a pipe.
pub(crate) async fn pump(mut pipe: pipe::Receiver, basin: Arc<Basin>, mut drain: Drain) {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut decoder = Decoder::default();
    let mut lines = Lines::default();
    let mut is_at_end = false;
    while !is_at_end {
        let count = pipe.read(&mut buffer).await.unwrap_or(0);
        is_at_end = count == 0;
        let bytes = drain.masked(&buffer[..count]);
        basin.look(drain.source, |keep| keep.push(&bytes));
        basin.store(&bytes).await;
        match drain.feed {
            Feed::Kept | Feed::Pipes => {}
            Feed::Chunks => drain.give(decoder.push(&bytes)).await,
            Feed::Lines => {
                for line in lines.push(&bytes) {
                    drain.give_or_drop(line, &basin);
                }
            }
        }
    }
    let rest = decoder.finish();
    if !rest.is_empty() {
        drain.give(rest).await;
    }
    if let Some(line) = lines.finish() {
        drain.give_or_drop(line, &basin);
    }
}

impl Drain {
    /// What can go on without its secrets; no bytes mean the end.
    fn masked<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match &mut self.mask {
            None => Cow::Borrowed(bytes),
            Some(mask) if bytes.is_empty() => Cow::Owned(mask.finish()),
            Some(mask) => mask.push(bytes),
        }
    }

    /// Waits for room.
    async fn give(&mut self, text: String) {
        let Some(taker) = &self.taker else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let piece = Piece {
            source: self.source,
            text,
        };
        let gone = &mut self.gone;
        let late = async {
            let _ = gone.wait_for(|gone| *gone).await;
            tokio::time::sleep(LAST_PIECES_TIME_MAX).await;
        };
        let refused = tokio::select! {
            given = taker.send(piece) => given.is_err(),
            () = late => true,
        };
        if refused {
            self.taker = None;
        }
    }

    fn give_or_drop(&self, text: String, basin: &Basin) {
        let Some(taker) = &self.taker else {
            return;
        };
        let piece = Piece {
            source: self.source,
            text,
        };
        if taker.try_send(piece).is_err() {
            basin.dropped_lines.fetch_add(1, Ordering::Relaxed);
        }
    }
}
