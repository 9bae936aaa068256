//! Words that loops, scheduled jobs and the machines that decide of them share: what they may do
//! unasked, whom they tell, and what becomes of a time that is missed or comes too soon.

use crate::twin::twin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

twin! {
    /// What the runs of one loop or job may do without being asked: a stored rule for their sessions
    /// only, which is shown among the rules and goes with the loop or job.
    pub struct Grant / GrantView {
        /// A tool's name or alias; `*` at the end stands for any rest.
        pub tool: String,
        /// Patterns of arguments, as in a rule.
        #[serde(rename = "match", default, skip_serializing_if = "BTreeMap::is_empty")]
        pub matches: BTreeMap<String, String>,
        /// Every path of the call lies in this folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
        /// Every host of the call is this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub host: Option<String>,
    }
}

twin! {
    /// Where results are told beside the history.
    pub struct Notify / NotifyView {
        /// The key of a session that gets each result as a message.
        pub session_key: String,
        /// Only failures.
        #[serde(default)]
        pub failures_only: bool,
    }
}

/// The answer to a heartbeat that nobody is told.
pub const HEARTBEAT_OK: &str = "HEARTBEAT_OK";

/// What becomes of slots that passed while nobody was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Missed {
    /// The latest one is run, once.
    #[default]
    Once,
    /// Each of them is run, in order.
    All,
    /// None of them is.
    Skip,
}

/// What becomes of a slot that comes due while the one before is under way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Overlap {
    /// It waits; at most one does, a later one is skipped.
    Queue,
    /// It is skipped.
    #[default]
    Skip,
    /// The one under way is stopped.
    Replace,
}

/// How a piece of work went that nobody watched, once it is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// The model answered, and its work was not kept from anything.
    Ran,
    /// The model answered, and at least one of its calls was denied.
    RanWithDenials,
    /// The model answered, and a call of the last step that made any failed.
    RanWithFailures,
    Failed,
    Stopped,
}
