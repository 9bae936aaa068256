//! `permission.*`: what a model's call needs before it runs. No run, tool or hook can answer.

use crate::event::events;
use crate::id::RunId;
use crate::method::{Cli, methods};
pub use crate::work::{Decision, Reach};
use crate::work::{Tier, ToolContext, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "permissions";
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
    /// Lists the questions that wait for an answer.
    Pending = "permission.pending" {
        params: PendingParams, result: Questions, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
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
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Ruling {
    pub decision: Decision,
    /// For `tool.execute`, when allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
    /// Who decided: a rule, a token's name, `deadline`, or `withdrawn` with its run.
    pub by: String,
    /// What the ticket is bound to; a journal keeps it as `approved`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// Why it was denied, for the model and the person.
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
    /// Exactly what will run, for showing: argv, folder, environment, diff.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<String>,
    /// The hash the answer is bound to; any difference at run time asks again.
    pub digest: String,
    pub asked_at: u64,
    /// Without an answer by then it is denied.
    pub deadline_at: u64,
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
    /// How far an allowance reaches; `once` when missing.
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
