//! Words of work that the pure machines share with the wire: what repeating a call does, where a
//! run must stop and why it did.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What repeating a call does, which decides how it may be retried after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Reads only: repeat at will.
    Pure,
    /// Carries a key that makes a repeat one effect.
    Keyed,
    /// Whether it happened can be looked up.
    Probeable,
    /// Neither: a person must say whether it happened.
    Opaque,
}

/// Where a run must stop. What is missing takes the configured default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Budget {
    /// Model calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Tokens in and out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokens: Option<u64>,
    /// Money, in millionths of a dollar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    /// Time from its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wall_ms: Option<u64>,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The model gave its answer.
    Answered,
    /// Somebody stopped it.
    Aborted,
    StepLimit,
    TokenLimit,
    MoneyLimit,
    TimeLimit,
    /// Too many failures in a row.
    ErrorStreak,
    /// The model asked for the same call with the same arguments again and again.
    RepeatedCall,
    /// No model of the list could answer.
    ModelFailed,
    /// A needed permission was denied.
    Denied,
    /// A person gave up on a call in doubt.
    GivenUp,
    /// It was resumed several times without finishing a step.
    Parked,
}

/// What a person says of a call in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtAnswer {
    /// It happened; go on with the given result.
    Happened,
    /// It did not; run it again.
    DidNot,
    /// End the run.
    GiveUp,
}
