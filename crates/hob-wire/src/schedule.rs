//! Words that loops and scheduled jobs share: what they may do unasked, and whom they tell.

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
