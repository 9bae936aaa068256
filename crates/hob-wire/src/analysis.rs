//! The analysis of a command's output, for people and programs: format, facts and findings.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The analysis of a command's output.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputAnalysis {
    /// The format of the output, such as `df`, `ps`, `json`, `table` or `text`.
    pub format: String,
    /// The parsed facts; null if the format has none.
    pub parsed: Value,
    /// Sorted by importance, highest first.
    pub findings: Vec<OutputFinding>,
    /// One sentence.
    pub summary: String,
    pub line_count: u64,
    pub byte_count: u64,
}

/// Something in the output that needs attention.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutputFinding {
    /// The subject, such as `disk`, `network`, `service` or `error`.
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
