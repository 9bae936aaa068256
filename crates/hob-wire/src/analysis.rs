//! What a command's output says, for people and programs: its kind, its facts, and what deserves
//! attention.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What is read out of a command's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Analysis {
    /// What kind of output it is, such as `df`, `ps`, `json`, `table` or `text`.
    pub format: String,
    /// Its facts; null where the kind has none.
    pub parsed: Value,
    /// The most important first.
    pub findings: Vec<Finding>,
    /// In one sentence.
    pub summary: String,
    pub line_count: u64,
    pub byte_count: u64,
}

/// Something in the output that deserves attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// What it is about, such as `disk`, `network`, `service` or `error`.
    pub category: String,
    pub message: String,
    pub importance: Importance,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Importance {
    Low,
    Medium,
    High,
    Critical,
}
