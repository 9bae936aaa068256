//! `daemon.*`: the daemon process and its store.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "daemon";
    /// Shows the daemon's version, addresses and store.
    Status = "daemon.status" {
        params: DaemonStatusParams, result: DaemonStatus, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Checks the daemon's home and this machine, and names a fix for each problem. Changes nothing.
    ///
    /// `hob doctor` also checks what only a client can know, such as whether the daemon answers.
    Doctor = "daemon.doctor" {
        params: DaemonDoctorParams, result: DaemonDoctorResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Checks everything that is stored: the database, its rows, its blobs and the audit log.
    ///
    /// It reads all data, so it can take minutes. `daemon.verifying` reports the progress. The
    /// daemon continues to work meanwhile.
    Verify = "daemon.verify" {
        params: DaemonVerifyParams, result: DaemonVerifyResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

events! { "daemon";
    /// Reports the progress of a check of the store.
    Verifying = "daemon.verifying" {
        payload: DaemonVerifyingPayload, scope: Read, durability: Volatile,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DaemonStatusParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonStatus {
    pub version: String,
    pub protocol: u32,
    pub pid: u32,
    /// The number of daemon starts in this home. It fences off writes of earlier daemons.
    pub epoch: u64,
    pub started_at: u64,
    pub home: String,
    /// Each listener as `surface address`.
    pub listeners: Vec<String>,
    /// Notes for people about the listeners, such as that the default port was taken.
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
    /// Instructions for people if the store is not ready.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Problems that start-up found in the files, such as a torn write-ahead log.
    #[serde(default)]
    pub findings: Vec<String>,
    /// The findings about acknowledged writes that are, or may be, lost.
    #[serde(default)]
    pub losses: Vec<String>,
    /// Damaged rows found since the start. `daemon.verify` checks all rows.
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
    /// The disk is full: read-only until there is space.
    Full,
    /// A file is damaged: read-only, as far as possible.
    Damaged,
    /// Another daemon took over this home: read-only permanently.
    Fenced,
    /// A file of the store was deleted, moved or replaced: read-only until a restart.
    Replaced,
    /// The disk reports errors: read-only, as far as possible, until it works again.
    Failing,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DaemonDoctorParams {}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonDoctorResult {
    pub findings: Vec<DoctorFinding>,
    /// True if a loop runs or a job is enabled: after a reboot they need a running daemon.
    pub scheduled_work: bool,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    pub level: FindingLevel,
    /// The examined thing, such as `disk`.
    pub check: String,
    /// What was found, as a sentence.
    pub message: String,
    /// The remedy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// The severity of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum FindingLevel {
    Well,
    /// Unusual and harmless.
    Note,
    Warning,
    Broken,
}

impl DoctorFinding {
    pub fn well(check: &str, message: impl Into<String>) -> Self {
        DoctorFinding {
            level: FindingLevel::Well,
            check: check.to_owned(),
            message: message.into(),
            fix: None,
        }
    }

    pub fn bad(
        level: FindingLevel,
        check: &str,
        message: impl Into<String>,
        fix: impl Into<String>,
    ) -> Self {
        DoctorFinding {
            level,
            check: check.to_owned(),
            message: message.into(),
            fix: Some(fix.into()),
        }
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DaemonVerifyParams {}

/// The result of a check of the whole store.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonVerifyResult {
    /// True if nothing is damaged or missing.
    pub sound: bool,
    /// The checked parts, in this order: `database`, `rows`, `blobs`, `audit`.
    pub parts: Vec<VerifiedPart>,
    /// The damaged rows among the problems, for programs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
    /// Acknowledged writes that may be lost and cannot be verified.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub doubts: Vec<String>,
    /// Unusual but harmless findings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerifiedPart {
    pub name: String,
    /// The number of pages, rows, blobs or entries that were read.
    pub checked: u64,
    /// The problems, one sentence each.
    pub problems: Vec<String>,
    /// True if there are more problems than listed.
    #[serde(default)]
    pub more: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DaemonVerifyingPayload {
    /// The current part: `database`, `rows`, `blobs` or `audit`.
    pub part: String,
    /// The number of pages, rows, blobs or entries read so far.
    pub checked: u64,
}

/// The content of `run/daemon.json`, by which a client finds the daemon of a home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StateFile {
    pub host: String,
    pub port: u16,
    pub pid: u32,
    pub started_at: u64,
    /// The path of the unix socket. It is outside the home if the home's path is too long.
    pub socket: String,
    pub protocol: u32,
    pub version: String,
}
