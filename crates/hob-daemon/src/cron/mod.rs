//! `cron.*`: jobs that run by a calendar, at an interval, once, or when a webhook is called.
//!
//! - `terms`: checks and merges job definitions; `job_table`: the jobs in memory; `settings`: config
//!   keys, and the heartbeat job that they define
//! - `timer`: decides what is due by the pure policy of `hob_core::schedule` and starts slots;
//!   `recovery`: continues what the previous daemon left
//! - `work`: runs a slot; `outcome`: stores its outcome, notifies a session, and disables a job
//!   that keeps failing
//! - `requests`, `preview`: the methods of the room; `hooks`: webhooks
//!
//! A *slot* is one due time of a job.
//!
//! Invariants: a slot is on disk before its work starts, in one write with the cursor that passed
//! its time; the agent is asked with the slot as idempotency key, so asking twice is one run; a
//! command that a restart interrupted never runs again; a slot has one outcome.

mod hooks;
mod job_table;
mod outcome;
mod preview;
mod recovery;
mod requests;
mod settings;
mod terms;
mod timer;
mod views;
mod work;

use crate::RoomContext;
use crate::retrying_call;
use crate::scheduled_command::ScheduledCommandRunner;
use hob_bus::{Caller, Room};
use hob_kit::settings::Settings;
use hob_tools::CommandRunner;
use hob_wire::rooms::cron::{
    Add, CheckCaller, Deliver, Disable, EVENTS, Enable, History, List, Preview, Remove, Run,
    Secret, Update,
};
use hob_wire::{Method, WireError};
use jiff::tz::TimeZone;
use job_table::JobTable;
pub use settings::KEYS;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{Notify, watch};

/// Requests handled at once.
const CONCURRENCY: usize = 256;

/// The state that the files of this room share.
struct CronContext {
    deps: RoomContext,
    /// Runs the commands of jobs.
    command_runner: ScheduledCommandRunner,
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
        self.deps.settings()
    }

    /// Calls a method of another room, and waits for that room to be served.
    async fn ask<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError>
    where
        M::Params: Sync,
    {
        retrying_call::call_with_retry::<M>(&self.caller, params).await
    }

    /// Waits until the jobs are loaded.
    async fn wait_ready(self: Arc<Self>) {
        let mut is_ready = self.is_ready.subscribe();
        // Cannot fail: the sender lives in `self`.
        let _ = is_ready.wait_for(|ready| *ready).await;
    }
}

/// Serves the room `cron` and starts its timer. The rooms that it calls may be served later.
pub fn serve(context: &RoomContext, commands: CommandRunner) -> Result<(), WireError> {
    // The zone was checked when it was set. It can only be unknown if the machine's database changed.
    let zone = settings::parse_zone(context.settings().text("cron.zone")).unwrap_or(TimeZone::UTC);
    let cron = Arc::new(CronContext {
        deps: context.clone(),
        command_runner: ScheduledCommandRunner::new(context, commands),
        caller: context.bus.caller("cron"),
        zone,
        jobs: Mutex::new(JobTable::default()),
        write_lock: tokio::sync::Mutex::new(()),
        wakeup: Notify::new(),
        is_ready: watch::Sender::new(false),
        hook_key: hooks::HookKey::new(&context.home, &context.randomness, &context.mask),
    });
    let room = Room::new("cron")
        .concurrency(CONCURRENCY)
        .events(EVENTS)
        .state(Arc::clone(&cron))
        .before(CronContext::wait_ready)
        .method(List, CronContext::list)
        .method(Preview, CronContext::preview)
        .method(Add, CronContext::add)
        .method(Update, CronContext::update)
        .method(Remove, CronContext::remove)
        .method(Run, CronContext::run)
        .method(History, CronContext::history)
        .method(Enable, CronContext::enable)
        .method(Disable, CronContext::disable)
        .method(Secret, CronContext::secret)
        .method(CheckCaller, CronContext::check_caller)
        .method(Deliver, CronContext::deliver);
    context.bus.serve(room)?;
    context
        .tasks
        .spawn_until_stop("cron", timer::run_timer(cron));
    Ok(())
}
