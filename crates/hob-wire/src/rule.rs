//! Permission rules and audit entries. The pure machines share these types with the wire.

use crate::id::RunId;
use crate::work::{AnswerReach, RuleDecision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A stored rule. It covers a call if all its conditions match. A missing condition matches any
/// call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRule {
    pub id: String,
    #[serde(flatten)]
    pub terms: RuleTerms,
    pub created_at: u64,
    /// The name of the token that created it.
    pub created_by: String,
    /// The time from which it covers nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// Declares the terms of a rule once, in two forms. The request form refuses unknown fields, so
/// that a mistyped field cannot widen the rule. The answer form ignores fields of a newer daemon.
macro_rules! terms {
    ($($(#[$about:meta])* $field:ident: $kind:ty,)*) => {
        /// The conditions and the decision of a rule.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct RuleTerms {
            $($(#[$about])* pub $field: $kind,)*
        }

        /// A rule to store.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct PermissionAddParams {
            $($(#[$about])* pub $field: $kind,)*
            /// A repeated request with the same key is the same rule.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub idempotency_key: Option<String>,
        }

        impl From<PermissionAddParams> for RuleTerms {
            fn from(params: PermissionAddParams) -> RuleTerms {
                RuleTerms { $($field: params.$field,)* }
            }
        }

        impl From<RuleTerms> for PermissionAddParams {
            fn from(terms: RuleTerms) -> PermissionAddParams {
                PermissionAddParams { $($field: terms.$field,)* idempotency_key: None }
            }
        }
    };
}

terms! {
    /// A tool's name or alias. A trailing `*` matches any suffix.
    tool: String,
    decision: RuleDecision,
    /// The reach of the rule: one run, one session, one folder, or all calls.
    scope: AnswerReach,
    /// Patterns for arguments; `*` matches anything. In the command of an allow rule, `*` does not
    /// match shell syntax, and in the program's name it does not match spaces, `/` and `=`. A deny
    /// or ask rule is checked against every program in the command line.
    #[serde(rename = "match", default, skip_serializing_if = "BTreeMap::is_empty")]
    matches: BTreeMap<String, String>,
    /// All paths of the call must be in this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// All hosts of the call must be this one. `*.example.org` matches its subdomains, `*` any
    /// host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The session's key or id; required with scope `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_key: Option<String>,
    /// The run; required with scope `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    /// The workspace of the calls; required with scope `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Only sessions whose key matches this. A trailing `*` matches any suffix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<String>,
    /// Only sessions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Only runs from this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// The time until it expires; it does not expire when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_ms: Option<u64>,
}

impl RuleTerms {
    /// Creates the terms of a rule for all calls of a tool. Further conditions narrow it.
    pub fn new(tool: impl Into<String>, decision: RuleDecision, scope: AnswerReach) -> RuleTerms {
        RuleTerms {
            tool: tool.into(),
            decision,
            scope,
            matches: BTreeMap::new(),
            path: None,
            host: None,
            session_key: None,
            run_id: None,
            folder: None,
            sessions: None,
            kind: None,
            channel: None,
            expires_ms: None,
        }
    }
}

/// A denied call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionDenial {
    /// The id of the call within its run.
    pub call_id: String,
    pub tool: String,
    /// The decider, as in the result of `permission.ask`; `unattended` if nobody could be asked.
    pub by: String,
    pub reason: String,
    /// The rule that would have allowed it, if nobody could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<RuleTerms>,
}

/// An entry of the audit log. Its hash covers all other fields, including `previous`, the hash of
/// the previous entry.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// The position, from 1 without gaps.
    pub seq: u64,
    pub at: u64,
    /// The action: `allowed`, `denied`, `asked`, `rule-added`, `rule-removed`, `own-act`,
    /// `tool-tier-set`, `tool-tier-reset`.
    pub act: String,
    /// The decider: a rule, a token's name, `deadline`, `unattended`.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The subject of the decision: truncated arguments, the digest, the rule.
    pub matter: Value,
    /// The hash of the previous entry; zeros for the first.
    pub previous: String,
    pub hash: String,
}
