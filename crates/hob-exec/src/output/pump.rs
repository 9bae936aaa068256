//! Moves output from a child's pipe to memory, to a file, and to the receiver of pieces.
//!
//! Invariants: a pump ends when its pipe is closed; a slow receiver of chunks slows it, but after
//! the child is gone for at most [`LAST_PIECES_TIME_MAX`]; all output is masked before anyone gets
//! it, and all counts and offsets are in masked bytes.

use super::head_tail::HeadTailBuffer;
use super::text::{LineSplitter, Utf8Decoder};
use super::{ChildStream, OutputPiece};
use crate::spawn_plan::OutputMode;
use hob_kit::known_secrets::StreamMask;
use std::borrow::Cow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::fs::File;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

/// Bytes per read.
const CHUNK_BYTES: usize = 64 * 1024;
/// Time that a receiver may block the last pieces of a child that is gone.
const LAST_PIECES_TIME_MAX: Duration = Duration::from_secs(5);

/// The kept output of one child, shared by its pumps.
#[derive(Debug)]
pub(crate) struct OutputBuffers {
    // Std mutexes: locked only to copy at most the bound, never over an await.
    stdout: Mutex<HeadTailBuffer>,
    stderr: Mutex<HeadTailBuffer>,
    file: tokio::sync::Mutex<Option<OutputFile>>,
    pub(crate) dropped_lines: AtomicU64,
}

/// The file that receives the output, up to a bound.
#[derive(Debug)]
pub(crate) struct OutputFile {
    pub(crate) file: File,
    pub(crate) room_bytes: u64,
    pub(crate) written_bytes: u64,
    pub(crate) is_truncated: bool,
}

impl OutputBuffers {
    pub(crate) fn new(bound: usize, file: Option<OutputFile>) -> OutputBuffers {
        OutputBuffers {
            stdout: Mutex::new(HeadTailBuffer::new(bound)),
            stderr: Mutex::new(HeadTailBuffer::new(bound)),
            file: tokio::sync::Mutex::new(file),
            dropped_lines: AtomicU64::new(0),
        }
    }

    pub(crate) fn with_buffer<T>(
        &self,
        stream: ChildStream,
        at: impl FnOnce(&mut HeadTailBuffer) -> T,
    ) -> T {
        let buffer = match stream {
            ChildStream::Stdout => &self.stdout,
            ChildStream::Stderr => &self.stderr,
        };
        at(&mut buffer.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Flushes the file. Returns its length, and true if output is missing in it.
    pub(crate) async fn close_file(&self) -> Option<(u64, bool)> {
        let mut file = self.file.lock().await.take()?;
        let flushed = file.file.flush().await;
        Some((file.written_bytes, file.is_truncated || flushed.is_err()))
    }

    async fn append_to_file(&self, bytes: &[u8]) {
        let mut held = self.file.lock().await;
        let Some(file) = held.as_mut() else {
            return;
        };
        let fits =
            usize::try_from(file.room_bytes).map_or(bytes.len(), |room| room.min(bytes.len()));
        file.is_truncated |= fits < bytes.len();
        if fits > 0 && file.file.write_all(&bytes[..fits]).await.is_err() {
            // A write error, such as a full disk, ends the file but not the run.
            file.is_truncated = true;
            file.room_bytes = 0;
            return;
        }
        let fits = u64::try_from(fits).unwrap_or(u64::MAX);
        file.room_bytes -= fits;
        file.written_bytes += fits;
    }
}

/// The masking and delivery of one stream.
pub(crate) struct PieceSender {
    pub(crate) stream: ChildStream,
    pub(crate) output_mode: OutputMode,
    pub(crate) mask: Option<StreamMask>,
    pub(crate) sender: Option<mpsc::Sender<OutputPiece>>,
    /// Turns true when the child is gone.
    pub(crate) child_gone: watch::Receiver<bool>,
}

/// Reads a pipe until it is closed.
pub(crate) async fn pump(
    mut pipe: pipe::Receiver,
    buffers: Arc<OutputBuffers>,
    mut piece_sender: PieceSender,
) {
    let mut buffer = vec![0; CHUNK_BYTES];
    let mut decoder = Utf8Decoder::default();
    let mut lines = LineSplitter::default();
    let mut is_at_end = false;
    while !is_at_end {
        // A read error ends the output in the same way as a closed pipe.
        let count = pipe.read(&mut buffer).await.unwrap_or(0);
        is_at_end = count == 0;
        // Masked first: neither memory, nor the file, nor the receiver may see a secret.
        let bytes = piece_sender.mask_bytes(&buffer[..count]);
        buffers.with_buffer(piece_sender.stream, |buffer| buffer.push(&bytes));
        buffers.append_to_file(&bytes).await;
        match piece_sender.output_mode {
            OutputMode::Kept | OutputMode::Pipes => {}
            OutputMode::Chunks => piece_sender.send(decoder.push(&bytes)).await,
            OutputMode::Lines => {
                for line in lines.push(&bytes) {
                    piece_sender.send_or_drop(line, &buffers);
                }
            }
        }
    }
    let rest = decoder.finish();
    if !rest.is_empty() {
        piece_sender.send(rest).await;
    }
    if let Some(line) = lines.finish() {
        piece_sender.send_or_drop(line, &buffers);
    }
}

impl PieceSender {
    /// Masks secrets and returns the bytes that are ready. Empty input means end of stream.
    fn mask_bytes<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, [u8]> {
        match &mut self.mask {
            None => Cow::Borrowed(bytes),
            Some(mask) if bytes.is_empty() => Cow::Owned(mask.finish()),
            Some(mask) => mask.push(bytes),
        }
    }

    /// Sends a piece, waiting for room.
    async fn send(&mut self, text: String) {
        let Some(sender) = &self.sender else {
            return;
        };
        if text.is_empty() {
            return;
        }
        let piece = OutputPiece {
            stream: self.stream,
            text,
        };
        let child_gone = &mut self.child_gone;
        // A receiver that stops reading must not delay the exit of a finished child for ever.
        let late = async {
            let _ = child_gone.wait_for(|child_gone| *child_gone).await;
            tokio::time::sleep(LAST_PIECES_TIME_MAX).await;
        };
        let refused = tokio::select! {
            given = sender.send(piece) => given.is_err(),
            () = late => true,
        };
        if refused {
            // Later pieces are neither delivered nor waited for.
            self.sender = None;
        }
    }

    fn send_or_drop(&self, text: String, buffers: &OutputBuffers) {
        let Some(sender) = &self.sender else {
            return;
        };
        let piece = OutputPiece {
            stream: self.stream,
            text,
        };
        if sender.try_send(piece).is_err() {
            buffers.dropped_lines.fetch_add(1, Ordering::Relaxed);
        }
    }
}
