//! The types of decisions and rules.

use hob_bus::NewEvent;
use hob_wire::rule::{PermissionRule, RuleTerms};
use hob_wire::{RunId, SessionId};
use serde_json::Value;

/// A decision with everything that is written together: its audit entries, its event and its rule.
#[derive(Clone, Debug, Default)]
pub struct AuditedDecision {
    /// In this order; at least one.
    pub entries: Vec<NewAuditEntry>,
    pub event: Option<NewEvent>,
    pub rule: Option<NewRule>,
}

/// An audit entry to append. Its number, time and hash are set when it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewAuditEntry {
    pub act: &'static str,
    pub by: String,
    pub session_key: Option<String>,
    pub run_id: Option<RunId>,
    pub tool: Option<String>,
    /// Bounded and masked by the caller.
    pub matter: Value,
}

/// A rule to store. The caller has validated its terms.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRule {
    pub id: String,
    pub terms: RuleTerms,
    pub created_by: String,
    /// Makes a repeat return the same rule.
    pub idempotency_key: Option<String>,
}

/// A rule as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredRule {
    pub rule: PermissionRule,
    /// The session it applies to.
    pub session: Option<SessionId>,
    /// True if it was stored before: nothing was written.
    pub duplicate: bool,
}
