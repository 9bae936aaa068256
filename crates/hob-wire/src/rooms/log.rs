//! `log.line`: the daemon's own log, for whoever watches.

use crate::event::events;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

events! { "log";
    /// A line of the daemon's log, secrets masked.
    LogLine = "log.line" {
        payload: Line, scope: Control, durability: Volatile,
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Line {
    pub at: u64,
    /// `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
    /// The module it comes from.
    pub target: String,
    pub message: String,
}
