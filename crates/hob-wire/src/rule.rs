//! Stored rules, and the record of what was decided by them and by people: words that the pure
//! machines share with the wire.

use crate::id::RunId;
use crate::work::{Reach, RuleDecision};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// A stored rule. It covers a call when everything it names fits; what it does not name fits any.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rule {
    pub id: String,
    #[serde(flatten)]
    pub terms: Terms,
    pub created_at: u64,
    /// The name of the token that made it.
    pub created_by: String,
    /// From then on it covers nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// The terms of a rule, once: as a request, where a mistyped field must not widen the rule, and as
/// part of an answer, where a field of a newer daemon is passed over.
macro_rules! terms {
    ($($(#[$about:meta])* $field:ident: $kind:ty,)*) => {
        /// What a rule covers and says.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        pub struct Terms {
            $($(#[$about])* pub $field: $kind,)*
        }

        /// A rule to store.
        #[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct AddParams {
            $($(#[$about])* pub $field: $kind,)*
            /// Makes repeating this request one rule.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub idempotency_key: Option<String>,
        }

        impl From<AddParams> for Terms {
            fn from(params: AddParams) -> Terms {
                Terms { $($field: params.$field,)* }
            }
        }

        impl From<Terms> for AddParams {
            fn from(terms: Terms) -> AddParams {
                AddParams { $($field: terms.$field,)* idempotency_key: None }
            }
        }
    };
}

terms! {
    /// A tool's name or alias; `*` at the end stands for any rest.
    tool: String,
    decision: RuleDecision,
    /// Which calls it outlives: those of a run, of a session, in a folder, or all.
    scope: Reach,
    /// Patterns of arguments, `*` for anything. In a command of a rule that allows, `*` stops at
    /// what a shell would understand as more than words, and in the program's name at a space, `/`
    /// and `=`. A rule that denies or asks looks at every program that the line names.
    #[serde(rename = "match", default, skip_serializing_if = "BTreeMap::is_empty")]
    matches: BTreeMap<String, String>,
    /// Every path of the call lies in this folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// Every host of the call is this one; `*.example.org` covers what is below it, `*` any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    /// The session's key or id; needed with scope `session`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    session_key: Option<String>,
    /// The run; needed with scope `run`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    run_id: Option<RunId>,
    /// The workspace of the calls; needed with scope `folder`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    folder: Option<String>,
    /// Only sessions whose key fits this; `*` at the end stands for any rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sessions: Option<String>,
    /// Only sessions of this kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    /// Only runs that came by this channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    channel: Option<String>,
    /// How long it lasts; until it is removed when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_ms: Option<u64>,
}

impl Terms {
    /// A rule about every call of a tool; what more it names narrows it.
    pub fn new(tool: impl Into<String>, decision: RuleDecision, scope: Reach) -> Terms {
        Terms {
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

/// One entry. Its hash covers everything else in it, and `previous` the entry before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Counts from 1 without gaps.
    pub seq: u64,
    pub at: u64,
    /// What was done: `allowed`, `denied`, `asked`, `rule-added`, `rule-removed`, `own-act`,
    /// `tool-tier-set`, `tool-tier-reset`.
    pub act: String,
    /// Who did it: a rule, a token's name, `deadline`, `unattended`.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What was decided about: arguments within bounds, the digest, the rule.
    pub matter: Value,
    /// The hash of the entry before, of zeros for the first.
    pub previous: String,
    pub hash: String,
}
