//! `audit.*`: the hash-chained record of every decision. Written with the decision, never changed.

use crate::damage::DamagedRow;
use crate::method::{Cli, methods};
pub use crate::rule::AuditEntry;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "audit";
    /// Lists what was decided, the newest first.
    List = "audit.list" {
        params: ListParams, result: Entries, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Checks that nothing of the record was changed or taken out.
    Verify = "audit.verify" {
        params: VerifyParams, result: Verified, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Gives the record in order, a page at a time, as it can be checked elsewhere.
    Export = "audit.export" {
        params: ExportParams, result: Page, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
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
pub struct Entries {
    pub entries: Vec<AuditEntry>,
    #[serde(default)]
    pub more: bool,
    /// Damaged rows, which are left out above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VerifyParams {
    /// The hash of an entry seen earlier: it must still be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Verified {
    pub entries: u64,
    /// The hash of the last entry: keep it elsewhere, and a record cut short is noticed.
    pub head: String,
    /// What is wrong and where, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExportParams {
    /// Go on after this entry.
    #[serde(default)]
    pub after: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Page {
    pub entries: Vec<AuditEntry>,
    #[serde(default)]
    pub more: bool,
    /// Damaged rows, which are left out above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}
