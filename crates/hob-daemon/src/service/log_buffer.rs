//! The output of a service: the last lines in memory, more of them in a file, and events for
//! watchers.
//!
//! Invariants: memory and file are bounded whatever is printed; line numbers only rise, and a
//! dropped line leaves a gap; writing never waits for a reader.

use crate::RoomContext;
use hob_bus::EventEmitter;
use hob_exec::Child;
use hob_exec::output::{ChildStream, OutputPiece};
use hob_kit::clock::Clock;
use hob_kit::mask::SecretMask;
use hob_wire::rooms::service::{ServiceLog, ServiceLogLine, ServiceLogPayload};
use hob_wire::rooms::tool::OutputStream;
use std::collections::VecDeque;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Lines kept in memory.
pub(super) const LINES_MAX: usize = 1_000;
/// Longer lines are cut.
pub(super) const LINE_BYTES_MAX: usize = 4 * 1024;
/// The size at which the log file is rotated. One older file is kept.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Lines that go out as events in each [`PACE_MS`].
const PACE_LINES: u32 = 200;
const PACE_MS: u64 = 1_000;
/// Lines written at once.
const BATCH_LINES: usize = 512;
/// The pause after a full batch. It keeps a flood cheap: lines that do not fit meanwhile are dropped
/// and counted by the child's own buffer.
const BATCH_REST: Duration = Duration::from_millis(50);

/// The log of one service, across its restarts.
#[derive(Debug)]
pub(super) struct ServiceLogBuffer {
    name: String,
    file: PathBuf,
    clock: Clock,
    emitter: EventEmitter,
    /// Secrets to hide: a service may print the password that it was given.
    mask: SecretMask,
    // A std mutex: held to add or copy lines, never over an await.
    window: Mutex<LogWindow>,
}

#[derive(Debug, Default)]
/// The lines in memory, and the count for pacing events.
struct LogWindow {
    lines: VecDeque<ServiceLogLine>,
    last: u64,
    pace_began_ms: u64,
    paced: u32,
}

impl ServiceLogBuffer {
    pub(super) fn new(name: &str, deps: &RoomContext, emitter: EventEmitter) -> ServiceLogBuffer {
        ServiceLogBuffer {
            name: name.to_owned(),
            file: deps.home.service_log(name),
            clock: deps.clock.clone(),
            emitter,
            mask: deps.mask.clone(),
            window: Mutex::default(),
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the newest `count` lines after the one numbered `after`.
    pub(super) fn lines(&self, count: usize, after: u64) -> Vec<ServiceLogLine> {
        let window = self.window();
        let newer = window.lines.iter().filter(|line| line.number > after);
        let skip = newer.clone().count().saturating_sub(count);
        newer.skip(skip).cloned().collect()
    }

    /// Returns the number of the newest line.
    pub(super) fn last_number(&self) -> u64 {
        self.window().last
    }

    /// Copies the output of a child until it ends, as a task of its own.
    pub(super) async fn follow(self: Arc<Self>, child: Arc<Child>) {
        let mut seen_dropped = 0;
        let mut batch: Vec<OutputPiece> = Vec::with_capacity(BATCH_LINES);
        while let Some(first) = child.next_output().await {
            batch.push(first);
            // Takes what is there without waiting, so that a single line is not delayed.
            while batch.len() < BATCH_LINES {
                match futures_util::FutureExt::now_or_never(child.next_output()) {
                    Some(Some(piece)) => batch.push(piece),
                    Some(None) | None => break,
                }
            }
            let dropped = child.dropped_lines();
            let is_full = batch.len() == BATCH_LINES;
            self.append_batch(std::mem::take(&mut batch), dropped - seen_dropped)
                .await;
            seen_dropped = dropped;
            if is_full {
                tokio::time::sleep(BATCH_REST).await;
            }
        }
    }

    /// Appends lines; `missed` lines before them were dropped.
    async fn append_batch(self: &Arc<Self>, pieces: Vec<OutputPiece>, missed: u64) {
        let at = self.clock.wall_ms();
        let mut text = String::new();
        for (place, piece) in pieces.into_iter().enumerate() {
            // Masked before it is cut, because half a secret would not be recognised.
            let shown = truncate_line(self.mask.apply(&piece.text).into_owned());
            text.push_str(&shown);
            text.push('\n');
            let stream = match piece.stream {
                ChildStream::Stdout => OutputStream::Stdout,
                ChildStream::Stderr => OutputStream::Stderr,
            };
            let before = if place == 0 { missed } else { 0 };
            self.append_line(at, stream, shown, before);
        }
        let (file, name) = (self.file.clone(), self.name.clone());
        let written = tokio::task::spawn_blocking(move || append_to_file(&file, &text)).await;
        if let Ok(Err(error)) = written {
            // Only logged: the lines are in memory, and a full disk must not stop a service.
            tracing::debug!(
                service = name,
                "the service's log cannot be written: {error}"
            );
        }
    }

    fn append_line(&self, at: u64, stream: OutputStream, text: String, missed: u64) {
        let line = {
            let mut window = self.window();
            // The numbers of dropped lines are skipped, so that readers see the gap.
            window.last = window.last.saturating_add(missed).saturating_add(1);
            let line = ServiceLogLine {
                number: window.last,
                at,
                stream,
                text,
            };
            if window.lines.len() == LINES_MAX {
                window.lines.pop_front();
            }
            window.lines.push_back(line.clone());
            if !window.may_emit(self.clock.monotonic_ms()) {
                return;
            }
            line
        };
        let name = self.name.clone();
        let payload = ServiceLogPayload { name, line };
        self.emitter.emit::<ServiceLog>(None, &payload);
    }

    fn window(&self) -> MutexGuard<'_, LogWindow> {
        self.window.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl LogWindow {
    fn may_emit(&mut self, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.pace_began_ms) >= PACE_MS {
            self.pace_began_ms = now_ms;
            self.paced = 0;
        }
        self.paced = self.paced.saturating_add(1);
        self.paced <= PACE_LINES
    }
}

/// Cuts a line to its limit.
fn truncate_line(mut text: String) -> String {
    if text.len() > LINE_BYTES_MAX {
        let end = text.floor_char_boundary(LINE_BYTES_MAX);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Appends to the file, which is rotated when it is full.
fn append_to_file(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut maker = std::fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(folder)?;
    }
    let open = || {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).open(path)
    };
    let mut file = open()?;
    // Rotated before the write, so that no file exceeds its limit.
    if file.metadata()?.len() + text.len() as u64 > FILE_BYTES_MAX {
        std::fs::rename(path, path.with_extension("log.1"))?;
        file = open()?;
    }
    file.write_all(text.as_bytes())
}

#[cfg(test)]
#[path = "log_buffer_tests.rs"]
mod tests;
