//! The daemon's log: one JSON object for each line in `logs/hob.log`, masked, escaped, bounded and
//! rotated by size; and a hook that receives each line, for the event `log.line`.
//!
//! Invariants: each line of the file is one complete record; control characters never reach a
//! reader's terminal; a failed write (a full disk, a removed directory) loses log lines, which are
//! counted, and affects nothing else; logging never waits for the reader of the hook.

mod layer;
mod log_file;

pub use layer::{LogLayer, without_line_hook};

use crate::clock::Clock;
use crate::mask::SecretMask;
use crate::settings::{SettingKey, SettingKind, Settings};
use log_file::LogFile;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::mpsc;
use tracing::Level;
use tracing::level_filters::LevelFilter;

/// The longest message of a line. A longer one is cut, with a note.
pub const MESSAGE_BYTES_MAX: usize = 8 * 1024;
/// Lines that may wait in the hook. Further lines do not become events.
pub const HOOK_LINES_MAX: usize = 1_024;

/// The prefix of the module paths of this workspace.
const OWN_TARGETS: &str = "hob";

const LEVELS: &[&str] = &["error", "warn", "info", "debug", "trace"];

/// The log's settings.
pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "log.level",
        SettingKind::Choice(LEVELS),
        "info",
        "How much is logged: this level and the ones before it in the list.",
    )
    .live(),
    SettingKey::new(
        "log.file_bytes_max",
        SettingKind::Integer {
            min: 64 * 1024,
            max: 1024 * 1024 * 1024,
        },
        "10485760",
        "Size at which the log file is put aside and a new one begun.",
    )
    .live(),
    SettingKey::new(
        "log.files_max",
        SettingKind::Integer { min: 1, max: 100 },
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
    /// The module that logged it.
    pub target: String,
    /// The message and its fields, masked; control characters are shown as escapes.
    pub message: String,
}

/// The dependencies of the log.
#[derive(Debug)]
pub struct LogOptions {
    /// The file; its directory exists.
    pub file: PathBuf,
    pub clock: Clock,
    pub mask: SecretMask,
    /// Also writes lines to stderr, for a user who runs the daemon in a terminal.
    pub mirror: bool,
}

/// The running log; cheap to clone.
#[derive(Clone, Debug)]
pub struct DaemonLog(Arc<LogState>);

#[derive(Debug)]
pub(crate) struct LogState {
    clock: Clock,
    mask: SecretMask,
    mirror: bool,
    level: AtomicU8,
    lost: AtomicU64,
    /// A std lock: held for one write, never over an await.
    file: Mutex<LogFile>,
    hook: OnceLock<mpsc::Sender<LogLine>>,
}

impl DaemonLog {
    /// Creates a log with the settings `log.*`. The file is opened with the first line.
    pub fn new(options: LogOptions, settings: &Settings) -> DaemonLog {
        let log = DaemonLog(Arc::new(LogState {
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

    /// Makes this the log of the whole process. Returns false if there is one already.
    pub fn install(&self) -> bool {
        use tracing_subscriber::layer::SubscriberExt;
        let subscriber = tracing_subscriber::registry().with(self.layer());
        tracing::subscriber::set_global_default(subscriber).is_ok()
    }

    pub fn layer(&self) -> LogLayer {
        LogLayer(Arc::clone(&self.0))
    }

    /// Applies changed settings at once.
    pub fn apply(&self, settings: &Settings) {
        let level = level_named(settings.text("log.level"));
        self.0.level.store(rank(level), Ordering::Relaxed);
        let mut file = self.0.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.bytes_max = settings.u64("log.file_bytes_max");
        file.files_max = settings.usize("log.files_max");
        drop(file);
        // The `tracing` macros cache for each call site whether it is enabled. The cache must be
        // rebuilt, or a new level would not apply to lines that were logged before.
        tracing::callsite::rebuild_interest_cache();
    }

    /// Returns the receiver of all future lines. Only the first caller gets it.
    pub fn lines(&self) -> Option<mpsc::Receiver<LogLine>> {
        let (sender, receiver) = mpsc::channel(HOOK_LINES_MAX);
        self.0.hook.set(sender).ok().map(|()| receiver)
    }

    /// The number of lines that could not be written.
    pub fn lost(&self) -> u64 {
        self.0.lost.load(Ordering::Relaxed)
    }

    pub fn mask(&self) -> &SecretMask {
        &self.0.mask
    }
}

impl LogState {
    /// Returns true if a line is logged. Of other crates only warnings and errors are: their details
    /// may contain the data that passes through them.
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

    /// Writes one line to the file, to stderr and to the hook.
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
            // Never waits: a log call may come from anywhere, even from the hook's own reader.
            let _ = hook.try_send(line);
        }
    }
}

/// Writes a line to stderr. Errors are ignored: stderr may be closed.
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

/// The rank of a level; a larger rank logs more.
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
