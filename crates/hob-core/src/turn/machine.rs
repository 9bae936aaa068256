//! The machine itself: one state, one `step`. Pure.

use super::calls::{Call, CallState};
use super::limits::{Limits, Spent};
use super::{Answer, CallSpec, Effect, Event, Found};
use hob_wire::work::Effect as EffectClass;
use hob_wire::work::{Cause, DoubtAnswer};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A run's state. It can be stored, hashed and rebuilt from its journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    limits: Limits,
    phase: Phase,
    spent: Spent,
    /// Counted from 1 for the first attempt of a step.
    attempt: u32,
    began_at: u64,
    /// Restarts since something was last achieved.
    resumes: u32,
    last_call: Option<CallSpec>,
    repeats: u32,
    steered: bool,
    /// The model was told that its answer does not fit.
    told_misfit: bool,
    /// Since when a person is asked, or the daemon is down after an orderly stop; the time until
    /// it goes on is not the run's.
    waiting_since: Option<u64>,
    /// An orderly stop left the run, and no start has taken it up yet.
    #[serde(default)]
    left: bool,
}

/// What the run is waiting for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "phase", rename_all = "camelCase")]
pub enum Phase {
    /// Its turn.
    Queued,
    /// The model.
    Model,
    /// Permissions and tools.
    Tools {
        calls: Vec<Call>,
    },
    /// A person to allow more money.
    Paused,
    Finished {
        cause: Cause,
    },
}

impl Turn {
    pub fn new(limits: Limits) -> Self {
        Turn {
            limits,
            phase: Phase::Queued,
            spent: Spent::default(),
            attempt: 0,
            began_at: 0,
            resumes: 0,
            last_call: None,
            repeats: 0,
            steered: false,
            told_misfit: false,
            waiting_since: None,
            left: false,
        }
    }

    pub fn phase(&self) -> &Phase {
        &self.phase
    }

    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// The present step, from 1, and its attempt.
    pub fn place(&self) -> (u32, u32) {
        (self.spent.steps, self.attempt)
    }

    /// The calls of the present step.
    pub fn calls(&self) -> &[Call] {
        match &self.phase {
            Phase::Tools { calls } => calls,
            _ => &[],
        }
    }

    /// When the run's wall time is used up.
    pub fn deadline_at(&self) -> u64 {
        self.began_at.saturating_add(self.limits.wall_ms)
    }

