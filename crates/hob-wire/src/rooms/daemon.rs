//! `daemon.*`: the process itself.

use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "daemon";
    /// Shows the daemon: version, addresses, store.
    Status = "daemon.status" {
        params: StatusParams, result: DaemonStatus, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StatusParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
    /// Counts this home's daemon starts; it fences the writes of former ones.
    pub epoch: u64,
    pub started_at: u64,
    pub home: String,
    /// Each listener as `surface address`.
    pub listeners: Vec<String>,
    /// What a person must know of them, such as that the usual port was taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    pub store: StoreStatus,
    pub sessions: u64,
    /// The last logged event.
    pub seq: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StoreStatus {
    pub state: StoreState,
    /// What to do when it is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What start-up found in the files, such as a torn write-ahead log.
    #[serde(default)]
    pub findings: Vec<String>,
    /// Those findings that tell of acknowledged writes that are, or may be, lost.
    #[serde(default)]
    pub losses: Vec<String>,
    pub schema: u32,
    pub sqlite: String,
    /// Size of the database file.
    pub bytes: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StoreState {
    /// Reads and writes.
    Ready,
    /// The disk is full: reads only, until there is room.
    Full,
    /// A file is damaged: reads only, as far as they go.
    Damaged,
    /// Another daemon took this home over: reads only, for good.
    Fenced,
    /// A file of the store was deleted, moved or replaced: reads only, until a restart.
    Replaced,
    /// The disk fails: reads as far as they go, until it works again.
    Failing,
}

/// `run/daemon.json`: how a client finds the daemon of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateFile {
    pub host: String,
    pub port: u16,
    pub pid: u32,
    pub started_at: u64,
    /// The unix socket, which may stand elsewhere when the home's path is too long for one.
    pub socket: String,
    pub protocol: u32,
    pub version: String,
}
