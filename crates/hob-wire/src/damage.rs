//! Rows of the store that are not what was written.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stored row that is damaged or missing. It is named wherever it would have been shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamagedRow {
    /// The kind of row: `messages`, `journal`, `runs`, `run_tasks`, `rules`, `jobs`, `tokens` or
    /// `audit`.
    pub table: String,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Its number: a message's `seq`, an entry's place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Its id, or the id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A sentence that names it, and what to do.
    pub message: String,
}
