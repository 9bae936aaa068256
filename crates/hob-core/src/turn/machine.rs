//! The machine of an agent run: one state, one `step`. Pure.

use super::calls::{TurnCall, TurnCallState};
use super::limits::{RunLimits, RunUsage};
use super::{CallSpec, ModelAnswer, TurnEffect, TurnEvent};
use hob_wire::work::RunEndCause;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// The state of a run. It can be stored, hashed and rebuilt from its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnMachine {
    limits: RunLimits,
    pub(super) phase: TurnPhase,
    pub(super) spent: RunUsage,
    /// Starts at 1 for the first attempt of a step.
    attempt: u32,
    began_at: u64,
    /// Restarts since the last progress.
    pub(super) resumes: u32,
    last_call: Option<CallSpec>,
    repeats: u32,
    steered: bool,
    /// The model was told that its answer has the wrong form.
    #[serde(rename = "told_misfit")]
    reported_misfit: bool,
    /// The time since which a person is asked, or the daemon is down after an orderly stop. The
    /// time until the run continues is not counted as run time.
    waiting_since: Option<u64>,
    /// An orderly stop left the run, and no start has resumed it yet.
    #[serde(default)]
    left: bool,
}

/// The thing a run waits for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "camelCase")]
pub enum TurnPhase {
    /// Its turn.
    Queued,
    /// The model.
    Model,
    /// Permissions and tools.
    Tools {
        calls: Vec<TurnCall>,
    },
    /// A person to allow more money.
    Paused,
    Finished {
        cause: RunEndCause,
    },
}

impl TurnMachine {
    pub fn new(limits: RunLimits) -> Self {
        TurnMachine {
            limits,
            phase: TurnPhase::Queued,
            spent: RunUsage::default(),
            attempt: 0,
            began_at: 0,
            resumes: 0,
            last_call: None,
            repeats: 0,
            steered: false,
            reported_misfit: false,
            waiting_since: None,
            left: false,
        }
    }

    pub fn phase(&self) -> &TurnPhase {
        &self.phase
    }

    pub fn spent(&self) -> RunUsage {
        self.spent
    }

    /// Returns the present step, from 1, and its attempt.
    pub fn step_and_attempt(&self) -> (u32, u32) {
        (self.spent.steps, self.attempt)
    }

    /// Returns the calls of the present step.
    pub fn calls(&self) -> &[TurnCall] {
        match &self.phase {
            TurnPhase::Tools { calls } => calls,
            _ => &[],
        }
    }

    /// Returns the time at which the run's wall time is used up.
    pub fn deadline_at(&self) -> u64 {
        self.began_at.saturating_add(self.limits.wall_ms)
    }

    /// Handles an event and appends effects. An event that does not fit the phase (a late result
    /// after a cancel, a second answer) changes nothing.
    pub fn step(&mut self, event: TurnEvent, out: &mut Vec<TurnEffect>) {
        // Results of stopped calls may still arrive after the end.
        if matches!(self.phase, TurnPhase::Finished { .. }) {
            return;
        }
        let at = event.at();
        if let Some(since) = self.waiting_since {
            // Moving the start forward excludes the waiting time from every later check of the wall
            // time.
            self.began_at = self.began_at.saturating_add(at.saturating_sub(since));
        }
        self.handle_event(event, out);
        let waits = self.left || self.waits_for_person();
        self.waiting_since = waits.then_some(at);
    }