    /// Takes an event and says what to do. An event that does not fit the phase (a late result
    /// after a cancel, a second answer) changes nothing.
    pub fn step(&mut self, event: Event, out: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Finished { .. }) {
            return;
        }
        let at = event.at();
        if let Some(since) = self.waiting_since {
            self.began_at = self.began_at.saturating_add(at.saturating_sub(since));
        }
        self.take(event, out);
        let waits = self.left || self.waits_for_a_person();
        self.waiting_since = waits.then_some(at);
    }

    fn take(&mut self, event: Event, out: &mut Vec<Effect>) {
        match event {
            Event::Begin { at } => self.begin(at, out),
            Event::ModelDone { answer, at } => self.model_done(answer, at, out),
            Event::Lost {
                tokens,
                micro_dollars,
                ..
            } if self.phase == Phase::Model => self.spent.add(tokens, micro_dollars),
            Event::Charged {
                tokens,
                micro_dollars,
                ..
            } => self.spent.add(tokens, Some(micro_dollars)),
            Event::Retried { at } if self.phase == Phase::Model => self.retry(at, out),
            Event::ModelFailed { .. } if self.phase == Phase::Model => {
                self.finish(Cause::ModelFailed, out);
            }
            Event::Decided { call, allowed, at } => self.decided(&call, allowed, at, out),
            Event::Begun { call, .. } => self.set(&call, CallState::Allowed, CallState::Begun),
            Event::ToolDone { call, failed, at } => self.tool_done(&call, failed, at, out),
            Event::Unanswered { call, at } => self.unanswered(&call, at, out),
            Event::Probed { call, found, at } => self.probed(&call, found, at, out),
            Event::Resolved { call, answer, at } => self.resolved(&call, answer, at, out),
            Event::Steered { .. } => self.steered = true,
            Event::OutOfMoney { .. } if self.phase == Phase::Model => {
                self.phase = Phase::Paused;
                out.push(Effect::AskForMoney);
            }
            Event::MoneyAllowed { .. } if self.phase == Phase::Paused => {
                self.phase = Phase::Model;
                self.call_model_again(out);
            }
            // Paused too: a former version let runs wait that nobody watches.
            Event::Unaffordable { .. } if matches!(self.phase, Phase::Model | Phase::Paused) => {
                self.finish(Cause::Budget, out);
            }
            Event::Lost { .. }
            | Event::Retried { .. }
            | Event::ModelFailed { .. }
            | Event::OutOfMoney { .. }
            | Event::MoneyAllowed { .. }
            | Event::Unaffordable { .. } => {}
            Event::Cancelled { .. } => self.stop(Cause::Aborted, out),
            Event::Left { .. } => self.left = self.phase != Phase::Queued,
            Event::Restarted { at } => self.restarted(at, out),
            Event::Tick { at } => self.tick(at, out),
        }
    }

    fn begin(&mut self, at: u64, out: &mut Vec<Effect>) {
        if self.phase == Phase::Queued {
            self.began_at = at;
            self.next_step(at, out);
        }
    }

    fn model_done(&mut self, answer: Answer, at: u64, out: &mut Vec<Effect>) {
        if self.phase != Phase::Model {
            return;
        }
        self.resumes = 0;
        self.spent.add(answer.tokens, answer.micro_dollars);
        if answer.calls.is_empty() {
            // Words that arrived meanwhile deserve an answer of their own.
            if self.steered {
                return self.next_step(at, out);
            }
            return match (answer.misfit, self.told_misfit) {
                (false, _) => self.finish(Cause::Answered, out),
                (true, true) => self.finish(Cause::ModelFailed, out),
                (true, false) => {
                    self.told_misfit = true;
                    self.next_step(at, out);
                }
            };
        }
        for call in &answer.calls {
            if self.repeats_too_often(call) {
                return self.finish(Cause::RepeatedCall, out);
            }
        }
        let mut calls: Vec<Call> = answer.calls.into_iter().map(Call::asked).collect();
        self.refuse_repeated_ids(&mut calls);
        let asked = calls.iter().filter(|call| call.state == CallState::Asked);
        out.extend(asked.map(|call| Effect::Ask {
            call: call.spec.id.clone(),
        }));
        self.phase = Phase::Tools { calls };
    }

    /// Of several calls with one id the first counts. Every event names a call by its id, so the
    /// others could neither be told apart from it nor be settled. No journal holds such an answer:
    /// the driver gives every call an id of its own before it writes it.
    fn refuse_repeated_ids(&mut self, calls: &mut [Call]) {
        let mut seen = BTreeSet::new();
        for call in calls {
            if !seen.insert(call.spec.id.clone()) {
                call.state = CallState::Denied;
                self.spent.note_outcome(true);
            }
        }
    }

    /// Tries the same step again, unless what was lost has used up a limit.
    fn retry(&mut self, at: u64, out: &mut Vec<Effect>) {
        let within_step = Limits {
            steps: u32::MAX,
            ..self.limits
        };
        match self.spent.exceeded(&within_step, self.elapsed_ms(at)) {
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

    fn decided(&mut self, id: &str, allowed: bool, at: u64, out: &mut Vec<Effect>) {
        if !allowed {
            // A yes may be taken back as long as the call has not begun.
            let open = [CallState::Asked, CallState::Allowed];
            if open.iter().any(|state| self.call_in(id, *state).is_some()) {
                self.settle(id, Outcome::Denied, at, out);
            }
        } else if let Some(call) = self.call_in(id, CallState::Asked) {
            call.state = CallState::Allowed;
            let run = call.run();
            out.push(run);
        }
    }

    fn tool_done(&mut self, id: &str, failed: bool, at: u64, out: &mut Vec<Effect>) {
        if self.running_call(id).is_some() {
            self.settle(id, Outcome::Done { failed }, at, out);
        }
    }

    fn unanswered(&mut self, id: &str, at: u64, out: &mut Vec<Effect>) {
        let Some(call) = self.running_call(id) else {
            return;
        };
        match (call.note_unanswered(), call.spec.effect) {
            (false, EffectClass::Pure) => {
                self.settle(id, Outcome::Done { failed: true }, at, out);
            }
            (false, EffectClass::Keyed) => {
                call.state = CallState::InDoubt;
                let call = id.to_owned();
                out.push(Effect::Doubt { call });
            }
            _ => out.extend(call.resume()),
        }
    }

    fn probed(&mut self, id: &str, found: Found, at: u64, out: &mut Vec<Effect>) {
        let Some(call) = self.call_in(id, CallState::Probing) else {
            return;
        };
        match found {
            Found::Happened { failed } => self.settle(id, Outcome::Done { failed }, at, out),
            Found::DidNot => {
                call.state = CallState::Allowed;
                let run = call.run();
                out.push(run);
            }
            Found::Unknown => {
                call.state = CallState::InDoubt;
                out.push(Effect::Doubt {
                    call: id.to_owned(),
                });
            }
        }
    }

    fn resolved(&mut self, id: &str, answer: DoubtAnswer, at: u64, out: &mut Vec<Effect>) {
        let Some(call) = self.call_in(id, CallState::InDoubt) else {
            return;
        };
        match answer {
            DoubtAnswer::Happened => self.settle(id, Outcome::Done { failed: false }, at, out),
            DoubtAnswer::DidNot => {
                call.state = CallState::Allowed;
                let run = call.run();
                out.push(run);
            }
            DoubtAnswer::GiveUp => self.stop(Cause::GivenUp, out),
        }
    }

    fn restarted(&mut self, at: u64, out: &mut Vec<Effect>) {
        let was_left = std::mem::take(&mut self.left);
        if self.phase == Phase::Queued {
            return;
        }
        // Taking up a question again tries nothing, so it is no try in vain. Nor is an orderly stop
        // the run's fault.
        if !was_left && !self.only_waits_for_a_person() {
            if self.resumes >= self.limits.resumes {
                return self.finish(Cause::Parked, out);
            }
            self.resumes += 1;
        }
        if at >= self.deadline_at() && !self.waits_for_a_person() {
            return self.finish(Cause::TimeLimit, out);
        }
        match &mut self.phase {
            Phase::Model => self.call_model_again(out),
            Phase::Tools { calls } => out.extend(calls.iter_mut().filter_map(Call::resume)),
            Phase::Paused => out.push(Effect::AskForMoney),
            Phase::Queued | Phase::Finished { .. } => {}
        }
    }

    /// Whether the run's wall time is used up and nobody's answer is waited for: the run ends with
    /// the next tick.
    pub fn is_overdue(&self, at: u64) -> bool {
        let working = matches!(self.phase, Phase::Model | Phase::Tools { .. });
        working && at >= self.deadline_at() && !self.waits_for_a_person()
    }

    /// Whether a person is asked about money or a call in doubt. The run's wall time does not pass
    /// meanwhile.
    pub fn waits_for_a_person(&self) -> bool {
        let in_doubt = |call: &Call| call.state == CallState::InDoubt;
        self.phase == Phase::Paused || self.calls().iter().any(in_doubt)
    }

    /// Whether nothing of the run is at work until a person answers.
    pub fn only_waits_for_a_person(&self) -> bool {
        let idle = |call: &Call| call.state == CallState::InDoubt || call.is_settled();
        self.waits_for_a_person() && self.calls().iter().all(idle)
    }

    fn tick(&mut self, at: u64, out: &mut Vec<Effect>) {
        if self.is_overdue(at) {
            self.stop(Cause::TimeLimit, out);
        }
    }

    fn settle(&mut self, id: &str, outcome: Outcome, at: u64, out: &mut Vec<Effect>) {
        let Phase::Tools { calls } = &mut self.phase else {
            return;
        };
        let Some(call) = calls.iter_mut().find(|call| call.spec.id == id) else {
            return;
        };
        call.state = match outcome {
            Outcome::Done { .. } => CallState::Done,
            Outcome::Denied => CallState::Denied,
        };
        let all_settled = calls.iter().all(Call::is_settled);
        self.resumes = 0;
        self.spent
            .note_outcome(outcome != Outcome::Done { failed: false });
        if all_settled {
            self.next_step(at, out);
        }
    }

    fn next_step(&mut self, at: u64, out: &mut Vec<Effect>) {
        if let Some(cause) = self.spent.exceeded(&self.limits, self.elapsed_ms(at)) {
            return self.finish(cause, out);
        }
        self.steered = false;
        self.spent.steps += 1;
        self.attempt = 0;
        self.phase = Phase::Model;
        self.call_model_again(out);
    }

    fn call_model_again(&mut self, out: &mut Vec<Effect>) {
        self.attempt += 1;
        out.push(Effect::CallModel {
            step: self.spent.steps,
            attempt: self.attempt,
        });
    }

    fn elapsed_ms(&self, at: u64) -> u64 {
        at.saturating_sub(self.began_at)
    }

    fn stop(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        out.push(Effect::StopAll);
        self.finish(cause, out);
    }

    fn finish(&mut self, cause: Cause, out: &mut Vec<Effect>) {
        self.phase = Phase::Finished { cause };
        out.push(Effect::Finish { cause });
    }

    fn set(&mut self, id: &str, from: CallState, to: CallState) {
        if let Some(call) = self.call_in(id, from) {
            call.state = to;
        }
    }

    /// A call that may be at work: begun, or allowed and in no need of a durable begin.
    fn running_call(&mut self, id: &str) -> Option<&mut Call> {
        let Phase::Tools { calls } = &mut self.phase else {
            return None;
        };
        let call = calls.iter_mut().find(|call| call.spec.id == id)?;
        let pure = call.spec.effect == EffectClass::Pure;
        let at_work = call.state == CallState::Begun || (pure && call.state == CallState::Allowed);
        at_work.then_some(call)
    }

    fn call_in(&mut self, id: &str, state: CallState) -> Option<&mut Call> {
        let Phase::Tools { calls } = &mut self.phase else {
            return None;
        };
        calls
            .iter_mut()
            .find(|call| call.spec.id == id && call.state == state)
    }
}

/// How a call ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done { failed: bool },
    Denied,
}

#[cfg(test)]
#[path = "machine_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "trouble_tests.rs"]
mod trouble_tests;
