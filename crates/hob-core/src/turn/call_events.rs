//! The events of tool calls, and the end of each call. Pure.

use super::calls::{TurnCall, TurnCallState};
use super::machine::{TurnMachine, TurnPhase};
use super::{ProbeResult, TurnEffect};
use hob_wire::work::{DoubtAnswer, Idempotency, RunEndCause};

impl TurnMachine {
    pub(super) fn decided(&mut self, id: &str, allowed: bool, at: u64, out: &mut Vec<TurnEffect>) {
        if !allowed {
            // A permission can be withdrawn until the call has begun.
            let open = [TurnCallState::Asked, TurnCallState::Allowed];
            if open
                .iter()
                .any(|state| self.call_in_state(id, *state).is_some())
            {
                self.settle(id, TurnCallOutcome::Denied, at, out);
            }
        } else if let Some(call) = self.call_in_state(id, TurnCallState::Asked) {
            call.state = TurnCallState::Allowed;
            let run = call.run_effect();
            out.push(run);
        }
    }

    pub(super) fn tool_done(&mut self, id: &str, failed: bool, at: u64, out: &mut Vec<TurnEffect>) {
        // A result that comes while a person is asked is too late: their answer decides.
        if self.running_call(id).is_some() {
            self.settle(id, TurnCallOutcome::Done { failed }, at, out);
        }
    }

    pub(super) fn unanswered(&mut self, id: &str, at: u64, out: &mut Vec<TurnEffect>) {
        let Some(call) = self.running_call(id) else {
            return;
        };
        match (call.note_unanswered(), call.spec.effect) {
            // A pure call changed nothing, so it simply counts as failed.
            (false, Idempotency::Pure) => {
                self.settle(id, TurnCallOutcome::Done { failed: true }, at, out);
            }
            // A keyed call may have happened, so a person decides.
            (false, Idempotency::Keyed) => {
                call.state = TurnCallState::InDoubt;
                let call = id.to_owned();
                out.push(TurnEffect::Doubt { call });
            }
            // Every other call goes on as after a restart: run again, probed, or put in doubt.
            _ => out.extend(call.resume()),
        }
    }

    pub(super) fn probed(
        &mut self,
        id: &str,
        found: ProbeResult,
        at: u64,
        out: &mut Vec<TurnEffect>,
    ) {
        let Some(call) = self.call_in_state(id, TurnCallState::Probing) else {
            return;
        };
        match found {
            ProbeResult::Happened { failed } => {
                self.settle(id, TurnCallOutcome::Done { failed }, at, out);
            }
            // It was allowed before, so nobody is asked again.
            ProbeResult::DidNot => {
                call.state = TurnCallState::Allowed;
                let run = call.run_effect();
                out.push(run);
            }
            ProbeResult::Unknown => {
                call.state = TurnCallState::InDoubt;
                out.push(TurnEffect::Doubt {
                    call: id.to_owned(),
                });
            }
        }
    }

    pub(super) fn resolved(
        &mut self,
        id: &str,
        answer: DoubtAnswer,
        at: u64,
        out: &mut Vec<TurnEffect>,
    ) {
        let Some(call) = self.call_in_state(id, TurnCallState::InDoubt) else {
            return;
        };
        match answer {
            DoubtAnswer::Happened => {
                self.settle(id, TurnCallOutcome::Done { failed: false }, at, out);
            }
            DoubtAnswer::DidNot => {
                call.state = TurnCallState::Allowed;
                let run = call.run_effect();
                out.push(run);
            }
            DoubtAnswer::GiveUp => self.stop_all(RunEndCause::GivenUp, out),
        }
    }

    fn settle(&mut self, id: &str, outcome: TurnCallOutcome, at: u64, out: &mut Vec<TurnEffect>) {
        let TurnPhase::Tools { calls } = &mut self.phase else {
            return;
        };
        let Some(call) = calls.iter_mut().find(|call| call.spec.id == id) else {
            return;
        };
        call.state = match outcome {
            TurnCallOutcome::Done { .. } => TurnCallState::Done,
            TurnCallOutcome::Denied => TurnCallState::Denied,
        };
        // Calls end in any order, and the model is asked only when it gets all their results.
        let all_settled = calls.iter().all(TurnCall::is_settled);
        // A settled call is progress.
        self.resumes = 0;
        self.spent
            .note_outcome(outcome != TurnCallOutcome::Done { failed: false });
        if all_settled {
            self.next_step(at, out);
        }
    }

    pub(super) fn move_call(&mut self, id: &str, from: TurnCallState, to: TurnCallState) {
        if let Some(call) = self.call_in_state(id, from) {
            call.state = to;
        }
    }

    /// Returns a call that may be running: begun, or allowed without needing a durable begin.
    fn running_call(&mut self, id: &str) -> Option<&mut TurnCall> {
        let TurnPhase::Tools { calls } = &mut self.phase else {
            return None;
        };
        let call = calls.iter_mut().find(|call| call.spec.id == id)?;
        let pure = call.spec.effect == Idempotency::Pure;
        let at_work =
            call.state == TurnCallState::Begun || (pure && call.state == TurnCallState::Allowed);
        at_work.then_some(call)
    }

    fn call_in_state(&mut self, id: &str, state: TurnCallState) -> Option<&mut TurnCall> {
        let TurnPhase::Tools { calls } = &mut self.phase else {
            return None;
        };
        calls
            .iter_mut()
            .find(|call| call.spec.id == id && call.state == state)
    }
}

/// The end of a call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TurnCallOutcome {
    Done { failed: bool },
    Denied,
}
