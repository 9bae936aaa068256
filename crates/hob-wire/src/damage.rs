//! Damaged rows of the store: rows whose checksum does not match, or that are missing.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A stored row that is damaged or missing. Listings report it instead of leaving it out silently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DamagedRow {
    /// The table: `messages`, `journal`, `runs`, `run_tasks`, `rules`, `jobs`, `tokens` or `audit`.
    pub table: String,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Its number: the `seq` of a message, or the position of a journal entry.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u64>,
    /// Its id, or the id of its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A sentence for people that names the row and says what to do.
    pub message: String,
}
