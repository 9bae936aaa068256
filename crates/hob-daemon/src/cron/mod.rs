//! `cron.*`: jobs that run by a calendar, at an interval, once, or when a webhook is called.
//!
//! - `terms`: checks and merges job definitions; `job_table`: the jobs in memory; `settings`: config
//!   keys, and the heartbeat job that they define
//! - `timer`: decides what is due by the pure policy of `hob_core::schedule` and starts slots;
//!   `recovery`: continues what the previous daemon left
//! - `work`: runs a slot; `outcome`: stores its outcome, notifies a session, and disables a job
//!   that keeps failing
//! - `requests`: the methods of the room; `hooks`: webhooks
//!
//! A *slot* is one due time of a job.
//!
//! Invariants: a slot is on disk before its work starts, in one write with the cursor that passed
//! its time; the agent is asked with the slot as idempotency key, so asking twice is one run; a
//! command that a restart interrupted never runs again; a slot has one outcome.

mod hooks;
mod job_table;
mod outcome;
mod recovery;
mod requests;
mod settings;
mod terms;
mod timer;
mod views;
mod work;

use crate::retrying_call;
use crate::scheduled_command::ScheduledCommandRunner;
use hob_bus::{Bus, Caller, Room};
use hob_kit::clock::Clock;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use hob_kit::randomness::Randomness;
use hob_kit::settings::Settings;
use hob_kit::tasks::TaskGroup;
use hob_store::Store;
use hob_wire::rooms::cron::{
    Add, CheckCaller, CronChanged, CronSlot, CronTrigger, Deliver, Disable, Enable, History, List,
    Remove, Run, Secret, Update,
};
use hob_wire::{Method, WireError};
use jiff::tz::TimeZone;
use job_table::JobTable;
pub use settings::KEYS;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Requests handled at once.
const CONCURRENCY: usize = 256;

/// The dependencies of the room.
pub struct CronDeps {
    pub bus: Bus,
    pub store: Store,
    pub clock: Clock,
    pub randomness: Randomness,
    pub home: Home,
    pub settings: watch::Receiver<Arc<Settings>>,
    pub mask: SecretMask,
    /// Runs the commands of jobs.
    pub command_runner: ScheduledCommandRunner,
    pub tasks: TaskGroup,
}

impl fmt::Debug for CronDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CronDeps").finish_non_exhaustive()
    }
}

/// The state that the files of this room share.
struct CronContext {
    deps: CronDeps,
    caller: Caller,
    /// The time zone of jobs that name none.
    zone: TimeZone,
    /// A std mutex: held for a lookup or a change, never across an await.
    jobs: Mutex<JobTable>,
    /// Held by whoever decides or changes jobs, so that the table changes in the store's order.
    write_lock: tokio::sync::Mutex<()>,
    /// Wakes the timer.
    wakeup: Notify,
    /// True once the jobs are loaded.
    is_ready: watch::Sender<bool>,
    hook_key: hooks::HookKey,
}

impl CronContext {
    fn jobs(&self) -> MutexGuard<'_, JobTable> {
        // Every change is complete before the lock is released, so a poisoned table is still valid.
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn now_ms(&self) -> u64 {
        self.deps.clock.wall_ms()
    }

    fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.deps.settings.borrow())
    }

    /// Calls a method of another room, and waits for that room to be served.
    async fn ask<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError>
    where
        M::Params: Sync,
    {
        retrying_call::call_with_retry::<M>(&self.caller, params).await
    }

    /// Waits until the jobs are loaded.
    async fn wait_ready(&self) {
        let mut is_ready = self.is_ready.subscribe();
        // Cannot fail: the sender lives in `self`.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }
}

/// Serves the room and starts its timer. The rooms that it calls may be served later.
pub fn serve(deps: CronDeps) -> Result<(), WireError> {
    let settings = Arc::clone(&deps.settings.borrow());
    // The zone was checked when it was set. It can only be unknown if the machine's database changed.
    let zone = settings::parse_zone(settings.text("cron.zone")).unwrap_or(TimeZone::UTC);
    let context = Arc::new(CronContext {
        caller: deps.bus.caller("cron"),
        zone,
        jobs: Mutex::new(JobTable::default()),
        write_lock: tokio::sync::Mutex::new(()),
        wakeup: Notify::new(),
        is_ready: watch::Sender::new(false),
        hook_key: hooks::HookKey::new(&deps.home, &deps.randomness, &deps.mask),
        deps,
    });
    context.deps.bus.serve(room(&context))?;
    let tasks = context.deps.tasks.clone();
    tasks.spawn_until_stop("cron", timer::run_timer(context));
    Ok(())
}

fn room(context: &Arc<CronContext>) -> Room {
    macro_rules! handler {
        ($method:ident) => {{
            let context = Arc::clone(context);
            move |call, params| {
                let context = Arc::clone(&context);
                async move {
                    context.wait_ready().await;
                    context.$method(&call, params).await
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
