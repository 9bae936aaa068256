//! `log.line`: live lines of the daemon's log.

use crate::event::events;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

events! { "log";
    /// A line of the daemon's log. Secrets are masked.
    LogLine = "log.line" {
        payload: LogRecord, scope: Control, durability: Volatile,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LogRecord {
    pub at: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The module that logged it.
    pub target: String,
    pub message: String,
}