    fn handle_event(&mut self, event: TurnEvent, out: &mut Vec<TurnEffect>) {
        match event {
            TurnEvent::Begin { at } => self.begin(at, out),
            TurnEvent::ModelDone { answer, at } => self.model_done(answer, at, out),
            TurnEvent::Lost {
                tokens,
                micro_dollars,
                ..
            } if self.phase == TurnPhase::Model => self.spent.add(tokens, micro_dollars),
            // In every phase: the cost of a child counts, whatever this run waits for.
            TurnEvent::Charged {
                tokens,
                micro_dollars,
                ..
            } => self.spent.add(tokens, Some(micro_dollars)),
            TurnEvent::Retried { at } if self.phase == TurnPhase::Model => self.retry(at, out),
            TurnEvent::ModelFailed { .. } if self.phase == TurnPhase::Model => {
                self.finish(RunEndCause::ModelFailed, out);
            }
            TurnEvent::Decided { call, allowed, at } => self.decided(&call, allowed, at, out),
            TurnEvent::Begun { call, .. } => {
                self.move_call(&call, TurnCallState::Allowed, TurnCallState::Begun);
            }
            TurnEvent::ToolDone { call, failed, at } => self.tool_done(&call, failed, at, out),
            TurnEvent::Unanswered { call, at } => self.unanswered(&call, at, out),
            TurnEvent::Probed { call, found, at } => self.probed(&call, found, at, out),
            TurnEvent::Resolved { call, answer, at } => self.resolved(&call, answer, at, out),
            TurnEvent::Steered { .. } => self.steered = true,
            TurnEvent::OutOfMoney { .. } if self.phase == TurnPhase::Model => {
                self.phase = TurnPhase::Paused;
                out.push(TurnEffect::AskForMoney);
            }
            TurnEvent::MoneyAllowed { .. } if self.phase == TurnPhase::Paused => {
                self.phase = TurnPhase::Model;
                self.call_model_again(out);
            }
            // Paused too: journals of older versions contain unattended runs that waited.
            TurnEvent::Unaffordable { .. }
                if matches!(self.phase, TurnPhase::Model | TurnPhase::Paused) =>
            {
                self.finish(RunEndCause::Budget, out);
            }
            // These do not fit the phase: they are late, or came twice.
            TurnEvent::Lost { .. }
            | TurnEvent::Retried { .. }
            | TurnEvent::ModelFailed { .. }
            | TurnEvent::OutOfMoney { .. }
            | TurnEvent::MoneyAllowed { .. }
            | TurnEvent::Unaffordable { .. } => {}
            TurnEvent::Cancelled { .. } => self.stop_all(RunEndCause::Aborted, out),
            // A queued run has not begun, so a stop takes none of its time.
            TurnEvent::Left { .. } => self.left = self.phase != TurnPhase::Queued,
            TurnEvent::Restarted { at } => self.restarted(at, out),
            TurnEvent::Tick { at } => self.tick(at, out),
        }
    }

    fn begin(&mut self, at: u64, out: &mut Vec<TurnEffect>) {
        // A second `Begin` must not reset the clock of the run.
        if self.phase == TurnPhase::Queued {
            self.began_at = at;
            self.next_step(at, out);
        }
    }

    fn model_done(&mut self, answer: ModelAnswer, at: u64, out: &mut Vec<TurnEffect>) {
        if self.phase != TurnPhase::Model {
            return;
        }
        // An answer is progress, so earlier restarts no longer count.
        self.resumes = 0;
        self.spent.add(answer.tokens, answer.micro_dollars);
        if answer.repeated {
            return self.finish(RunEndCause::RepeatedText, out);
        }
        if answer.calls.is_empty() {
            // Text that arrived meanwhile gets an answer of its own.
            if self.steered {
                return self.next_step(at, out);
            }
            return match (answer.misfit, self.reported_misfit) {
                (false, _) => self.finish(RunEndCause::Answered, out),
                (true, true) => self.finish(RunEndCause::ModelFailed, out),
                (true, false) => {
                    self.reported_misfit = true;
                    self.next_step(at, out);
                }
            };
        }
        // Each call of the answer counts, so repeating one within an answer is noticed too.
        for call in &answer.calls {
            if self.repeats_too_often(call) {
                return self.finish(RunEndCause::RepeatedCall, out);
            }
        }
        let mut calls: Vec<TurnCall> = answer.calls.into_iter().map(TurnCall::new).collect();
        self.refuse_repeated_ids(&mut calls);
        let asked = calls
            .iter()
            .filter(|call| call.state == TurnCallState::Asked);
        out.extend(asked.map(|call| TurnEffect::Ask {
            call: call.spec.id.clone(),
        }));
        self.phase = TurnPhase::Tools { calls };
    }

    /// Denies all but the first of several calls with the same id. Every event names a call by its
    /// id, so the others could be neither distinguished nor settled. No journal contains such an
    /// answer: the driver gives every call a unique id before it writes it.
    fn refuse_repeated_ids(&mut self, calls: &mut [TurnCall]) {
        let mut seen = BTreeSet::new();
        for call in calls {
            if !seen.insert(call.spec.id.clone()) {
                call.state = TurnCallState::Denied;
                self.spent.note_outcome(true);
            }
        }
    }

