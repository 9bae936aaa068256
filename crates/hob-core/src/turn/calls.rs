//! The tool calls of one step and their states. Pure.

use super::{CallSpec, TurnEffect};
use hob_wire::work::Idempotency;
use serde::{Deserialize, Serialize};

/// The times a call may go unanswered before it is no longer run again automatically.
const UNANSWERED_MAX: u32 = 3;

/// A call and its state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnCall {
    pub spec: CallSpec,
    pub state: TurnCallState,
    /// The times it began and got no answer.
    #[serde(default)]
    unanswered: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TurnCallState {
    /// Waits for a permission.
    Asked,
    /// Allowed; its intent is not durable yet.
    Allowed,
    /// Its intent is durable; only its result tells whether it ran.
    Begun,
    /// Waits for a probe.
    Probing,
    /// Waits for a person.
    InDoubt,
    Done,
    Denied,
}

impl TurnCall {
    pub(super) fn new(spec: CallSpec) -> Self {
        TurnCall {
            spec,
            state: TurnCallState::Asked,
            unanswered: 0,
        }
    }

    /// Notes that nobody answered; returns true while another try is allowed.
    pub(super) fn note_unanswered(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered < UNANSWERED_MAX
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, TurnCallState::Done | TurnCallState::Denied)
    }

    /// Returns the effect that runs it. A pure call needs no intent on disk: repeating it is
    /// harmless.
    pub(super) fn run_effect(&self) -> TurnEffect {
        TurnEffect::Run {
            call: self.spec.id.clone(),
            intent: self.spec.effect != Idempotency::Pure,
        }
    }

    /// Returns the effect that resumes this call after a restart, by what repeating it would do.
    pub(super) fn resume(&mut self) -> Option<TurnEffect> {
        let call = self.spec.id.clone();
        match (self.state, self.spec.effect) {
            (TurnCallState::Done | TurnCallState::Denied, _) => None,
            (TurnCallState::Asked, _) => Some(TurnEffect::Ask { call }),
            (TurnCallState::Allowed, _)
            | (TurnCallState::Begun, Idempotency::Pure | Idempotency::Keyed) => {
                Some(self.run_effect())
            }
            (TurnCallState::Begun | TurnCallState::Probing, Idempotency::Probeable) => {
                self.state = TurnCallState::Probing;
                Some(TurnEffect::Probe { call })
            }
            // An opaque call may have happened, and only a person can tell.
            (TurnCallState::Begun | TurnCallState::Probing | TurnCallState::InDoubt, _) => {
                self.state = TurnCallState::InDoubt;
                Some(TurnEffect::Doubt { call })
            }
        }
    }
}
