//! What callers say about decisions and rules, and what they are told.

use hob_bus::NewEvent;
use hob_wire::rule::{Rule, Terms};
use hob_wire::{RunId, SessionId};
use serde_json::Value;

/// What is written together: a decision's record, the event that tells of it, and the rule that
/// came of it.
#[derive(Clone, Debug, Default)]
pub struct Judgement {
    /// In this order; at least one.
    pub entries: Vec<NewEntry>,
    pub event: Option<NewEvent>,
    pub rule: Option<NewRule>,
}

/// An entry of the record; its place, time and hash are given when it is written.
#[derive(Clone, Debug, PartialEq)]
pub struct NewEntry {
    pub act: &'static str,
    pub by: String,
    pub session_key: Option<String>,
    pub run_id: Option<RunId>,
    pub tool: Option<String>,
    /// Bounded and masked by the caller.
    pub matter: Value,
}

/// A rule to store; its terms were checked by the caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRule {
    pub id: String,
    pub terms: Terms,
    pub created_by: String,
    /// Makes repeating this one rule.
    pub idempotency_key: Option<String>,
}

/// A rule as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptRule {
    pub rule: Rule,
    /// The session it is for.
    pub session: Option<SessionId>,
    /// Whether it was there before: nothing was written.
    pub duplicate: bool,
}