    /// Retries the same step, unless the lost attempt used up a limit.
    fn retry(&mut self, at: u64, out: &mut Vec<TurnEffect>) {
        // A retry belongs to a step that was counted already.
        let within_step = RunLimits {
            steps: u32::MAX,
            ..self.limits
        };
        match self.spent.exceeded_limit(&within_step, self.elapsed_ms(at)) {
            Some(cause) => self.finish(cause, out),
            None => self.call_model_again(out),
        }
    }

    fn repeats_too_often(&mut self, call: &CallSpec) -> bool {
        let same = |last: &CallSpec| last.tool == call.tool && last.args == call.args;
        if self.last_call.as_ref().is_some_and(same) {
            self.repeats += 1;
        } else {
            self.repeats = 1;
            self.last_call = Some(call.clone());
        }
        self.repeats > self.limits.repeats
    }

    fn restarted(&mut self, at: u64, out: &mut Vec<TurnEffect>) {
        let was_left = std::mem::take(&mut self.left);
        if self.phase == TurnPhase::Queued {
            return;
        }
        // Repeating a question tries nothing, so it does not count as a resume. An orderly stop is
        // not the run's fault either.
        if !was_left && !self.only_waits_for_person() {
            if self.resumes >= self.limits.resumes {
                // A run that crashes the daemon each time must not do so for ever.
                return self.finish(RunEndCause::Parked, out);
            }
            self.resumes += 1;
        }
        if at >= self.deadline_at() && !self.waits_for_person() {
            return self.finish(RunEndCause::TimeLimit, out);
        }
        match &mut self.phase {
            // The interrupted answer is lost, so this counts as a new attempt of the same step.
            TurnPhase::Model => self.call_model_again(out),
            TurnPhase::Tools { calls } => out.extend(calls.iter_mut().filter_map(TurnCall::resume)),
            TurnPhase::Paused => out.push(TurnEffect::AskForMoney),
            TurnPhase::Queued | TurnPhase::Finished { .. } => {}
        }
    }

    /// Returns true if the run's wall time is used up and no person is asked: the run ends with the
    /// next tick.
    pub fn is_overdue(&self, at: u64) -> bool {
        let working = matches!(self.phase, TurnPhase::Model | TurnPhase::Tools { .. });
        working && at >= self.deadline_at() && !self.waits_for_person()
    }

    /// Returns true if a person is asked about money or a call in doubt. The run's wall time does
    /// not pass meanwhile.
    pub fn waits_for_person(&self) -> bool {
        let in_doubt = |call: &TurnCall| call.state == TurnCallState::InDoubt;
        self.phase == TurnPhase::Paused || self.calls().iter().any(in_doubt)
    }

    /// Returns true if nothing runs until a person answers.
    pub fn only_waits_for_person(&self) -> bool {
        let idle = |call: &TurnCall| call.state == TurnCallState::InDoubt || call.is_settled();
        self.waits_for_person() && self.calls().iter().all(idle)
    }

    fn tick(&mut self, at: u64, out: &mut Vec<TurnEffect>) {
        if self.is_overdue(at) {
            self.stop_all(RunEndCause::TimeLimit, out);
        }
    }

    pub(super) fn next_step(&mut self, at: u64, out: &mut Vec<TurnEffect>) {
        if let Some(cause) = self.spent.exceeded_limit(&self.limits, self.elapsed_ms(at)) {
            return self.finish(cause, out);
        }
        // The next model call sees all text that arrived so far.
        self.steered = false;
        self.spent.steps += 1;
        self.attempt = 0;
        self.phase = TurnPhase::Model;
        self.call_model_again(out);
    }

    fn call_model_again(&mut self, out: &mut Vec<TurnEffect>) {
        self.attempt += 1;
        out.push(TurnEffect::CallModel {
            step: self.spent.steps,
            attempt: self.attempt,
        });
    }

    fn elapsed_ms(&self, at: u64) -> u64 {
        at.saturating_sub(self.began_at)
    }

    pub(super) fn stop_all(&mut self, cause: RunEndCause, out: &mut Vec<TurnEffect>) {
        // Before the end, because no effect may follow `Finish`.
        out.push(TurnEffect::StopAll);
        self.finish(cause, out);
    }

    fn finish(&mut self, cause: RunEndCause, out: &mut Vec<TurnEffect>) {
        self.phase = TurnPhase::Finished { cause };
        out.push(TurnEffect::Finish { cause });
    }
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "failure_tests.rs"]
mod failure_tests;
