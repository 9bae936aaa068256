//! `permission.*`: what a model's call needs before it runs. No run, tool or hook can answer.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{Cli, methods};
pub use crate::rule::{AddParams, Rule, Terms};
pub use crate::work::{Decision, Mode, Reach, RuleDecision};
use crate::work::{Tier, ToolContext, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

methods! { "permissions";
    /// Lists the stored rules, the newest first.
    List = "permission.list" {
        params: ListParams, result: Rules, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Stores a rule for calls to come.
    Add = "permission.add" {
        params: AddParams, result: Rule, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Takes a stored rule away.
    Remove = "permission.remove" {
        params: RemoveParams, result: Rule, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Says what would be decided of a call, and by which rule; asks nobody.
    Check = "permission.check" {
        params: CheckParams, result: Checked, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Answers a question; the first valid answer counts.
    Answer = "permission.answer" {
        params: AnswerParams, result: Answered, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Decides a call by rule, or asks a person and waits; an allowed one gets a ticket.
    Ask = "permission.ask" {
        params: AskParams, result: Ruling, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Takes up a ticket, once, for exactly the call it was given for.
    Redeem = "permission.redeem" {
        params: RedeemParams, result: Redeemed, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Takes back the questions of a run that is over; whoever waits for one is denied.
    Withdraw = "permission.withdraw" {
        params: WithdrawParams, result: Withdrawn, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Marks this connection as one that shows questions to a person, until it closes.
    /// While there is one, questions have no deadline; when the last one closes, each gets its whole
    /// time from then on. Needs a connection that stays: a WebSocket or the unix socket.
    Attend = "permission.attend" {
        params: AttendParams, result: Attended, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Lists the questions that wait for an answer.
    Pending = "permission.pending" {
        params: PendingParams, result: Questions, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
}

events! { "permissions";
    /// A call waits for a person's yes or no.
    PermissionRequested = "permission.requested" {
        payload: Question, scope: Read, durability: Logged,
    }
    /// A question was answered, was taken back, or its deadline passed.
    PermissionAnswered = "permission.answered" {
        payload: Answered, scope: Read, durability: Logged,
    }
}

/// The decider of a ruling about a call that can never run: nobody was asked about it, and its reason
/// is an answer to the model, not a denial.
pub const BY_CANNOT_RUN: &str = "rule:cannot-run";

/// A call that needs a decision.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AskParams {
    pub tool: ToolSpec,
    pub args: Value,
    pub context: ToolContext,
    /// The farthest this call may reach; beyond it, it is denied without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Tier>,
    /// The digest of an earlier yes, as the run's journal has it: the very same call, taken up
    /// after a restart, is not asked again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved: Option<String>,
    /// The channel its run's task came by; its ceiling narrows what is allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
    /// Nobody is there to be asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unattended: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    pub decision: Decision,
    /// For `tool.execute`, when allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// Who decided: a rule, a token's name, `deadline`, `unattended` when nobody could be asked,
    /// [`BY_CANNOT_RUN`] when there was nothing to ask, or `withdrawn` with its run.
    pub by: String,
    /// What the ticket is bound to; a journal keeps it as `approved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why it was denied, for the model and the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The rule that would have allowed it, where nobody could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Terms>,
}

/// A call that was not allowed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Denial {
    /// The call's id within its run.
    pub call_id: String,
    pub tool: String,
    /// Who decided, as in a ruling; `unattended` when nobody could be asked.
    pub by: String,
    pub reason: String,
    /// The rule that would have allowed it, where nobody could be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grant: Option<Terms>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Only those for this tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Only those that could cover calls of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    /// Go on after this rule's id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// What the house does with what no rule covers.
    pub mode: Mode,
    pub rules: Vec<Rule>,
    /// What to know of some of them, by their ids: that one covers less than it once did.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub notes: BTreeMap<String, String>,
    /// There are more: ask again after the last one.
    #[serde(default)]
    pub more: bool,
    /// Damaged rules, which are left out above. While there is one, every call that is not denied
    /// is asked about.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveParams {
    /// The rule's id, or the first characters of it if they fit one rule only.
    pub id: String,
}

/// A call that nobody makes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckParams {
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
pub struct Checked {
    pub decision: RuleDecision,
    /// The rule that decides: `rule:ID`, or the name of a built-in one.
    pub by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RedeemParams {
    pub ticket: String,
    pub tool: String,
    /// The hash of what the tool declares now: a tool that changed since the question is not run.
    pub fingerprint: String,
    pub args: Value,
    pub context: ToolContext,
    /// What the tool sees now of what it would change: a file that changed since the question is
    /// another call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Redeemed {
    /// The digest it was bound to.
    pub digest: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WithdrawParams {
    pub run_id: RunId,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Withdrawn {
    /// The questions that were open.
    pub questions: u32,
}

/// What a person is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Question {
    pub id: String,
    pub session_key: String,
    pub run_id: RunId,
    /// The call's id within its run.
    pub call_id: String,
    pub tool: String,
    pub args: Value,
    pub tier: Tier,
    /// The question in a sentence, control characters escaped.
    pub sentence: String,
    /// The rules that an answer beyond `once` would store, by scope.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Terms>,
    /// Exactly what will run, for showing: argv, folder, environment, diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The hash the answer is bound to; any difference at run time asks again.
    pub digest: String,
    pub asked_at: u64,
    /// Without an answer by then it is denied, unless it is `attended`.
    pub deadline_at: u64,
    /// A connection shows it to a person (`permission.attend`), so it has no deadline now: its whole
    /// time begins when the last such connection closes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub attended: bool,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AttendParams {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Attended {
    /// Connections that show questions to a person now, this one included.
    pub connections: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PendingParams {
    /// Only those of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Questions {
    pub questions: Vec<Question>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AnswerParams {
    pub id: String,
    pub decision: Decision,
    /// How far the answer reaches; `once` when missing. Beyond that it stores a rule for like
    /// calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<Reach>,
    /// The digest shown; an answer to something else is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Answered {
    pub id: String,
    pub session_key: String,
    pub run_id: RunId,
    pub decision: Decision,
    #[serde(default)]
    pub scope: Reach,
    /// Who answered: a token's name, `deadline`, or `withdrawn` with its run.
    pub by: String,
}

#[cfg(test)]
#[path = "permission_tests.rs"]
mod tests;
