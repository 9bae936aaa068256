//! The daemon's log: one JSON object a line in `logs/hob.log`, masked, escaped, bounded, rotated
//! by size; and a hook that hands each line on, which becomes the event `log.line`.
//!
//! Invariants: a line of the file is one whole record whatever was logged; control characters
//! never reach a reader's terminal; failing to write (a full disk, a removed directory) loses
//! log lines, counted, and hurts nothing else; nothing here waits for a reader of the hook.

mod file;
mod layer;

pub use layer::{LogLayer, quietly};

use crate::clock::Clock;
use crate::mask::Mask;
use crate::settings::{Key, Kind, Settings};
use file::LogFile;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::mpsc;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// Longest message of a line; the rest is cut and said to be.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024;
/// Lines waiting for whoever turns them into events; beyond that they are left out.
pub const HOOK_LINES_MAX: usize = 1_024;

/// How the module paths of this workspace begin.
const OWN_TARGETS: &str = "hob";

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// The log's settings.
pub const KEYS: &[Key] = &[
    Key::new(
        "log.level",
        Kind::Choice(LEVELS),
        "info",
        "How much is logged: this level and the ones before it in the list.",
    )
    .live(),
    Key::new(
        "log.file_bytes_max",
        Kind::Integer {
            min: 64 * 1024,
            max: 1024 * 1024 * 1024,
        },
        "10485760",
        "Size at which the log file is put aside and a new one begun.",
    )
    .live(),
    Key::new(
        "log.files_max",
        Kind::Integer { min: 1, max: 100 },
        "5",
        "Log files kept, the one being written included; the oldest is removed.",
    )
    .live(),
];

/// One line of the log, in the file and in the hook.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogLine {
    /// Milliseconds since 1970.
    pub at: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The module it comes from.
    pub target: String,
    /// The message and its fields, masked; control characters are shown as escapes.
    pub message: String,
}

/// How to log.
#[derive(Debug)]
pub struct LogOptions {
    /// The file; its directory exists.
    pub file: PathBuf,
    pub clock: Clock,
    pub mask: Mask,
    /// Also write lines to stderr, for a person who runs the daemon in a terminal.
    pub mirror: bool,
}

/// The running log; cheap to clone.
#[derive(Clone, Debug)]
pub struct Log(Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    clock: Clock,
    mask: Mask,
    mirror: bool,
    level: AtomicU8,
    lost: AtomicU64,
    /// A lock of std: held for one write, never over an await.
    file: Mutex<LogFile>,
    hook: OnceLock<mpsc::Sender<LogLine>>,
}

impl Log {
    /// A log with the settings `log.*`; nothing is opened before the first line.
    pub fn new(options: LogOptions, settings: &Settings) -> Log {
        let log = Log(Arc::new(Shared {
            clock: options.clock,
            mask: options.mask,
            mirror: options.mirror,
            level: AtomicU8::new(rank(LevelFilter::INFO)),
            lost: AtomicU64::new(0),
            file: Mutex::new(LogFile::new(options.file)),
            hook: OnceLock::new(),
        }));
        log.apply(settings);
        log
    }

    /// Makes this the log of the whole process. False when there is one already.
    pub fn install(&self) -> bool {
        use tracing_subscriber::layer::SubscriberExt;
        let subscriber = tracing_subscriber::registry().with(self.layer());
        tracing::subscriber::set_global_default(subscriber).is_ok()
    }

    pub fn layer(&self) -> LogLayer {
        LogLayer(Arc::clone(&self.0))
    }

    /// Takes over changed settings at once.
    pub fn apply(&self, settings: &Settings) {
        let level = level_named(settings.text("log.level"));
        self.0.level.store(rank(level), Ordering::Relaxed);
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.bytes_max = settings.u64("log.file_bytes_max");
        file.files_max = settings.usize("log.files_max");
        drop(file);
        // The macros remember per place whether anyone listens; ask them to look again.
        tracing::callsite::rebuild_interest_cache();
    }

    /// The lines from now on, for whoever turns them into events. The first caller gets them.
    pub fn lines(&self) -> Option<mpsc::Receiver<LogLine>> {
        let (sender, receiver) = mpsc::channel(HOOK_LINES_MAX);
        self.0.hook.set(sender).ok().map(|()| receiver)
    }

    /// Lines that could not be written so far.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    pub fn mask(&self) -> &Mask {
        &self.0.mask
    }
}

impl Shared {
    /// What other people's crates have to say in detail is theirs, and may hold what passes
    /// through them; of them only warnings and errors are kept.
    fn allows(&self, metadata: &tracing::Metadata<'_>) -> bool {
        let level = *metadata.level();
        let wanted = rank(LevelFilter::from_level(level)) <= self.level.load(Ordering::Relaxed);
        wanted && (level <= Level::WARN || metadata.target().starts_with(OWN_TARGETS))
    }

    fn level(&self) -> LevelFilter {
        let rank_now = self.level.load(Ordering::Relaxed);
        let filters = [
            LevelFilter::OFF,
            LevelFilter::ERROR,
            LevelFilter::WARN,
            LevelFilter::INFO,
            LevelFilter::DEBUG,
        ];
        let found = filters.into_iter().find(|filter| rank(*filter) == rank_now);
        found.unwrap_or(LevelFilter::TRACE)
    }

    /// Writes one finished line everywhere it goes.
    fn write(&self, line: LogLine, to_hook: bool) {
        let mut text = serde_json::to_string(&line).unwrap_or_default();
        text.push('\n');
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if file.append(text.as_bytes()).is_err() {
            self.lost.fetch_add(1, Ordering::Relaxed);
        }
        drop(file);
        if self.mirror {
            mirror(&line);
        }
        if to_hook && let Some(hook) = self.hook.get() {
            let _ = hook.try_send(line);
        }
    }
}

/// A line for a person at the terminal; a closed stderr is no reason to fail.
fn mirror(line: &LogLine) {
    use std::io::Write;
    let seconds = i64::try_from(line.at / 1_000).unwrap_or_default();
    let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    let level = line.level.to_uppercase();
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "{at} {level:<5} {}: {}", line.target, line.message);
}

fn level_named(name: &str) -> LevelFilter {
    name.parse().unwrap_or(LevelFilter::INFO)
}

/// Larger shows more.
fn rank(filter: LevelFilter) -> u8 {
    match filter.into_level() {
        None => 0,
        Some(Level::ERROR) => 1,
        Some(Level::WARN) => 2,
        Some(Level::INFO) => 3,
        Some(Level::DEBUG) => 4,
        Some(Level::TRACE) => 5,
    }
}

#[cfg(test)]
#[path = "logging_tests.rs"]
mod tests;
