//! What is printed in a terminal, for whoever watches: plain text, paced and bounded.
//!
//! Invariants: telling waits for nobody; what does not fit between two tellings is counted and told
//! with the next piece.

use hob_bus::Emitter;
use hob_core::terminal::plain::Plain;
use hob_kit::failpoint;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{OutputPayload, TerminalOutput};
use std::time::Duration;
use tokio::time::Instant;

/// The least time between two tellings.
const PACE: Duration = Duration::from_millis(50);
/// Bytes told at once.
const BYTES_MAX: usize = 64 * 1024;
/// Pieces told at once: one of each command, and of the prompts between them.
const PIECES_MAX: usize = 64;

pub(super) struct Telling {
    emitter: Emitter,
    name: String,
    plain: Plain,
    pieces: Vec<OutputPayload>,
    bytes: usize,
    dropped: u64,
    told: Option<Instant>,
}

impl Telling {
    pub(super) fn new(emitter: Emitter, name: String) -> Telling {
        Telling {
            emitter,
            name,
            plain: Plain::default(),
            pieces: Vec::new(),
            bytes: 0,
            dropped: 0,
            told: None,
        }
    }

    /// Takes what a command printed, or the shell itself.
    pub(super) fn feed(&mut self, command: Option<CommandId>, bytes: &[u8]) {
        // It is counted, not read: reading it would cost most when there is most of it.
        if self.bytes >= BYTES_MAX || self.pieces.len() >= PIECES_MAX {
            self.dropped += bytes.len() as u64;
            return;
        }
        let text = if failpoint::broken(74) {
            String::from_utf8_lossy(bytes).into_owned()
        } else {
            self.plain.feed(bytes)
        };
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        match self.pieces.last_mut() {
            Some(last) if last.command == command && self.dropped == 0 => last.text.push_str(&text),
            _ => {
                let dropped = std::mem::take(&mut self.dropped);
                self.pieces.push(OutputPayload {
                    name: self.name.clone(),
                    command,
                    text,
                    dropped: Some(dropped).filter(|count| *count > 0),
                });
            }
        }
    }

    /// Counts what nobody could read.
    pub(super) fn skip(&mut self, bytes: u64) {
        self.dropped += bytes;
        self.plain = Plain::default();
    }

    /// When there is something to tell: at once, unless something was told just before.
    pub(super) fn due(&self) -> Option<Instant> {
        self.has_any()
            .then(|| self.told.map_or_else(Instant::now, |told| told + PACE))
    }

    fn has_any(&self) -> bool {
        !self.pieces.is_empty() || self.dropped > 0
    }

    /// Tells what is due.
    pub(super) fn tell(&mut self, now: Instant) {
        let is_too_soon = self.told.is_some_and(|told| told + PACE > now);
        if !self.has_any() || is_too_soon {
            return;
        }
        let left = std::mem::take(&mut self.dropped);
        if left > 0 {
            self.pieces.push(OutputPayload {
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
        self.told = Some(now);
    }
}
