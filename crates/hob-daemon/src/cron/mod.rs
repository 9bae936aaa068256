//! `cron.*`: jobs that run by the calendar, every so often, once, or when another system calls.
//!
//! - `terms`: what a job is; `book`: the jobs as they stand; `settings`: what a person may choose,
//!   and the heartbeat they make
//! - `keeper`: the timer, which decides what is due by the pure policy of `hob_core::schedule` and
//!   takes slots up; `recovery`: what a former daemon left
//! - `work`: doing what a slot asks for; `ending`: its outcome, whom it is told, and when a job is
//!   given up
//! - `requests`: what callers ask; `hooks`: calls of other systems
//!
//! Invariants: a slot is on disk before anything is done for it, with the cursor that passed its
//! time; what is asked of the agent has the slot as its key, so that asking twice is one run; a
//! command that a restart cut off is never begun again; a slot has one outcome.

mod book;
mod ending;
mod hooks;
mod keeper;
mod recovery;
mod requests;
mod settings;
mod terms;
mod views;
mod work;

use crate::asking;
use crate::errand::Errands;
use book::Book;
use hob_bus::{Bus, Caller, Room};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_kit::home::Home;
use hob_kit::mask::Mask;
use hob_kit::settings::Settings;
use hob_kit::tasks::Tasks;
use hob_store::Store;
use hob_wire::rooms::cron::{
    Add, CheckCaller, CronChanged, CronSlot, CronTrigger, Deliver, Disable, Enable, History, List,
    Remove, Run, Secret, Update,
};
use hob_wire::{Method, WireError};
use jiff::tz::TimeZone;
pub use settings::KEYS;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Requests handled at once.
const CONCURRENCY: usize = 256;

/// What the room is made of.
pub struct Parts {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    pub dice: Dice,
    pub home: Home,
    pub settings: watch::Receiver<Arc<Settings>>,
    pub mask: Mask,
    /// Runs the commands of jobs.
    pub errands: Errands,
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
    caller: Caller,
    /// The zone of jobs that name none.
    zone: TimeZone,
    /// A std mutex: held to look or to change, never over an await.
    book: Mutex<Book>,
    /// Whoever decides or changes a job: the book changes in the order the store did.
    pen: tokio::sync::Mutex<()>,
    /// The timer has something to look at.
    poke: Notify,
    /// The jobs were read.
    is_ready: watch::Sender<bool>,
    hooks: hooks::HouseKey,
}

impl Shared {
    fn book(&self) -> MutexGuard<'_, Book> {
        // The book is changed in whole steps, so a panic elsewhere leaves it true.
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.parts.clock.wall_ms()
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.parts.settings.borrow())
    }

    /// Asks another room, which may come later.
    async fn ask<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError>
    where
        M::Params: Sync,
    {
        asking::ask::<M>(&self.caller, params).await
    }

    /// Waits until the jobs were read.
    async fn ready(&self) {
        let mut is_ready = self.is_ready.subscribe();
        // The sender lives as long as this.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }
}

/// Serves the room and begins to keep its jobs. The rooms it calls may come later.
pub fn serve(parts: Parts) -> Result<(), WireError> {
    let settings = Arc::clone(&parts.settings.borrow());
    // What is set was checked when it was set.
    let zone = settings::zone(settings.text("cron.zone")).unwrap_or(TimeZone::UTC);
    let shared = Arc::new(Shared {
        caller: parts.bus.caller("cron"),
        zone,
        book: Mutex::new(Book::default()),
        pen: tokio::sync::Mutex::new(()),
        poke: Notify::new(),
        is_ready: watch::Sender::new(false),
        hooks: hooks::HouseKey::new(&parts.home, &parts.dice, &parts.mask),
        parts,
    });
    shared.parts.bus.serve(room(&shared))?;
    let tasks = shared.parts.tasks.clone();
    tasks.spawn_until_stop("cron", keeper::keep(shared));
    Ok(())
}

fn room(shared: &Arc<Shared>) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let shared = Arc::clone(shared);
            move |call, params| {
                let shared = Arc::clone(&shared);
                async move {
                    shared.ready().await;
                    shared.$method(&call, params).await
                }
            }
        }};
    }
    Room::new("cron")
        .concurrency(CONCURRENCY)
        .method::<List, _, _>(handler!(list))
        .method::<Add, _, _>(handler!(add))
        .method::<Update, _, _>(handler!(update))
        .method::<Remove, _, _>(handler!(remove))
        .method::<Run, _, _>(handler!(run))
        .method::<History, _, _>(handler!(history))
        .method::<Enable, _, _>(handler!(enable))
        .method::<Disable, _, _>(handler!(disable))
        .method::<Secret, _, _>(handler!(secret))
        .method::<CheckCaller, _, _>(handler!(check_caller))
        .method::<Deliver, _, _>(handler!(deliver))
        .event::<CronTrigger>()
        .event::<CronSlot>()
        .event::<CronChanged>()
}
