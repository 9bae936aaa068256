//! Doing what a slot asks for: a run of the agent, an iteration of a loop, a command.
//!
//! Invariants: what can be asked twice is asked under the slot's key; a command is begun on disk
//! before it is begun at all; work that the daemon's end cuts off gets no outcome here, the next
//! start takes it up.

use super::Shared;
use super::book::Started;
use super::terms;
use crate::answer::{Answer, Awaited};
use crate::errand::{Errand, Outcome as Errands};
use futures_util::FutureExt;
use hob_core::excerpt::excerpt;
use hob_core::schedule::heartbeat;
use hob_core::unattended::WorkOwner;
use hob_kit::failpoint;
use hob_kit::home::HEARTBEAT_FILE;
use hob_kit::prompt_file::{PromptFileError, PromptFolder, read_prompt_file};
use hob_wire::rooms::agent::{Cost, Run, RunParams, Stats, StatsParams};
use hob_wire::rooms::cron::{AgentWork, HEARTBEAT_OK, HeartbeatWork, Slot, SlotState, Work};
use hob_wire::rooms::loops;
use hob_wire::schedule::WorkOutcome;
use hob_wire::work::Cause;
use hob_wire::{ErrorCode, RunId};
use std::fmt::Write;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// Between two looks at an iteration.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// What a slot keeps of an answer or of what a command printed.
const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// The most of `HEARTBEAT.md` that a run is told.
const HEARTBEAT_BYTES_MAX: usize = 64 * 1024;

/// How the work of a slot went.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) state: SlotState,
    pub(super) reason: Option<String>,
    pub(super) run: Option<RunId>,
    pub(super) exit_code: Option<i32>,
    pub(super) output: Option<String>,
    pub(super) cost: Cost,
    /// Calls of its run that were denied, and that failed.
    pub(super) denied_calls: u32,
    pub(super) failed_calls: u32,
    /// A ceiling on money stopped it: no fault of the job, and not counted as its failure.
    pub(super) is_unaffordable: bool,
}

impl Outcome {
    fn failed(why: String) -> Outcome {
        Outcome::without_work(SlotState::Failed, why)
    }

    fn without_work(state: SlotState, why: String) -> Outcome {
        Outcome {
            state,
            reason: Some(why),
            run: None,
            exit_code: None,
            output: None,
            cost: Cost::default(),
            denied_calls: 0,
            failed_calls: 0,
            is_unaffordable: false,
        }
    }
}

/// Takes up the slots whose time has come, as many as may be at work.
pub(super) fn take_up(shared: &Arc<Shared>) {
    let at_once = shared.settings().usize("cron.at_once");
    let monotonic_ms = shared.parts.clock.monotonic_ms();
    let now_ms = shared.now_ms();
    shared.book().gather(monotonic_ms, now_ms);
    loop {
        let started = shared.book().take(at_once);
        let Some(started) = started else { return };
        let worker = Arc::clone(shared);
        let tasks = &shared.parts.tasks;
        tasks.spawn_until_stop("cron work", async move {
            // A fault in one job's work is that job's failure and nobody else's.
            let done = AssertUnwindSafe(worker.work(&started)).catch_unwind().await;
            let outcome = done.unwrap_or_else(|_| {
                Outcome::failed("its work broke off by a fault of hob's own".to_owned())
            });
            worker.finish(&started, outcome).await;
            take_up(&worker);
        });
    }
}

impl Shared {
    async fn work(&self, started: &Started) -> Outcome {
        failpoint::reach_with("cron.work", &started.job.terms.name);
        match &started.job.terms.work {
            Work::Agent(agent) => {
                let own = started.slot.own_task.as_ref();
                let task = own.unwrap_or(&agent.task).clone();
                self.run_agent(started, agent, task).await
            }
            Work::Heartbeat(work) => self.beat(started, work).await,
            Work::Loop { name } => self.run_loop(started, name).await,
            Work::Command(_) => match terms::errand(&started.job.terms.work) {
                Some(errand) => self.run_command(started, &errand).await,
                None => Outcome::failed("it has no command".to_owned()),
            },
        }
    }

