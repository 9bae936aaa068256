//! `terminal.*`: shells in tmux that a person and hob share.
//!
//! - `lifecycle`: creates terminals and finds them again after a restart
//! - `owner`: the owner task of one terminal; `session`: its state, around the pure scheduler of
//!   `hob_core::terminal`; `effects`: carries out what the scheduler decides; `handle`: the way to
//!   reach an owner; `tmux_link`: the connection to tmux
//! - `write_buffer`: batches changes for the store; `output_feed`: output events for watchers
//! - `requests`, `stream`: the methods of the room; `windows`: desktop windows on a terminal; `counters`:
//!   metrics
//! - `messages`: checks and sentences; `settings`: config keys
//!
//! Invariants: a command is stored before it is typed, and its end is stored before anybody is
//! told; only its owner changes a terminal; stopping the daemon neither ends a terminal nor waits
//! for one.

mod counters;
mod effects;
mod handle;
mod lifecycle;
mod messages;
mod output_feed;
mod owner;
mod requests;
mod session;
mod settings;
mod stream;
mod tmux_link;
mod windows;
mod write_buffer;

use crate::RoomContext;
use counters::CommandCounters;
use handle::TerminalHandle;
use hob_bus::{EventEmitter, Room};
use hob_exec::Spawner;
use hob_exec::tmux::TmuxServer;
use hob_kit::metrics::MetricSample;
use hob_kit::settings::Settings;
use hob_wire::WireError;
use hob_wire::analysis::OutputAnalysis;
use hob_wire::rooms::terminal::{
    Analyze, Cancel, Capture, Close, Command, Create, EVENTS, Execute, History, Keys, List, Open,
    Stream,
};
pub use settings::KEYS;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Requests handled at once. A request that waits for a command holds one.
const CONCURRENCY: usize = 512;

/// Analyzes an output. The other arguments are the command line and its exit code, if known.
pub type OutputAnalyzer = fn(Option<&str>, &str, Option<i32>) -> OutputAnalysis;

/// The state that the files of this room share.
struct TerminalContext {
    deps: RoomContext,
    /// Starts the tmux clients.
    spawner: Spawner,
    /// The command line of the recorder, without its folder argument.
    recorder: Vec<OsString>,
    analyze: OutputAnalyzer,
    emitter: EventEmitter,
    // A std mutex: held to look up or change the table, never over an await.
    handles: Mutex<BTreeMap<String, TerminalHandle>>,
    /// Held while a terminal is created or closed, so that a name has at most one terminal.
    creation_lock: tokio::sync::Mutex<()>,
    /// Held while a window opens.
    window_lock: tokio::sync::Mutex<()>,
    server: tokio::sync::Mutex<Option<TmuxServer>>,
    /// True once the terminals of the previous daemon were looked for.
    is_recovered: watch::Sender<bool>,
    /// tmux did not answer during recovery. Recovery runs again before the next terminal is created.
    is_recovery_pending: AtomicBool,
    /// Cancelled when the daemon is about to stop, so that no request waits for a terminal any more.
    stopping: CancellationToken,
    counters: CommandCounters,
}

impl TerminalContext {
    fn settings(&self) -> Arc<Settings> {
        self.deps.settings()
    }

    fn handles(&self) -> MutexGuard<'_, BTreeMap<String, TerminalHandle>> {
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The terminal room. Cheap to clone.
#[derive(Clone)]
pub struct TerminalRoom(Arc<TerminalContext>);

impl fmt::Debug for TerminalRoom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalRoom").finish_non_exhaustive()
    }
}

/// Serves the room `terminal`. Recovers the terminals of the previous daemon in the background;
/// requests wait for that.
pub fn serve(
    context: &RoomContext,
    spawner: Spawner,
    recorder: Vec<OsString>,
    analyze: OutputAnalyzer,
) -> Result<TerminalRoom, WireError> {
    let terminals = Arc::new(TerminalContext {
        deps: context.clone(),
        spawner,
        recorder,
        analyze,
        emitter: context.bus.emitter("terminal"),
        handles: Mutex::default(),
        creation_lock: tokio::sync::Mutex::default(),
        window_lock: tokio::sync::Mutex::default(),
        server: tokio::sync::Mutex::default(),
        is_recovered: watch::Sender::new(false),
        is_recovery_pending: AtomicBool::new(false),
        stopping: CancellationToken::new(),
        counters: CommandCounters::default(),
    });
    let room = Room::new("terminal")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::clone(&terminals))
        .method(Create, TerminalContext::create)
        .method(List, TerminalContext::list)
        .method(Execute, TerminalContext::execute)
        .method(Keys, TerminalContext::keys)
        .method(Capture, TerminalContext::capture)
        .method(Command, TerminalContext::command)
        .method(Stream, TerminalContext::stream)
        .method(History, TerminalContext::history)
        .method(Cancel, TerminalContext::cancel)
        .method(Open, TerminalContext::open_window)
        .method(Close, TerminalContext::close)
        .method(Analyze, TerminalContext::analyze);
    context.bus.serve(room)?;
    let recovered = Arc::clone(&terminals);
    context.tasks.spawn_until_stop("terminals", async move {
        recovered.recover().await;
        recovered.is_recovered.send_replace(true);
    });
    Ok(TerminalRoom(terminals))
}

impl TerminalRoom {
    /// Ends all waiting requests. Their commands go on in tmux.
    pub fn release_waiters(&self) {
        self.0.stopping.cancel();
    }

    /// Returns the metrics of terminals and their commands.
    pub fn figures(&self) -> Vec<MetricSample> {
        self.0.figures()
    }
}
