//! Runs a slot: a run of the agent, an iteration of a loop, or a command.
//!
//! Invariants: runs and iterations are requested with the slot's key, so a repeated request is the
//! same run; a command is stored as running before it starts; work that the daemon's stop
//! interrupts gets no outcome here, the next start continues it.

use super::CronContext;
use super::job_table::StartedSlot;
use super::terms;
use crate::run_outcome::{RunOutcome, RunWaiter};
use crate::scheduled_command::{CommandOutcome, ScheduledCommand};
use futures_util::FutureExt;
use hob_core::excerpt::excerpt;
use hob_core::schedule::heartbeat;
use hob_core::unattended::WorkOwner;
use hob_kit::failpoint;
use hob_kit::home::HEARTBEAT_FILE;
use hob_kit::prompt_file::{PromptFileError, PromptFolder, read_prompt_file};
use hob_wire::rooms::agent::{AgentRunParams, AgentStatsParams, Cost, Run, Stats};
use hob_wire::rooms::cron::{AgentWork, HEARTBEAT_OK, HeartbeatWork, JobSlot, JobWork, SlotState};
use hob_wire::rooms::loops;
use hob_wire::schedule::WorkOutcome;
use hob_wire::work::RunEndCause;
use hob_wire::{ErrorCode, RunId};
use std::fmt::Write;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

/// Time between two checks of an iteration.
const ITERATION_POLL: Duration = Duration::from_millis(500);
/// Bytes kept of an answer or of a command's output.
const OUTPUT_BYTES_MAX: usize = 8 * 1024;
/// The largest `HEARTBEAT.md` that a run is given.
const HEARTBEAT_BYTES_MAX: usize = 64 * 1024;

/// The result of a slot's work.
#[derive(Debug)]
pub(super) struct SlotOutcome {
    pub(super) state: SlotState,
    pub(super) reason: Option<String>,
    pub(super) run: Option<RunId>,
    pub(super) exit_code: Option<i32>,
    pub(super) output: Option<String>,
    pub(super) cost: Cost,
    /// Tool calls of its run that were denied, and that failed.
    pub(super) denied_calls: u32,
    pub(super) failed_calls: u32,
    /// True if a cost ceiling stopped it. That does not count as a failure of the job.
    pub(super) is_unaffordable: bool,
}

impl SlotOutcome {
    fn failed(why: String) -> SlotOutcome {
        SlotOutcome::without_work(SlotState::Failed, why)
    }