    async fn run_agent(&self, started: &Started, agent: &AgentWork, task: String) -> Outcome {
        let slot = &started.slot.slot;
        let params = RunParams {
            session_key: slot.session_key.clone().unwrap_or_default(),
            task,
            kind: Some(terms::kind(&started.job.terms).to_owned()),
            model: agent.model.clone(),
            budget: agent.budget.map(Into::into),
            idempotency_key: Some(key(slot)),
            tools: agent.tools.clone(),
            workspace: agent.workspace.clone(),
            unattended: true,
            ..RunParams::default()
        };
        let accepted = tokio::select! {
            accepted = self.ask::<Run>(&params) => accepted,
            () = started.stop.cancelled() => return stopped(None),
        };
        let run = match accepted {
            Ok(reply) => reply.run_id,
            Err(error) => return Outcome::failed(error.message),
        };
        failpoint::reach("cron.run.accepted");
        self.begin(slot.number, Some(run)).await;
        failpoint::reach("cron.slot.begun");
        let awaited = Awaited {
            caller: &self.caller,
            store: &self.parts.store,
            run,
            owner: match &started.job.terms.work {
                Work::Heartbeat(_) => WorkOwner::Heartbeat(&started.job.terms.name),
                _ => WorkOwner::Job(&started.job.terms.name),
            },
        };
        match awaited.end(&started.stop).await {
            Ok(answer) => of_run(run, &answer, started.stop.is_cancelled()),
            Err(error) => Outcome {
                run: Some(run),
                ..Outcome::failed(error.message)
            },
        }
    }

    /// Looks after the house, if there is anything to look after.
    async fn beat(&self, started: &Started, work: &HeartbeatWork) -> Outcome {
        let skip = |why: &str| Outcome::without_work(SlotState::Skipped, why.to_owned());
        let said = match self.heartbeat_text().await {
            Ok(said) => said,
            Err(refused) => {
                tracing::warn!("{refused}");
                return skip(&refused.to_string());
            }
        };
        if !heartbeat::has_content(&said) {
            return skip("HEARTBEAT.md says nothing");
        }
        // One that was begun before a restart is the run that is active.
        if started.slot.slot.run_id.is_none() {
            match self.ask::<Stats>(&StatsParams {}).await {
                // One that waits for a person may wait for ever, and keeps nobody from working.
                Ok(stats) if stats.active.saturating_sub(stats.waiting) + stats.queued > 0 => {
                    return skip("another run is active");
                }
                Ok(_) => {}
                Err(error) => return Outcome::failed(error.message),
            }
        }
        let task = format!(
            "This is your heartbeat: look after what HEARTBEAT.md says, and do what is due now. If there is nothing to tell, answer only {HEARTBEAT_OK}.\n\n{said}"
        );
        let agent = AgentWork {
            model: work.model.clone(),
            budget: work.budget,
            ..AgentWork::default()
        };
        self.run_agent(started, &agent, task).await
    }

    /// What `HEARTBEAT.md` says; nothing when there is none.
    async fn heartbeat_text(&self) -> Result<String, PromptFileError> {
        let (home, mask) = (self.parts.home.clone(), self.parts.mask.clone());
        let read = tokio::task::spawn_blocking(move || {
            let folder = PromptFolder::Home(home.root());
            read_prompt_file(folder, HEARTBEAT_FILE, HEARTBEAT_BYTES_MAX, &mask)
        });
        Ok(read.await.unwrap_or(Ok(None))?.unwrap_or_default())
    }

