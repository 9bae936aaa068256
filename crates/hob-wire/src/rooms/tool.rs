//! `tool.*`: the tools, their declarations and their execution.
//!
//! A tool is built in or belongs to a service on the bus. An external service offers its tools with
//! `tool.offer` and answers `NAME.tool_execute` (params [`ToolExecuteParams`], result
//! [`ToolExecuteResult`]) and, for probeable tools, `NAME.tool_probe` (params
//! [`ToolExecuteParams`], result [`ToolProbeResult`]). If it registers `NAME.tool_cancel` (params
//! [`ToolCancelParams`]), it is called when a call must stop.

use crate::content::ContentPart;
use crate::event::events;
use crate::method::{CliExposure, methods};
pub use crate::work::{NeedKind, ResourceNeed, Tier, ToolContext, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "tools";
    /// Lists the available tools.
    List = "tool.list" {
        params: ToolListParams, result: ToolListResult, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&[]),
    }
    /// Shows the declaration of a tool.
    Describe = "tool.describe" {
        params: ToolDescribeParams, result: ToolSpec, scope: Read, effect: Pure,
        cli: CliExposure::Verb(&["name"]),
    }
    /// Runs a tool. A call made for a model needs the ticket of its approval.
    Execute = "tool.execute" {
        params: ToolExecuteParams, result: ToolExecuteResult, scope: Control, effect: Opaque,
        cli: CliExposure::Hidden,
    }
    /// Cancels a running call. Answers when it has ended.
    Cancel = "tool.cancel" {
        params: ToolCancelParams, result: ToolCancelResult, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Checks if an earlier call happened.
    Probe = "tool.probe" {
        params: ToolExecuteParams, result: ToolProbeResult, scope: Control, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows what a call would do now. Changes nothing.
    Preview = "tool.preview" {
        params: ToolExecuteParams, result: ToolPreviewResult, scope: Control, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Undoes the file changes of a run, newest first. Files that changed since are left alone.
    Undo = "tool.undo" {
        params: ToolUndoParams, result: ToolUndoResult, scope: Control, effect: Keyed,
        cli: CliExposure::Verb(&["runId"]),
    }
    /// Sets the tier of a tool of an external service, and trusts its declared effect.
    ///
    /// Until then the tool counts as `external` and its calls as `opaque`, whatever it declares.
    /// The tier is valid until the service changes the declaration, or until `reset`.
    SetTier = "tool.tier" {
        params: ToolSetTierParams, result: OutsideTool, scope: Admin, effect: Keyed,
        cli: CliExposure::Verb(&["name", "tier"]),
    }
    /// Offers the tools of a registered service until it disconnects.
    /// Each tool counts as `external` and `opaque` until an admin sets its tier with `tool.tier`.
    Offer = "tool.offer" {
        params: ToolOfferParams, result: ToolOfferResult, scope: Read, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

events! { "tools";
    /// A tool began to run.
    ToolStarted = "tool.started" {
        payload: ToolStartedPayload, scope: Read, durability: Volatile,
    }
    /// A piece of a running tool's output. Its result has the whole output.
    ToolOutput = "tool.output" {
        payload: ToolOutputPayload, scope: Read, durability: Volatile,
    }
    /// A tool call has ended. `run.tool` is the durable record of a run's calls.
    ToolFinished = "tool.finished" {
        payload: ToolFinishedPayload, scope: Read, durability: Volatile,
    }
}

/// The call that an event belongs to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCallRef {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<crate::id::RunId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    pub tool: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolStartedPayload {
    #[serde(flatten)]
    pub call: ToolCallRef,
    pub args: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputPayload {
    #[serde(flatten)]
    pub call: ToolCallRef,
    pub stream: OutputStream,
    /// The place of `text` in the call's output, in bytes. Both streams are counted together, in
    /// the order of the events, with what was dropped.
    #[serde(default)]
    pub offset: u64,
    pub text: String,
    /// Pieces that were dropped before this one, because they came too fast.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dropped: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OutputStream {
    Stdout,
    Stderr,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolFinishedPayload {
    #[serde(flatten)]
    pub call: ToolCallRef,
    pub is_error: bool,
    pub duration_ms: u64,
    /// The length of the output that `tool.output` told of, in bytes, with what was dropped.
    #[serde(default)]
    pub output_bytes: u64,
    /// The reason why it did not answer: `stopped`, `deadline`, or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolListParams {
    /// The `revision` of the caller's list. If nothing changed, the list is not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolListResult {
    /// Empty if the caller's list is up to date.
    pub tools: Vec<ToolSpec>,
    /// Changes whenever a tool is added, removed or changed.
    #[serde(default)]
    pub revision: String,
    /// The tools of external services with their declared tiers and effects. `tools` has the
    /// effective ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideTool>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolSetTierParams {
    /// The name of the tool.
    pub name: String,
    /// The tier: `read`, `write`, `exec` or `external`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Removes the set tier. The declaration is no longer trusted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
}

/// A tool of an external service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutsideTool {
    pub name: String,
    /// The service that offers it.
    pub service: String,
    /// The declared tier. It is not trusted until an admin sets a tier.
    pub declared_tier: Tier,
    pub declared_effect: crate::work::Idempotency,
    /// The effective tier.
    pub tier: Tier,
    /// The name of the token that set the tier; missing if it was not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolDescribeParams {
    /// The tool's name or alias.
    pub name: String,
    /// Waits a while for a tool whose service is disconnected.
    #[serde(default)]
    pub wait: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolExecuteParams {
    pub name: String,
    pub args: Value,
    #[serde(default)]
    pub context: ToolContext,
    /// The approval of this call: single use, bound to name, arguments and context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolExecuteResult {
    pub content: Vec<ContentPart>,
    /// True if the tool ran and reported a failure. The model sees it.
    #[serde(default)]
    pub is_error: bool,
    /// More data for programs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// The call to cancel.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolCancelParams {
    pub run_id: crate::id::RunId,
    pub call_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolCancelResult {
    /// True if such a call was running.
    pub stopped: bool,
}

/// The result of checking if an earlier call happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "happened")]
pub enum ToolProbeResult {
    /// It happened, with this outcome.
    Yes { outcome: ToolExecuteResult },
    /// It did not happen. It may be run.
    No,
    /// The tool cannot tell.
    Unknown { known: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolOfferParams {
    /// The registered service that runs them.
    pub service: String,
    pub tools: Vec<ToolSpec>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOfferResult {
    /// The names of the offered tools.
    pub names: Vec<String>,
}

/// The preview of a call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolPreviewResult {
    /// The change as a diff or a description; not escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The state that the call depends on, such as the hash of a file. An approval is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// The reason why the call would fail, if it would.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_fail: Option<String>,
    /// The reason why the call can never run, if so: its arguments do not fit its schema, or name
    /// something that no call may access. Nobody is asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_run: Option<String>,
    /// True if a person is always asked, regardless of rules and mode: the call changes a file that
    /// another program may run automatically.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_always: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolUndoParams {
    /// The run whose changes to undo.
    pub run_id: crate::id::RunId,
}

/// The undone changes and those that were kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolUndoResult {
    /// Paths that are now as they were before the run, in the order they were undone.
    pub restored: Vec<UndoneChange>,
    /// Paths that were left as they are, each with the reason.
    pub kept: Vec<UndoneChange>,
    /// Actions of the run that cannot be undone here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneChange {
    /// The workspace of the run.
    pub workspace: String,
    /// The path below the workspace.
    pub path: String,
    /// The action, or the reason why there was none.
    pub what: String,
}
