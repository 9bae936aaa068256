//! `terminal.*`: shells in tmux that a person and hob share.
//!
//! - `lifecycle`: creates terminals and finds them again after a restart
//! - `owner`: the owner task of one terminal; `session`: its state, around the pure scheduler of
//!   `hob_core::terminal`; `effects`: carries out what the scheduler decides; `handle`: the way to
//!   reach an owner; `tmux_link`: the connection to tmux
//! - `write_buffer`: batches changes for the store; `output_feed`: output events for watchers
//! - `requests`: the methods of the room; `windows`: desktop windows on a terminal; `counters`:
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
mod tmux_link;
mod windows;
mod write_buffer;

use counters::CommandCounters;
use handle::TerminalHandle;
use hob_bus::{Bus, EventEmitter, Room};
use hob_exec::Spawner;
use hob_exec::tmux::TmuxServer;
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::metrics::MetricSample;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_store::Store;
use hob_wire::analysis::OutputAnalysis;
use hob_wire::rooms::terminal::{
    Analyze, Cancel, Capture, Close, Command, Create, Execute, History, Keys, List, Open,
    TerminalCommandChanged, TerminalOutput, TerminalStatus,
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

/// The dependencies of the room.
#[derive(Clone)]
pub struct TerminalDeps {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    pub randomness: Randomness,
    pub env: EnvVars,
    pub home: Home,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// Secrets to hide from the audit record.
    pub mask: SecretMask,
    /// Starts the tmux clients.
    pub spawner: Spawner,
    /// The command line of the recorder, without its folder argument.
    pub recorder: Vec<OsString>,
    /// Analyzes the output of a command, for `terminal.analyze`.
    pub analyze: OutputAnalyzer,
    pub tasks: TaskGroup,
}

/// Analyzes an output. The other arguments are the command line and its exit code, if known.
pub type OutputAnalyzer = fn(Option<&str>, &str, Option<i32>) -> OutputAnalysis;

impl fmt::Debug for TerminalDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TerminalDeps").finish_non_exhaustive()
    }
}

/// The state that the files of this room share.
struct TerminalContext {
    deps: TerminalDeps,
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
        Arc::clone(&self.deps.settings.borrow())
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

impl TerminalRoom {
    pub fn new(deps: TerminalDeps) -> TerminalRoom {
        TerminalRoom(Arc::new(TerminalContext {
            emitter: deps.bus.emitter("terminal"),
            handles: Mutex::default(),
            creation_lock: tokio::sync::Mutex::default(),
            window_lock: tokio::sync::Mutex::default(),
            server: tokio::sync::Mutex::default(),
            is_recovered: watch::Sender::new(false),
            is_recovery_pending: AtomicBool::new(false),
            stopping: CancellationToken::new(),
            counters: CommandCounters::default(),
            deps,
        }))
    }

    /// Recovers the terminals of the previous daemon in the background. Requests wait for it.
    pub fn open(&self) {
        let context = Arc::clone(&self.0);
        let tasks = self.0.deps.tasks.clone();
        tasks.spawn_until_stop("terminals", async move {
            context.recover().await;
            context.is_recovered.send_replace(true);
        });
    }

    /// Ends all waiting requests. Their commands go on in tmux.
    pub fn release_waiters(&self) {
        self.0.stopping.cancel();
    }

    /// Returns the metrics of terminals and their commands.
    pub fn figures(&self) -> Vec<MetricSample> {
        self.0.figures()
    }
}

/// Builds the room `terminal`.
pub fn room(terminals: &TerminalRoom) -> Room {
    let of = || Arc::clone(&terminals.0);
    let (creates, lists, executes, keys) = (of(), of(), of(), of());
    let (captures, commands, histories, cancels) = (of(), of(), of(), of());
    let (opens, closes, analyses) = (of(), of(), of());
    Room::new("terminal")
        .concurrency(CONCURRENCY)
        .event::<TerminalStatus>()
        .event::<TerminalCommandChanged>()
        .event::<TerminalOutput>()
        .method::<Create, _, _>(move |_, params| {
            let context = Arc::clone(&creates);
            async move { context.create(params).await }
        })
        .method::<List, _, _>(move |_, _| {
            let context = Arc::clone(&lists);
            async move { context.list().await }
        })
        .method::<Execute, _, _>(move |call, params| {
            let context = Arc::clone(&executes);
            async move { context.execute(call, params).await }
        })
        .method::<Keys, _, _>(move |call, params| {
            let context = Arc::clone(&keys);
            async move { context.keys(call, params).await }
        })
        .method::<Capture, _, _>(move |_, params| {
            let context = Arc::clone(&captures);
            async move { context.capture(params).await }
        })
        .method::<Command, _, _>(move |_, params| {
            let context = Arc::clone(&commands);
            async move { context.command(params).await }
        })
        .method::<History, _, _>(move |_, params| {
            let context = Arc::clone(&histories);
            async move { Ok(context.deps.store.command_history(params).await?) }
        })
        .method::<Cancel, _, _>(move |_, params| {
            let context = Arc::clone(&cancels);
            async move { context.cancel(params).await }
        })
        .method::<Open, _, _>(move |call, params| {
            let context = Arc::clone(&opens);
            async move { context.open_window(call, params).await }
        })
        .method::<Close, _, _>(move |_, params| {
            let context = Arc::clone(&closes);
            async move { context.close(params).await }
        })
        .method::<Analyze, _, _>(move |_, params| {
            let context = Arc::clone(&analyses);
            async move { context.analyze(params).await }
        })
}
