//! `permission.*`: rules, questions and decisions about the tool calls of models. No run, tool or
//! hook can answer a question.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{CliExposure, methods};
pub use crate::rule::{PermissionAddParams, PermissionDenial, PermissionRule, RuleTerms};
pub use crate::work::{AnswerReach, PermissionDecision, PermissionMode, RuleDecision};
use crate::work::{Tier, ToolContext, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

methods! { "permissions";
    /// Lists the stored rules, newest first.
    List = "permission.list" {
        params: PermissionListParams, result: PermissionListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Stores a rule for future calls.
    Add = "permission.add" {
        params: PermissionAddParams, result: PermissionRule, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Removes a stored rule.
    Remove = "permission.remove" {
        params: PermissionRemoveParams, result: PermissionRule, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Shows the decision for a call and the rule behind it, without asking anybody.
    Check = "permission.check" {
        params: PermissionCheckParams, result: PermissionCheckResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Answers a question. The first valid answer counts.
    Answer = "permission.answer" {
        params: PermissionAnswerParams, result: PermissionAnswer, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Decides a call by rule, or asks a person and waits. An allowed call gets a ticket.
    Ask = "permission.ask" {
        params: PermissionAskParams, result: PermissionRuling, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Redeems a ticket, once, for exactly the call it was issued for.
    Redeem = "permission.redeem" {
        params: PermissionRedeemParams, result: PermissionRedeemResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Withdraws the questions of a run that has ended. Calls that wait for them are denied.
    Withdraw = "permission.withdraw" {
        params: PermissionWithdrawParams, result: PermissionWithdrawResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Marks this connection as one that shows questions to a person, until it closes.
    /// While there is such a connection, questions have no deadline. When the last one closes, each
    /// question's full time starts. Needs a WebSocket or the unix socket.
    Attend = "permission.attend" {
        params: PermissionAttendParams, result: PermissionAttendResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Lists the unanswered questions.
    Pending = "permission.pending" {
        params: PermissionPendingParams, result: PermissionPendingResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

events! { "permissions";
    /// A call waits for a person's decision.
    PermissionRequested = "permission.requested" {
        payload: PermissionQuestion, scope: Read, durability: Logged,
    }
    /// A question was answered or withdrawn, or its deadline passed.
    PermissionAnswered = "permission.answered" {
        payload: PermissionAnswer, scope: Read, durability: Logged,
    }
}

/// The value of `by` for a call that can never run. Nobody was asked about it, and its reason is an
/// answer to the model, not a denial.
pub const BY_CANNOT_RUN: &str = "rule:cannot-run";

/// A call that needs a decision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionAskParams {
    pub tool: ToolSpec,
    pub args: Value,
    pub context: ToolContext,
    /// The highest allowed tier. A call above it is denied without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    /// The digest of an earlier approval, from the run's journal. After a restart the same call is
    /// not asked about again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// The channel of the run's task. The channel's ceiling also applies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// True if nobody can be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRuling {
    pub decision: PermissionDecision,
    /// The ticket for `tool.execute`, if allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// The decider: a rule, a token's name, `deadline`, `unattended` if nobody could be asked,
    /// `rule:cannot-run` if the call can never run, or `withdrawn` if its run ended.
    pub by: String,
    /// The digest that the ticket is bound to. The journal stores it for `approved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The reason for a denial, for the model and for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that would have allowed it, if nobody could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<RuleTerms>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionListParams {
    /// Only rules for this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only rules that could cover calls of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Returns rules after the one with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionListResult {
    /// The mode for calls that no rule covers.
    pub mode: PermissionMode,
    pub rules: Vec<PermissionRule>,
    /// Notes about rules, keyed by id, such as that a rule covers less than it once did.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// True if there are more: ask again with `after` set to the last one.
    #[serde(default)]
    pub more: bool,
    /// Damaged rules. They are not in `rules`. While there is one, every call that is not denied is
    /// asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRemoveParams {
    /// The rule's id, or a unique prefix of it.
    pub id: String,
}

/// A hypothetical call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionCheckParams {
    pub tool: String,
    #[serde(default)]
    pub args: Value,
    #[serde(default)]
    pub context: ToolContext,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionCheckResult {
    pub decision: RuleDecision,
    /// The deciding rule: `rule:ID`, or the name of a built-in rule.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionRedeemParams {
    pub ticket: String,
    pub tool: String,
    /// The hash of the tool's current declaration. A tool that changed since the question is not
    /// run.
    pub fingerprint: String,
    pub args: Value,
    pub context: ToolContext,
    /// The current state of what the call would change, such as a file's hash. If it changed since
    /// the question, the ticket is not valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionRedeemResult {
    /// The digest that the ticket was bound to.
    pub digest: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionWithdrawParams {
    pub run_id: RunId,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionWithdrawResult {
    /// The number of withdrawn questions.
    pub questions: u32,
}

/// A question to a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionQuestion {
    pub id: String,
    pub session_key: String,
    pub run_id: RunId,
    /// The id of the call within its run.
    pub call_id: String,
    pub tool: String,
    pub args: Value,
    pub tier: Tier,
    /// The question as a sentence. Control characters are escaped.
    pub sentence: String,
    /// The rules that an answer beyond `once` would store, by scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<RuleTerms>,
    /// A description of exactly what will run: argv, folder, environment, diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The hash that the answer is bound to. If the call differs at run time, a new question is
    /// asked.
    pub digest: String,
    pub asked_at: u64,
    /// The time at which it is denied without an answer, unless it is `attended`.
    pub deadline_at: u64,
    /// True if a connection shows it to a person (`permission.attend`). It then has no deadline;
    /// its full time starts when the last such connection closes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attended: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionAttendParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAttendResult {
    /// Connections that show questions to a person, including this one.
    pub connections: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionPendingParams {
    /// Only questions of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionPendingResult {
    pub questions: Vec<PermissionQuestion>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PermissionAnswerParams {
    pub id: String,
    pub decision: PermissionDecision,
    /// The reach of the answer; `once` when missing. A longer reach stores a rule for similar
    /// calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<AnswerReach>,
    /// The digest of the shown question. An answer with another digest is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PermissionAnswer {
    pub id: String,
    pub session_key: String,
    pub run_id: RunId,
    pub decision: PermissionDecision,
    #[serde(default)]
    pub scope: AnswerReach,
    /// The decider: a token's name, `deadline`, or `withdrawn` if its run ended.
    pub by: String,
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
