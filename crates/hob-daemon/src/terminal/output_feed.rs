//! Output events of a terminal: plain text, paced and bounded.
//!
//! Invariants: emitting never waits; bytes that do not fit between two emissions are counted, and
//! the count goes out with the next piece.

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
    last_emitted: Option<Instant>,
}

impl OutputFeed {
    pub(super) fn new(emitter: EventEmitter, name: String) -> OutputFeed {
        OutputFeed {
            emitter,
            name,
            plain: EscapeStripper::default(),
            pieces: Vec::new(),
            bytes: 0,
            dropped: 0,
            last_emitted: None,
        }
    }

    /// Adds output of a command, or of the shell itself when there is none.
    pub(super) fn feed(&mut self, command: Option<CommandId>, bytes: &[u8]) {
        // Counted but not parsed: parsing costs most exactly when a program floods the terminal.
        if self.bytes >= BYTES_MAX || self.pieces.len() >= PIECES_MAX {
            self.dropped += bytes.len() as u64;
            return;
        }
        let text = self.plain.feed(bytes);
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        // A piece that follows dropped bytes must carry their count, so it is never merged.
        match self.pieces.last_mut() {
            Some(last) if last.command == command && self.dropped == 0 => last.text.push_str(&text),
            _ => {
                let dropped = std::mem::take(&mut self.dropped);
                self.pieces.push(TerminalOutputPayload {
                    name: self.name.clone(),
                    command,
                    text,
                    dropped: Some(dropped).filter(|count| *count > 0),
                });
            }
        }
    }

    /// Counts bytes that are missing in the recording.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.dropped += bytes;
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