    fn without_work(state: SlotState, why: String) -> SlotOutcome {
        SlotOutcome {
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

/// Starts the ready slots, up to the limit of `cron.at_once`.
pub(super) fn start_ready_slots(context: &Arc<CronContext>) {
    let at_once = context.settings().usize("cron.at_once");
    let monotonic_ms = context.deps.clock.monotonic_ms();
    let now_ms = context.now_ms();
    context.jobs().collect_ready(monotonic_ms, now_ms);
    loop {
        // A statement of its own, so that the lock is released before the task is spawned.
        let started = context.jobs().take_ready(at_once);
        let Some(started) = started else { return };
        let worker = Arc::clone(context);
        let tasks = &context.deps.tasks;
        tasks.spawn_until_stop("cron work", async move {
            // A panic fails this slot only. Unhandled, it would leave the slot at work for ever.
            let done = AssertUnwindSafe(worker.run_slot(&started))
                .catch_unwind()
                .await;
            let outcome = done
                .unwrap_or_else(|_| SlotOutcome::failed("hob had an internal error".to_owned()));
            worker.finish_slot(&started, outcome).await;
            // This slot's place is free now, and another one may be waiting for it.
            start_ready_slots(&worker);
        });
    }
}

impl CronContext {
    async fn run_slot(&self, started: &StartedSlot) -> SlotOutcome {
        failpoint::reach_with("cron.work", &started.job.terms.name);
        match &started.job.terms.work {
            JobWork::Agent(agent) => {
                let own = started.slot.own_task.as_ref();
                let task = own.unwrap_or(&agent.task).clone();
                self.run_agent(started, agent, task).await
            }
            JobWork::Heartbeat(work) => self.run_heartbeat(started, work).await,
            JobWork::Loop { name } => self.run_loop(started, name).await,
            JobWork::Command(_) => match terms::scheduled_command(&started.job.terms.work) {
                Some(command) => self.run_command(started, &command).await,
                None => SlotOutcome::failed("it has no command".to_owned()),
            },
        }
    }

    async fn run_agent(
        &self,
        started: &StartedSlot,
        agent: &AgentWork,
        task: String,
    ) -> SlotOutcome {
        let slot = &started.slot.slot;
        let params = AgentRunParams {
            session_key: slot.session_key.clone().unwrap_or_default(),
            task,
            kind: Some(terms::session_kind(&started.job.terms).to_owned()),
            model: agent.model.clone(),
            budget: agent.budget.map(Into::into),
            idempotency_key: Some(idempotency_key(slot)),
            tools: agent.tools.clone(),
            workspace: agent.workspace.clone(),
            unattended: true,
            ..AgentRunParams::default()
        };
        // The call waits until the agent's room is served, so a stop must be able to interrupt it.
        let accepted = tokio::select! {
            accepted = self.ask::<Run>(&params) => accepted,
            () = started.stop.cancelled() => return replaced(None),
        };
        let run = match accepted {
            Ok(reply) => reply.run_id,
            Err(error) => return SlotOutcome::failed(error.message),
        };
        failpoint::reach("cron.run.accepted");
        // Only after the run exists: without this write the slot's key still leads to the run.
        self.mark_running(slot.number, Some(run)).await;
        failpoint::reach("cron.slot.begun");
        let awaited = RunWaiter {
            caller: &self.caller,
            store: &self.deps.store,
            run_id: run,
            owner: match &started.job.terms.work {
                JobWork::Heartbeat(_) => WorkOwner::Heartbeat(&started.job.terms.name),
                _ => WorkOwner::Job(&started.job.terms.name),
            },
        };
        match awaited.wait_for_end(&started.stop).await {
            Ok(answer) => outcome_of_run(run, &answer, started.stop.is_cancelled()),
            Err(error) => SlotOutcome {
                run: Some(run),
                ..SlotOutcome::failed(error.message)
            },
        }
    }

    /// Runs the heartbeat, if `HEARTBEAT.md` has content and no other run is active.
    async fn run_heartbeat(&self, started: &StartedSlot, work: &HeartbeatWork) -> SlotOutcome {
        let skip = |why: &str| SlotOutcome::without_work(SlotState::Skipped, why.to_owned());
        let text = match self.heartbeat_text().await {
            Ok(text) => text,
            Err(refused) => {
                tracing::warn!("{refused}");
                return skip(&refused.to_string());
            }
        };
        if !heartbeat::has_content(&text) {
            return skip("HEARTBEAT.md is empty");
        }
        // After a restart the active run may be this slot's own.
        if started.slot.slot.run_id.is_none() {
            match self.ask::<Stats>(&AgentStatsParams {}).await {
                // Runs that wait for a person do not count: they may wait for ever.
                Ok(stats) if stats.active.saturating_sub(stats.waiting) + stats.queued > 0 => {
                    return skip("another run is active");
                }
                Ok(_) => {}
                Err(error) => return SlotOutcome::failed(error.message),
            }
        }
        let task = format!(
            "This is your heartbeat: look after what HEARTBEAT.md says, and do what is due now. If there is nothing to tell, answer only {HEARTBEAT_OK}.\n\n{text}"
        );
        let agent = AgentWork {
            model: work.model.clone(),
            budget: work.budget,
            ..AgentWork::default()
        };
        self.run_agent(started, &agent, task).await
    }

    /// Returns the text of `HEARTBEAT.md`, empty when there is no such file.
    async fn heartbeat_text(&self) -> Result<String, PromptFileError> {
        let (home, mask) = (self.deps.home.clone(), self.deps.mask.clone());
        let read = tokio::task::spawn_blocking(move || {
            let folder = PromptFolder::Home(home.root());
            read_prompt_file(folder, HEARTBEAT_FILE, HEARTBEAT_BYTES_MAX, &mask)
        });
        Ok(read.await.unwrap_or(Ok(None))?.unwrap_or_default())
    }

    async fn run_loop(&self, started: &StartedSlot, name: &str) -> SlotOutcome {
        let number = started.slot.slot.number;
        let params = loops::LoopOnceParams {
            name: name.to_owned(),
            idempotency_key: Some(idempotency_key(&started.slot.slot)),
        };
        let begun = tokio::select! {
            begun = self.ask::<loops::Once>(&params) => begun,
            () = started.stop.cancelled() => return replaced(None),
        };
        let state = match begun {
            Ok(begun) => begun.state,
            // The loop is running by itself.
            Err(error) if error.code == ErrorCode::Conflict => {
                return SlotOutcome::without_work(SlotState::Skipped, error.message);
            }
            Err(error) => return SlotOutcome::failed(error.message),
        };
        self.mark_running(number, state.run_id).await;
        // The stop is sent once; the loop's own end is waited for after it.
        let mut is_stopped = false;
        loop {
            if started.stop.is_cancelled() && !is_stopped {
                is_stopped = true;
                let params = loops::LoopSelector {
                    name: name.to_owned(),
                };
                // If the stop fails, the iteration is still waited for until it ends by itself.
                let _ = self.ask::<loops::Stop>(&params).await;
            }
            let params = loops::LoopHistoryParams {
                name: name.to_owned(),
                // The page before the next number begins with this iteration.
                before: state.iteration.checked_add(1),
                limit: Some(1),
            };
            // Asked about this very iteration, because the loop may have begun another one since.
            let seen = match self.ask::<loops::History>(&params).await {
                Ok(page) => page.iterations.into_iter().next(),
                Err(error) => return SlotOutcome::failed(error.message),
            };
            let ended =
                seen.filter(|seen| seen.iteration == state.iteration && seen.ended_at.is_some());
            if let Some(iteration) = ended {
                return outcome_of_iteration(iteration, is_stopped);
            }
            tokio::time::sleep(ITERATION_POLL).await;
        }
    }

    async fn run_command(&self, started: &StartedSlot, command: &ScheduledCommand) -> SlotOutcome {
        // Stored before it starts: after a crash the next daemon must know that it may have run.
        let number = started.slot.slot.number;
        if let Err(error) = self.deps.store.begin_slot(number, None).await {
            return SlotOutcome::failed(error.to_string());
        }
        failpoint::reach("cron.slot.begun");
        let done = self.command_runner.run(command, &started.stop).await;
        if started.stop.is_cancelled() {
            return SlotOutcome {
                output: Some(combined_output(&done)).filter(|text| !text.is_empty()),
                ..replaced(None)
            };
        }
        let reason = match (&done.problem, done.exit_code) {
            (Some(problem), _) => Some(problem.clone()),
            (None, Some(0)) => None,
            (None, Some(code)) => Some(format!("it ended with exit code {code}")),
            (None, None) => Some("it did not end by itself".to_owned()),
        };
        SlotOutcome {
            state: if done.is_success() {
                SlotState::Ran
            } else {
                SlotState::Failed
            },
            reason,
            run: None,
            exit_code: done.exit_code,
            output: Some(combined_output(&done)),
            cost: Cost::default(),
            denied_calls: 0,
            failed_calls: 0,
            is_unaffordable: false,
        }
    }

    /// Stores that a slot is running. If that fails, the next start asks again with the same key.
    async fn mark_running(&self, number: u64, run: Option<RunId>) {
        if let Err(error) = self.deps.store.begin_slot(number, run).await {
            tracing::warn!(slot = number, "a slot is not shown as running: {error}");
        }
    }
}

/// Returns the idempotency key of a slot's work.
fn idempotency_key(slot: &JobSlot) -> String {
    format!("cron:slot:{}", slot.number)
}

fn replaced(run: Option<RunId>) -> SlotOutcome {
    SlotOutcome {
        run,
        ..SlotOutcome::without_work(SlotState::Stopped, "a later run replaced it".to_owned())
    }
}

fn outcome_of_run(run: RunId, answer: &RunOutcome, is_stopped: bool) -> SlotOutcome {
    let (state, reason) = match (answer.outcome(), answer.note()) {
        (WorkOutcome::Stopped, _) if is_stopped => {
            return SlotOutcome {
                cost: answer.cost,
                ..replaced(Some(run))
            };
        }
        (WorkOutcome::Stopped, _) => {
            let why = "its run was stopped".to_owned();
            (SlotState::Stopped, Some(why))
        }
        (outcome, note) => (slot_state(outcome), note.map(str::to_owned)),
    };
    SlotOutcome {
        state,
        reason,
        run: Some(run),
        exit_code: None,
        output: Some(excerpt(&answer.text, OUTPUT_BYTES_MAX)).filter(|text| !text.is_empty()),
        cost: answer.cost,
        denied_calls: answer.calls.denied,
        failed_calls: answer.calls.failed,
        is_unaffordable: answer.cause == Some(RunEndCause::Budget),
    }
}

fn outcome_of_iteration(iteration: loops::IterationRecord, is_stopped: bool) -> SlotOutcome {
    let state = match (iteration.success, iteration.outcome) {
        (Some(true), outcome) => slot_state(outcome.unwrap_or(WorkOutcome::Ran)),
        _ if is_stopped || iteration.cause == Some(RunEndCause::Aborted) => SlotState::Stopped,
        _ => SlotState::Failed,
    };
    SlotOutcome {
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
        is_unaffordable: iteration.cause == Some(RunEndCause::Budget),
    }
}

fn slot_state(outcome: WorkOutcome) -> SlotState {
    match outcome {
        WorkOutcome::Ran => SlotState::Ran,
        WorkOutcome::RanWithDenials => SlotState::RanWithDenials,
        WorkOutcome::RanWithFailures => SlotState::RanWithFailures,
        WorkOutcome::Failed => SlotState::Failed,
        WorkOutcome::Stopped => SlotState::Stopped,
    }
}

fn combined_output(done: &CommandOutcome) -> String {
    let mut text = done.stdout.clone();
    if !done.stderr.is_empty() {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n[stderr]\n{}", done.stderr);
    }
    excerpt(text.trim(), OUTPUT_BYTES_MAX)
}
