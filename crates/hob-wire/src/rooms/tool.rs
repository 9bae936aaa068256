//! `tool.*`: what a tool declares, and how one is run.
//!
//! A tool lives in the house or in any service on the bus. An outside service offers its tools
//! with `tool.offer` and answers two methods of its own: `NAME.tool_execute` (params
//! [`ExecuteParams`], result [`Executed`]) and, for probeable tools, `NAME.tool_probe` (params
//! [`ExecuteParams`], result [`Probed`]). If it registers `NAME.tool_cancel` (params
//! [`CancelParams`]) it is told when a call must stop.

use crate::content::Part;
use crate::event::events;
use crate::method::{Cli, methods};
pub use crate::work::{Need, NeedKind, Tier, ToolContext, ToolSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

methods! { "tools";
    /// Lists the tools there are.
    List = "tool.list" {
        params: ListParams, result: Tools, scope: Read, effect: Pure,
        cli: Cli::Verb(&[]),
    }
    /// Shows what one tool declares.
    Describe = "tool.describe" {
        params: DescribeParams, result: ToolSpec, scope: Read, effect: Pure,
        cli: Cli::Verb(&["name"]),
    }
    /// Runs a tool. A call made for a model needs the ticket of its approval.
    Execute = "tool.execute" {
        params: ExecuteParams, result: Executed, scope: Control, effect: Opaque,
        cli: Cli::Hidden,
    }
    /// Stops a call under way; answers when it has ended.
    Cancel = "tool.cancel" {
        params: CancelParams, result: Cancelled, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Asks whether an earlier call happened.
    Probe = "tool.probe" {
        params: ExecuteParams, result: Probed, scope: Control, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Shows what a call would do now, and what that rests on; changes nothing.
    Preview = "tool.preview" {
        params: ExecuteParams, result: Previewed, scope: Control, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Undoes what a run changed in files, the newest change first; leaves what was changed since.
    Undo = "tool.undo" {
        params: UndoParams, result: Undone, scope: Control, effect: Keyed,
        cli: Cli::Verb(&["runId"]),
    }
    /// Sets how far a tool of an outside service reaches, and believes what it declares of repeats.
    ///
    /// Until then such a tool counts as `external` and its calls as `opaque`, whatever it declares.
    /// Holds until its service declares it differently, or `reset` takes it back.
    SetTier = "tool.tier" {
        params: SetTierParams, result: OutsideTool, scope: Admin, effect: Keyed,
        cli: Cli::Verb(&["name", "tier"]),
    }
    /// Offers the tools of a registered service; they go when it goes.
    /// Each counts as `external` and `opaque` until an admin sets its tier with `tool.tier`.
    Offer = "tool.offer" {
        params: OfferParams, result: Offered, scope: Read, effect: Keyed,
        cli: Cli::Hidden,
    }
}

events! { "tools";
    /// A tool began to run.
    ToolStarted = "tool.started" {
        payload: ToolStartedPayload, scope: Read, durability: Volatile,
    }
    /// A piece of what a running tool prints; the whole is in its result.
    ToolOutput = "tool.output" {
        payload: ToolOutputPayload, scope: Read, durability: Volatile,
    }
    /// A tool has ended; `run.tool` is the durable record of a run's calls.
    ToolFinished = "tool.finished" {
        payload: ToolFinishedPayload, scope: Read, durability: Volatile,
    }
}

/// Which call an event is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallOf {
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
    pub of: CallOf,
    pub args: Value,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolOutputPayload {
    #[serde(flatten)]
    pub of: CallOf,
    pub stream: OutputStream,
    pub text: String,
    /// Pieces that were left out before this one, because they came too fast.
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
    pub of: CallOf,
    pub is_error: bool,
    pub duration_ms: u64,
    /// Why it did not answer: `stopped`, `deadline`, or the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// The `revision` of a list the caller has: if nothing changed since, it is not sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    /// Empty when the caller's list is still true.
    pub tools: Vec<ToolSpec>,
    /// Another one whenever a tool comes, goes or changes.
    #[serde(default)]
    pub revision: String,
    /// Those that services outside offer, with what they declare; the tools above have what counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<OutsideTool>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SetTierParams {
    /// The tool's own name.
    pub name: String,
    /// How far it reaches: `read`, `write`, `exec` or `external`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tier: Option<Tier>,
    /// Take back what was set: nothing it declares is believed any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reset: bool,
}

/// A tool that a service outside offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OutsideTool {
    pub name: String,
    /// The service that offers it.
    pub service: String,
    /// What it declares of itself; not believed until an admin sets a tier.
    pub declared_tier: Tier,
    pub declared_effect: crate::work::Effect,
    /// The tier that counts.
    pub tier: Tier,
    /// Who set that tier; missing when nobody did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DescribeParams {
    /// The tool's name or alias.
    pub name: String,
    /// Wait a while for a tool whose service is gone or has not come back yet.
    #[serde(default)]
    pub wait: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExecuteParams {
    pub name: String,
    pub args: Value,
    #[serde(default)]
    pub context: ToolContext,
    /// The approval this call was given; single use, bound to name, arguments and context.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ticket: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Executed {
    pub content: Vec<Part>,
    /// The tool ran and says it failed; the model is told.
    #[serde(default)]
    pub is_error: bool,
    /// More for a program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Value>,
}

/// The call to stop.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CancelParams {
    pub run_id: crate::id::RunId,
    pub call_id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Cancelled {
    /// Whether such a call was under way.
    pub stopped: bool,
}

/// Whether an earlier call happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "happened")]
pub enum Probed {
    /// It did, with this outcome.
    Yes { outcome: Executed },
    /// It did not; it may be run.
    No,
    /// It cannot be told.
    Unknown { known: String },
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct OfferParams {
    /// The registered service that answers for them.
    pub service: String,
    pub tools: Vec<ToolSpec>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Offered {
    /// The names now offered.
    pub names: Vec<String>,
}

/// What a call would do.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Previewed {
    /// What would change, as a diff or in words; not escaped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// What the call rests on, such as the hash of a file: an approval is bound to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Why the call would do nothing, if so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub would_fail: Option<String>,
    /// Why the call can never run, if so: its arguments do not fit its schema, or they name what no
    /// call may reach. Nobody is asked about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_run: Option<String>,
    /// Whether a person is asked whatever rule or mode allows it: the call changes a file that
    /// something else may run by itself.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asks_always: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct UndoParams {
    /// The run whose changes are undone.
    pub run_id: crate::id::RunId,
}

/// What was undone, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Undone {
    /// Places that are now as they were before the run, in the order they were undone.
    pub restored: Vec<UndoneChange>,
    /// Places that were left as they are, each with the reason.
    pub kept: Vec<UndoneChange>,
    /// What the run did that cannot be undone here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UndoneChange {
    /// The folder the run worked in.
    pub workspace: String,
    /// The place below it.
    pub path: String,
    /// What was done, or why nothing was.
    pub what: String,
}
