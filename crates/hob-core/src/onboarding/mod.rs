//! The choice of a first model. Pure: facts about the machine in, ordered options out; a choice in,
//! effects out.
//!
//! - [`OnboardingFacts`]: what was found on the machine
//! - [`options`]: the options, best first
//! - [`OnboardingMachine`]: carries out a choice step by step
//! - [`check_key`]: the shape of a pasted key
//!
//! Invariants: an option is offered only if the machine can carry it out; a pasted key is kept only
//! after its provider was asked and did not refuse it; the default model changes only after
//! everything it needs is there, so a person who stops anywhere keeps a state that works.

mod facts;
mod key_shape;
mod machine;
mod options;

pub use facts::{
    DemoModel, LocalModelCandidate, MachineRoom, OnboardingFacts, ProviderKey, ProviderKeyState,
    RunningServer,
};
pub use key_shape::{KEY_BYTES_MAX, KeyShapeError, check_key};
pub use machine::{
    KeyTrial, OnboardingChoice, OnboardingEffect, OnboardingEnd, OnboardingEvent,
    OnboardingMachine, OnboardingRefusal,
};
pub use options::{
    DECLINED, OPTION_DEMO, OPTION_PASTE, OnboardingOption, OnboardingOptionKind, options,
};
