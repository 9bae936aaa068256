//! The tool calls of one step: who waits for what. Pure.

use super::{CallSpec, Effect};
use hob_wire::work::Effect as EffectClass;
use serde::{Deserialize, Serialize};

/// How often a call may go unanswered before it is not run again by itself.
const UNANSWERED_MAX: u32 = 3;

/// A call and how far it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Call {
    pub spec: CallSpec,
    pub state: CallState,
    /// How often it began and nobody answered.
    #[serde(default)]
    unanswered: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallState {
    /// Waits for a permission.
    Asked,
    /// Allowed; its intent is not durable yet.
    Allowed,
    /// Its intent is durable; whether it ran is known only by its result.
    Begun,
    /// Waits for what a probe finds.
    Probing,
    /// Waits for a person.
    InDoubt,
    Done,
    Denied,
}

impl Call {
    pub(super) fn asked(spec: CallSpec) -> Self {
        Call {
            spec,
            state: CallState::Asked,
            unanswered: 0,
        }
    }

    /// Notes that nobody answered; true as long as another try may mend it.
    pub(super) fn note_unanswered(&mut self) -> bool {
        self.unanswered += 1;
        self.unanswered < UNANSWERED_MAX
    }

    pub(super) fn is_settled(&self) -> bool {
        matches!(self.state, CallState::Done | CallState::Denied)
    }

    /// The effect that runs it. A pure call needs no intent on disk: repeating it is harmless.
    pub(super) fn run(&self) -> Effect {
        Effect::Run {
            call: self.spec.id.clone(),
            intent: self.spec.effect != EffectClass::Pure,
        }
    }

    /// What a restart asks of this call, by what repeating it would do.
    pub(super) fn resume(&mut self) -> Option<Effect> {
        let call = self.spec.id.clone();
        match (self.state, self.spec.effect) {
            (CallState::Done | CallState::Denied, _) => None,
            (CallState::Asked, _) => Some(Effect::Ask { call }),
            (CallState::Allowed, _)
            | (CallState::Begun, EffectClass::Pure | EffectClass::Keyed) => Some(self.run()),
            (CallState::Begun | CallState::Probing, EffectClass::Probeable) => {
                self.state = CallState::Probing;
                Some(Effect::Probe { call })
            }
            (CallState::Begun | CallState::Probing | CallState::InDoubt, _) => {
                self.state = CallState::InDoubt;
                Some(Effect::Doubt { call })
            }
        }
    }
}