    async fn run_loop(&self, started: &Started, name: &str) -> Outcome {
        let number = started.slot.slot.number;
        let params = loops::OnceParams {
            name: name.to_owned(),
            idempotency_key: Some(key(&started.slot.slot)),
        };
        let begun = tokio::select! {
            begun = self.ask::<loops::Once>(&params) => begun,
            () = started.stop.cancelled() => return stopped(None),
        };
        let state = match begun {
            Ok(begun) => begun.state,
            // It runs by itself already.
            Err(error) if error.code == ErrorCode::Conflict => {
                return Outcome::without_work(SlotState::Skipped, error.message);
            }
            Err(error) => return Outcome::failed(error.message),
        };
        self.begin(number, state.run_id).await;
        let mut is_stopped = false;
        loop {
            if started.stop.is_cancelled() && !is_stopped {
                is_stopped = true;
                let params = loops::NameParams {
                    name: name.to_owned(),
                };
                let _ = self.ask::<loops::Stop>(&params).await;
            }
            let params = loops::HistoryParams {
                name: name.to_owned(),
                before: state.iteration.checked_add(1),
                limit: Some(1),
            };
            let seen = match self.ask::<loops::History>(&params).await {
                Ok(page) => page.iterations.into_iter().next(),
                Err(error) => return Outcome::failed(error.message),
            };
            let ended =
                seen.filter(|seen| seen.iteration == state.iteration && seen.ended_at.is_some());
            if let Some(iteration) = ended {
                return of_iteration(iteration, is_stopped);
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn run_command(&self, started: &Started, errand: &Errand) -> Outcome {
        // Before it begins: whether it had, the next start must know.
        let number = started.slot.slot.number;
        if let Err(error) = self.parts.store.begin_slot(number, None).await {
            return Outcome::failed(error.to_string());
        }
        failpoint::reach("cron.slot.begun");
        let done = self.parts.errands.run(errand, &started.stop).await;
        if started.stop.is_cancelled() {
            return Outcome {
                output: Some(printed(&done)).filter(|text| !text.is_empty()),
                ..stopped(None)
            };
        }
        let reason = match (&done.problem, done.exit_code) {
            (Some(problem), _) => Some(problem.clone()),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(format!("it ended with exit code {code}")),
            (None, None) => Some("it did not end by itself".to_owned()),
        };
        Outcome {
            state: if done.is_success() {
                SlotState::Ran
            } else {
                SlotState::Failed
            },
            reason,
            run: None,
            exit_code: done.exit_code,
            output: Some(printed(&done)),
            cost: Cost::default(),
            denied_calls: 0,
            failed_calls: 0,
            is_unaffordable: false,
        }
    }

    /// Remembers that a slot is at work. Without it the next start asks again, under the same key.
    async fn begin(&self, number: u64, run: Option<RunId>) {
        if let Err(error) = self.parts.store.begin_slot(number, run).await {
            tracing::warn!(slot = number, "a slot is not shown as running: {error}");
        }
    }
}

/// The key under which a slot's work is asked for.
fn key(slot: &Slot) -> String {
    let number = slot.number;
    if failpoint::broken(105) && slot.attempt > 0 {
        return format!("cron:slot:{number}:{}", slot.attempt);
    }
    format!("cron:slot:{number}")
}

fn stopped(run: Option<RunId>) -> Outcome {
    Outcome {
        run,
        ..Outcome::without_work(SlotState::Stopped, "a later one took its place".to_owned())
    }
}

fn of_run(run: RunId, answer: &Answer, is_stopped: bool) -> Outcome {
    let (state, reason) = match (answer.outcome(), answer.note()) {
        (WorkOutcome::Stopped, _) if is_stopped => {
            return Outcome {
                cost: answer.cost,
                ..stopped(Some(run))
            };
        }
        (WorkOutcome::Stopped, _) => {
            let why = "somebody stopped its run".to_owned();
            (SlotState::Stopped, Some(why))
        }
        (outcome, note) => (state_of(outcome), note.map(str::to_owned)),
    };
    Outcome {
        state,
        reason,
        run: Some(run),
        exit_code: None,
        output: Some(excerpt(&answer.text, OUTPUT_BYTES_MAX)).filter(|text| !text.is_empty()),
        cost: answer.cost,
        denied_calls: answer.calls.denied,
        failed_calls: answer.calls.failed,
        is_unaffordable: answer.cause == Some(Cause::Budget),
    }
}

fn of_iteration(iteration: loops::Iteration, is_stopped: bool) -> Outcome {
    let state = match (iteration.success, iteration.outcome) {
        (Some(true), outcome) => state_of(outcome.unwrap_or(WorkOutcome::Ran)),
        _ if is_stopped || iteration.cause == Some(Cause::Aborted) => SlotState::Stopped,
        _ => SlotState::Failed,
    };
    Outcome {
        state,
        reason: iteration.message,
        run: iteration.run_id,
        exit_code: None,
        output: iteration
            .response
            .map(|text| excerpt(&text, OUTPUT_BYTES_MAX)),
        cost: iteration.cost,
        denied_calls: iteration.denied_calls,
        failed_calls: iteration.failed_calls,
        is_unaffordable: iteration.cause == Some(Cause::Budget),
    }
}

fn state_of(outcome: WorkOutcome) -> SlotState {
    match outcome {
        WorkOutcome::Ran => SlotState::Ran,
        WorkOutcome::RanWithDenials => SlotState::RanWithDenials,
        WorkOutcome::RanWithFailures => SlotState::RanWithFailures,
        WorkOutcome::Failed => SlotState::Failed,
        WorkOutcome::Stopped => SlotState::Stopped,
    }
}

fn printed(done: &Errands) -> String {
    let mut text = done.stdout.clone();
    if !done.stderr.is_empty() {
        // Writing into a text cannot fail.
        let _ = write!(text, "\n[stderr]\n{}", done.stderr);
    }
    excerpt(text.trim(), OUTPUT_BYTES_MAX)
}
