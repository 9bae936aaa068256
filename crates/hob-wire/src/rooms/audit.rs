//! `audit.*`: the hash-chained log of every permission decision. Append-only.

use crate::damage::DamagedRow;
use crate::method::{CliExposure, methods};
pub use crate::rule::AuditEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "audit";
    /// Lists decisions, newest first.
    List = "audit.list" {
        params: AuditListParams, result: AuditListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Checks that no entry of the audit log was changed or removed.
    Verify = "audit.verify" {
        params: AuditVerifyParams, result: AuditVerifyResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Exports the audit log in order, one page at a time, for checking elsewhere.
    Export = "audit.export" {
        params: AuditExportParams, result: AuditExportResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditListParams {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<crate::id::RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only entries before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditListResult {
    pub entries: Vec<AuditEntry>,
    #[serde(default)]
    pub more: bool,
    /// Damaged rows. They are not in `entries`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditVerifyParams {
    /// The hash of an entry seen earlier. It must still exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditVerifyResult {
    pub entries: u64,
    /// The hash of the last entry. Store it elsewhere to detect a truncated log later.
    pub head: String,
    /// The first problem and its position; missing if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AuditExportParams {
    /// Returns entries after this one.
    #[serde(default)]
    pub after: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditExportResult {
    pub entries: Vec<AuditEntry>,
    #[serde(default)]
    pub more: bool,
    /// Damaged rows. They are not in `entries`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}
