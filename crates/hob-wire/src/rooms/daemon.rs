//! `daemon.*`: the process itself.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "daemon";
    /// Shows the daemon: version, addresses, store.
    Status = "daemon.status" {
        params: StatusParams, result: DaemonStatus, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Checks everything that is stored: the database, its rows, its blobs, the audit record.
    ///
    /// It reads all of it, so it can take minutes; `daemon.verifying` tells how far it is. Work
    /// goes on meanwhile.
    Verify = "daemon.verify" {
        params: VerifyParams, result: Verified, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
}

events! { "daemon";
    /// Tells how far a check of the store is.
    Verifying = "daemon.verifying" {
        payload: VerifyingPayload, scope: Read, durability: Volatile,
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
    /// Damaged rows that were met since the start; `daemon.verify` looks for all of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
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

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyParams {}

/// The result of a check of the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    /// Whether nothing is damaged or missing.
    pub sound: bool,
    /// What was checked, in this order: `database`, `rows`, `blobs`, `audit`.
    pub parts: Vec<VerifiedPart>,
    /// The damaged rows among the problems, for a program.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
    /// Acknowledged writes that may be lost, where nothing is left that could tell.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// What is unusual and harmless.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedPart {
    pub name: String,
    /// Pages, rows, blobs or entries that were read.
    pub checked: u64,
    /// What is wrong, a sentence each.
    pub problems: Vec<String>,
    /// There are more problems than are listed.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifyingPayload {
    /// What is being checked: `database`, `rows`, `blobs` or `audit`.
    pub part: String,
    /// Pages, rows, blobs or entries read so far.
    pub checked: u64,
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
