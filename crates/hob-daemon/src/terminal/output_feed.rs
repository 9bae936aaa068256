//! Output events of a terminal: plain text, paced and bounded.
//!
//! Invariants: emitting never waits; bytes that do not fit between two emissions are counted, and
//! the count goes out with the next piece. A piece begins at the offset where the one before ended,
//! unless something between them is missing.

use hob_bus::EventEmitter;
use hob_core::terminal::escape_stripper::EscapeStripper;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{TerminalOutput, TerminalOutputPayload};
use std::time::Duration;
use tokio::time::Instant;

/// The least time between two emissions.
const EMIT_INTERVAL: Duration = Duration::from_millis(50);
/// Bytes emitted at once.
const BYTES_MAX: usize = 64 * 1024;
/// Pieces emitted at once: one for each command, and one for each prompt between them.
const PIECES_MAX: usize = 64;

pub(super) struct OutputFeed {
    emitter: EventEmitter,
    name: String,
    plain: EscapeStripper,
    pieces: Vec<TerminalOutputPayload>,
    bytes: usize,
    dropped: u64,
    /// The offset in the recording after the last piece, and after what was dropped since.
    offset: u64,
    last_emitted: Option<Instant>,
}

impl OutputFeed {
    /// Creates a feed of what follows an offset in the recording.
    pub(super) fn new(emitter: EventEmitter, name: String, offset: u64) -> OutputFeed {
        OutputFeed {
            emitter,
            name,
            plain: EscapeStripper::default(),
            pieces: Vec::new(),
            bytes: 0,
            dropped: 0,
            offset,
            last_emitted: None,
        }
    }

    /// Adds output of a command, or of the shell itself when there is none. It lies in the
    /// recording before `end`.
    pub(super) fn feed(&mut self, command: Option<CommandId>, bytes: &[u8], end: u64) {
        // Counted but not parsed: parsing costs most exactly when a program floods the terminal.
        if self.bytes >= BYTES_MAX || self.pieces.len() >= PIECES_MAX {
            self.dropped += bytes.len() as u64;
            self.offset = end;
            return;
        }
        let text = self.plain.feed(bytes);
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        let offset = std::mem::replace(&mut self.offset, end);
        // A piece that follows dropped bytes must carry their count, so it is never merged.
        match self.pieces.last_mut() {
            Some(last) if last.command == command && self.dropped == 0 => {
                last.text.push_str(&text);
                last.end = end;
            }
            _ => {
                let dropped = std::mem::take(&mut self.dropped);
                self.pieces.push(TerminalOutputPayload {
                    name: self.name.clone(),
                    command,
                    offset,
                    end,
                    text,
                    dropped: Some(dropped).filter(|count| *count > 0),
                });
            }
        }
    }

    /// Counts bytes before `end` that are missing in the recording.
    pub(super) fn skip(&mut self, bytes: u64, end: u64) {
        self.dropped += bytes;
        self.offset = end;
        // The gap may have cut a control sequence in two, so the parser starts afresh.
        self.plain = EscapeStripper::default();
    }

    /// Returns when pending output may be emitted: at once, or one interval after the last time.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.has_pending().then(|| {
            self.last_emitted
                .map_or_else(Instant::now, |last| last + EMIT_INTERVAL)
        })
    }

    fn has_pending(&self) -> bool {
        !self.pieces.is_empty() || self.dropped > 0
    }

    /// Emits pending output if the interval has passed.
    pub(super) fn emit_due(&mut self, now: Instant) {
        let is_too_soon = self
            .last_emitted
            .is_some_and(|last| last + EMIT_INTERVAL > now);
        if !self.has_pending() || is_too_soon {
            return;
        }
        // Bytes dropped after the last piece have no piece to carry their count.
        let left = std::mem::take(&mut self.dropped);
        if left > 0 {
            self.pieces.push(TerminalOutputPayload {
                name: self.name.clone(),
                command: None,
                offset: self.offset,
                end: self.offset,
                text: String::new(),
                dropped: Some(left),
            });
        }
        for piece in self.pieces.drain(..) {
            self.emitter.emit::<TerminalOutput>(None, &piece);
        }
        self.bytes = 0;
        self.last_emitted = Some(now);
    }
}
