//! Permissions. Pure: a call goes in; a rule's decision or a question for a person comes out. An
//! answer becomes a ticket, and a ticket becomes an [`Approved`] call, once.
//!
//! - [`decide`]: the decision about a call; [`RuleIndex`] holds the stored rules
//! - `call_facts`, `paths_and_hosts`, `pattern`, `program_place`, `refusal_pattern`,
//!   `compiled_rule`: match rules against calls
//! - [`check_terms`], [`rule_note`]: validation of a rule, and a note about it
//! - [`offers`], [`offer`], [`suggest_grant`]: the rule that an answer would store
//! - [`approval_sentence`], [`call_preview`], [`change_preview`]: the texts a person sees, with
//!   nothing hidden in them
//! - [`PendingApprovals`]: open questions and unused tickets
//! - [`PreparedCall`], [`Approved`]: a call, and the proof that it may run
//! - [`AuditChain`], [`entry_hash`], [`to_audit_value`]: the audit record
//!
//! Invariants:
//! - an [`Approved`] comes only from a ticket that was redeemed for exactly these bytes, or from a
//!   person's own action; nothing else can create one
//! - nothing beyond a ceiling is allowed; a rule that denies wins over every other
//! - the first valid answer counts, and none after the deadline; a ticket is redeemed once
//! - a digest covers the tool's name and declaration, the arguments, the context and the state that
//!   the tool would change: any difference at run time makes it another call

mod approval_text;
mod approved;
mod audit;
mod call_facts;
mod canonical_json;
mod compiled_rule;
mod decision;
#[cfg(test)]
mod fixture_tests;
mod offers;
mod paths_and_hosts;
mod pattern;
mod pending_approvals;
mod program_place;
mod refusal_pattern;
mod rule_index;

pub use approval_text::{approval_sentence, call_preview, change_preview};
pub use approved::{Approved, PreparedCall};
pub use audit::{AUDIT_ROOT, AuditChain, entry_hash, to_audit_value, verify_audit};
pub use canonical_json::{canonical_json, tool_fingerprint};
pub use compiled_rule::{check_terms, rule_note};
pub use decision::{
    DecisionContext, PermissionRequest, RuleVerdict, TierCeilings, call_tier,
    can_fail_without_asking, decide, is_unattended,
};
pub use offers::{offer, offers, suggest_grant};
pub use pending_approvals::{
    AnswerError, ApprovalLimits, ApprovalsFull, AskOutcome, PendingApprovals, QuestionDeadline,
    QuestionSubject, SettledQuestion, TicketError,
};
pub use rule_index::RuleIndex;
