//! `run.timeline`: what happened in a run, in order.

use crate::content::TokenUsage;
use crate::damage::DamagedRow;
use crate::id::RunId;
use crate::method::{CliExposure, methods};
use crate::rooms::permission::PermissionDenial;
pub use crate::work::{RunEndCause, ToolCallState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "agent";
    /// Shows a run in order: model calls, tool calls, waits and questions.
    Timeline = "run.timeline" {
        params: RunTimelineParams, result: RunTimeline, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RunTimelineParams {
    pub run_id: RunId,
    /// Only rows after this `number`: the `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<u64>,
    /// The most rows to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of a timeline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunTimeline {
    pub run_id: RunId,
    pub session_key: String,
    pub rows: Vec<TimelineRow>,
    /// The `after` of the next page; missing on the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    /// Damaged data of the run. The timeline ends before it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

/// One thing that happened. Only `number`, `kind`, `at` and `state` are in every row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineRow {
    /// Its place, from 1. A row keeps its number; a row of a run in progress may gain its end.
    pub number: u64,
    pub kind: TimelineKind,
    /// The time of its beginning.
    pub at: u64,
    /// The time of its end; missing while it lasts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<u64>,
    pub state: TimelineState,
    /// The step of the run, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<u32>,
    /// A model call: above 1, it repeats a lost one of the same step. A tool call: the number of
    /// times that it was begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The model that was asked, or that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The tokens of a model call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<TokenUsage>,
    /// What it cost, in millionths of a dollar; missing if the price is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub micro_dollars: Option<u64>,
    /// The tool call that it is, or that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// The state of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_state: Option<ToolCallState>,
    /// The permission of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<TimelineApproval>,
    /// The time at which a tool call was begun, after its permission.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begun_at: Option<u64>,
    /// The denial of a tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub denial: Option<PermissionDenial>,
    /// The cause of the end of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<RunEndCause>,
    /// One line: the arguments of a call, an added text, a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// One line: the beginning of what a tool call returned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub result: Option<String>,
}

/// The kind of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelineKind {
    /// The run waited for its turn.
    Queue,
    /// A model was called.
    Model,
    /// A tool was called.
    Call,
    /// A person was asked if an interrupted call happened.
    Doubt,
    /// A budget was used up, and a person was asked for more.
    Budget,
    /// A person added a text.
    Steer,
    /// Runs that this one started cost this much more.
    Children,
    /// hob was stopped, or ended without a stop, until it resumed the run.
    Restart,
    /// A note for people: omitted turns, a fallback model, what a stop could not undo.
    Note,
    /// The end of the run.
    End,
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum TimelineState {
    /// It has not ended.
    Open,
    Done,
    /// It ended with an error.
    Failed,
    Denied,
    /// It was stopped, or never began.
    Cancelled,
    /// A model call that ended without an answer; another attempt may follow.
    Lost,
    /// A model call that was not sent: the budget did not allow it, or hob was stopping.
    Unsent,
}

/// The permission of a tool call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TimelineApproval {
    pub asked_at: u64,
    /// The time of the decision; missing while somebody is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_at: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<bool>,
    /// True if a person was asked.
    pub person: bool,
    /// Who or what decided, as the audit record names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
}
