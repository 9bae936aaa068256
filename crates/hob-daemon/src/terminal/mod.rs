//! `terminal.*`: shells in tmux that a person and hob share.
//!
//! - `making`: which terminals there are, making them, and finding them again after a start
//! - `owner`: the owner task of each; `life`: what happens in it, around the pure desk of
//!   `hob_core::terminal`; `deeds`: what is done because the desk says so; `handle`: how it is
//!   reached; `link`: its connection to tmux
//! - `notebook`: what happened, on its way to the record; `telling`: what is printed, for watchers
//! - `requests`: what is asked of the room; `windows`: of the desktop, on terminals; `tally`: what
//!   it has done, as figures
//! - `words`: what is said; `settings`: what a person may choose
//!
//! Invariants: a command is on record before it is typed, and its end before anybody hears of it; a
//! terminal is changed by its owner alone; stopping the daemon ends no terminal and waits for none.

mod deeds;
mod handle;
mod life;
mod link;
mod making;
mod notebook;
mod owner;
mod requests;
mod settings;
mod tally;
mod telling;
mod windows;
mod words;

use handle::Handle;
use hob_bus::{Bus, Emitter, Room};
use hob_exec::Spawner;
use hob_exec::tmux::Server;
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::figures::Figure;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_kit::world::Env;
use hob_store::Store;
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
use tally::Tally;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// Requests handled at once: each that waits for a command holds one.
const CONCURRENCY: usize = 512;

/// What the room is made of.
#[derive(Clone)]
pub struct Parts {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub env: Env,
    pub home: Home,
    pub settings: watch::Receiver<Arc<Settings>>,
    /// What no record may show.
    pub mask: Mask,
    /// Starts the connections to tmux.
    pub spawner: Spawner,
    /// The program that records, without its folder.
    pub recorder: Vec<OsString>,
    pub tasks: Tasks,
}

impl fmt::Debug for Parts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Parts").finish_non_exhaustive()
    }
}

/// What the room's files share.
struct Shared {
    parts: Parts,
    emitter: Emitter,
    // A std mutex: held to look up or change the table, never over an await.
    roll: Mutex<BTreeMap<String, Handle>>,
    /// Held while a terminal is made or closed, so that a name has one terminal.
    making: tokio::sync::Mutex<()>,
    /// Held while a window comes up.
    opening: tokio::sync::Mutex<()>,
    server: tokio::sync::Mutex<Option<Server>>,
    /// Whether the terminals of a former daemon were looked for.
    is_open: watch::Sender<bool>,
    /// tmux could not be asked about them; they are looked for again before another is made.
    are_left: AtomicBool,
    /// The daemon is about to stop: nobody waits for a terminal any more.
    leaving: CancellationToken,
    tally: Tally,
}

impl Shared {
    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.parts.settings.borrow())
    }

    fn roll(&self) -> MutexGuard<'_, BTreeMap<String, Handle>> {
        self.roll.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The terminals of the house; cheap to clone.
#[derive(Clone)]
pub struct Terminals(Arc<Shared>);

impl fmt::Debug for Terminals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Terminals").finish_non_exhaustive()
    }
}

impl Terminals {
    pub fn new(parts: Parts) -> Terminals {
        Terminals(Arc::new(Shared {
            emitter: parts.bus.emitter("terminal"),
            roll: Mutex::default(),
            making: tokio::sync::Mutex::default(),
            opening: tokio::sync::Mutex::default(),
            server: tokio::sync::Mutex::default(),
            is_open: watch::Sender::new(false),
            are_left: AtomicBool::new(false),
            leaving: CancellationToken::new(),
            tally: Tally::default(),
            parts,
        }))
    }

    /// Finds the terminals of a former daemon again; whoever asks meanwhile waits for it.
    pub fn open(&self) {
        let shared = Arc::clone(&self.0);
        let tasks = self.0.parts.tasks.clone();
        tasks.spawn_until_stop("terminals", async move {
            shared.find_again().await;
            shared.is_open.send_replace(true);
        });
    }

    /// Lets those go who wait for a command: it goes on without them.
    pub fn leave(&self) {
        self.0.leaving.cancel();
    }

    /// What terminals do and have done, as figures.
    pub fn figures(&self) -> Vec<Figure> {
        self.0.figures()
    }
}

/// The service `terminal`.
pub fn room(terminals: &Terminals) -> Room {
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
            let shared = Arc::clone(&creates);
            async move { shared.create(params).await }
        })
        .method::<List, _, _>(move |_, _| {
            let shared = Arc::clone(&lists);
            async move { shared.list().await }
        })
        .method::<Execute, _, _>(move |call, params| {
            let shared = Arc::clone(&executes);
            async move { shared.execute(call, params).await }
        })
        .method::<Keys, _, _>(move |call, params| {
            let shared = Arc::clone(&keys);
            async move { shared.keys(call, params).await }
        })
        .method::<Capture, _, _>(move |_, params| {
            let shared = Arc::clone(&captures);
            async move { shared.capture(params).await }
        })
        .method::<Command, _, _>(move |_, params| {
            let shared = Arc::clone(&commands);
            async move { shared.command(params).await }
        })
        .method::<History, _, _>(move |_, params| {
            let shared = Arc::clone(&histories);
            async move { Ok(shared.parts.store.command_history(params).await?) }
        })
        .method::<Cancel, _, _>(move |_, params| {
            let shared = Arc::clone(&cancels);
            async move { shared.cancel(params).await }
        })
        .method::<Open, _, _>(move |call, params| {
            let shared = Arc::clone(&opens);
            async move { shared.open_window(call, params).await }
        })
        .method::<Close, _, _>(move |_, params| {
            let shared = Arc::clone(&closes);
            async move { shared.close(params).await }
        })
        .method::<Analyze, _, _>(move |_, params| {
            let shared = Arc::clone(&analyses);
            async move { shared.analyze(params).await }
        })
}
