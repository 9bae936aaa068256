//! What a service prints: the last lines in memory, more of them in a file, and as events for
//! whoever watches.
//!
//! Invariants: memory and file have bounds whatever is printed; numbers only rise, and a line that
//! was left out leaves its number; writing waits for no reader.

use super::Parts;
use hob_bus::Emitter;
use hob_exec::Child;
use hob_exec::output::{Piece, Source};
use hob_kit::clock::Clock;
use hob_kit::failpoint;
use hob_kit::mask::Mask;
use hob_wire::rooms::service::{ServiceLine, ServiceLog, ServiceLogPayload};
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
/// A longer line is cut.
pub(super) const LINE_BYTES_MAX: usize = 4 * 1024;
/// The file; there is one older of the same size.
const FILE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Lines that go out as events, in each span of [`PACE_MS`].
const PACE_LINES: u32 = 200;
const PACE_MS: u64 = 1_000;
/// Lines taken in one go.
const BATCH_LINES: usize = 512;
/// After a full batch the rest waits, so that a flood costs little; what does not fit is dropped
/// and counted where it comes in.
const BATCH_REST: Duration = Duration::from_millis(50);

/// The log of one service, over all its lives.
#[derive(Debug)]
pub(super) struct LogBook {
    name: String,
    file: PathBuf,
    clock: Clock,
    emitter: Emitter,
    /// What no line may show: a service may print the password it was given.
    mask: Mask,
    // A std mutex: held to add or copy lines, never over an await.
    pages: Mutex<Pages>,
}

#[derive(Debug, Default)]
struct Pages {
    lines: VecDeque<ServiceLine>,
    last: u64,
    pace_began_ms: u64,
    paced: u32,
}

impl LogBook {
    pub(super) fn new(name: &str, parts: &Parts, emitter: Emitter) -> LogBook {
        LogBook {
            name: name.to_owned(),
            file: parts.home.service_log(name),
            clock: parts.clock.clone(),
            emitter,
            mask: parts.mask.clone(),
            pages: Mutex::default(),
        }
    }

    pub(super) fn file(&self) -> &Path {
        &self.file
    }

    /// The newest `count` lines after the one numbered `after`.
    pub(super) fn lines(&self, count: usize, after: u64) -> Vec<ServiceLine> {
        let pages = self.pages();
        let newer = pages.lines.iter().filter(|line| line.number > after);
        let skip = newer.clone().count().saturating_sub(count);
        newer.skip(skip).cloned().collect()
    }

    /// The number of the newest line.
    pub(super) fn last_number(&self) -> u64 {
        self.pages().last
    }

    /// Takes all that a child prints until it prints no more: a task of its own.
    pub(super) async fn follow(self: Arc<Self>, child: Arc<Child>) {
        let mut seen_dropped = 0;
        let mut batch: Vec<Piece> = Vec::with_capacity(BATCH_LINES);
        while let Some(first) = child.next().await {
            batch.push(first);
            while batch.len() < BATCH_LINES {
                match futures_util::FutureExt::now_or_never(child.next()) {
                    Some(Some(piece)) => batch.push(piece),
                    Some(None) | None => break,
                }
            }
            let dropped = child.dropped_lines();
            let is_full = batch.len() == BATCH_LINES;
            self.take(std::mem::take(&mut batch), dropped - seen_dropped)
                .await;
            seen_dropped = dropped;
            if is_full && !failpoint::broken(24) {
                tokio::time::sleep(BATCH_REST).await;
            }
        }
    }

    /// Adds lines after `missed` that nobody had room for.
    async fn take(self: &Arc<Self>, pieces: Vec<Piece>, missed: u64) {
        let at = self.clock.wall_ms();
        let mut text = String::new();
        for (place, piece) in pieces.into_iter().enumerate() {
            let shown = cut(self.mask.apply(&piece.text).into_owned());
            text.push_str(&shown);
            text.push('\n');
            let stream = match piece.source {
                Source::Stdout => OutputStream::Stdout,
                Source::Stderr => OutputStream::Stderr,
            };
            let before = if place == 0 { missed } else { 0 };
            self.add(at, stream, shown, before);
        }
        let (file, name) = (self.file.clone(), self.name.clone());
        let written = tokio::task::spawn_blocking(move || append(&file, &text)).await;
        if let Ok(Err(error)) = written {
            // The lines are in memory all the same; a full disk must not stop a service.
            tracing::debug!(service = name, "its log cannot be written: {error}");
        }
    }

    fn add(&self, at: u64, stream: OutputStream, text: String, missed: u64) {
        let line = {
            let mut pages = self.pages();
            pages.last = pages.last.saturating_add(missed).saturating_add(1);
            let line = ServiceLine {
                number: pages.last,
                at,
                stream,
                text,
            };
            if pages.lines.len() == LINES_MAX && !failpoint::broken(24) {
                pages.lines.pop_front();
            }
            pages.lines.push_back(line.clone());
            if !pages.may_tell(self.clock.monotonic_ms()) {
                return;
            }
            line
        };
        let name = self.name.clone();
        let payload = ServiceLogPayload { name, line };
        self.emitter.emit::<ServiceLog>(None, &payload);
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn may_tell(&mut self, now_ms: u64) -> bool {
        if now_ms.saturating_sub(self.pace_began_ms) >= PACE_MS {
            self.pace_began_ms = now_ms;
            self.paced = 0;
        }
        self.paced = self.paced.saturating_add(1);
        self.paced <= PACE_LINES
    }
}

/// The line within its bound.
fn cut(mut text: String) -> String {
    if text.len() > LINE_BYTES_MAX {
        let end = text.floor_char_boundary(LINE_BYTES_MAX);
        text.truncate(end);
        text.push('…');
    }
    text
}

/// Adds to the file; a full one becomes the older one.
fn append(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        let mut maker = std::fs::DirBuilder::new();
        maker.recursive(true).mode(0o700).create(folder)?;
    }
    let open = || {
        let mut options = OpenOptions::new();
        options.append(true).create(true).mode(0o600).open(path)
    };
    let mut file = open()?;
    if file.metadata()?.len() + text.len() as u64 > FILE_BYTES_MAX {
        std::fs::rename(path, path.with_extension("log.1"))?;
        file = open()?;
    }
    file.write_all(text.as_bytes())
}

#[cfg(test)]
#[path = "logbook_tests.rs"]
mod tests;
