//! `tool.*`: what a tool declares, and how one is run.
//!
//! A tool lives in the house or in any service on the bus. An outside service offers its tools
//! with `tool.offer` and answers two methods of its own: `NAME.tool_execute` (params
//! [`ExecuteParams`], result [`Executed`]) and, for probeable tools, `NAME.tool_probe` (params
//! [`ExecuteParams`], result [`Probed`]). If it registers `NAME.tool_cancel` (params
//! [`CancelParams`]) it is told when a call must stop.

use crate::content::Part;
use crate::method::{Cli, Effect, methods};
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
    /// Offers the tools of a registered service; they go when it goes.
    Offer = "tool.offer" {
        params: OfferParams, result: Offered, scope: Read, effect: Keyed,
        cli: Cli::Hidden,
    }
}

/// What a tool declares, once; approval sentence, schema and lists derive from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The plain name a model sees: lower-case letters, digits and underscores.
    pub name: String,
    /// Other names it is known by.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// What it does, for the model.
    pub description: String,
    /// A JSON Schema of its arguments, an object.
    pub parameters: Value,
    pub tier: Tier,
    pub effect: Effect,
    /// Which arguments name things that rules speak of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// What a person is asked, with arguments as `{name}`: `Write {path}`.
    pub approval: String,
    /// How long a call may take.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// How far a tool reaches.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Looks only.
    Read,
    /// Changes files or stored things.
    Write,
    /// Runs programs.
    Exec,
    /// Reaches other machines or people.
    External,
}

/// An argument that a permission rule can match by what it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    pub kind: NeedKind,
    /// The argument that names it.
    pub arg: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NeedKind {
    Path,
    Host,
    Command,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tools {
    pub tools: Vec<ToolSpec>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DescribeParams {
    /// The tool's name or alias.
    pub name: String,
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

/// For whom and where a tool runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<crate::id::RunId>,
    /// The call's id within its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The same for every repeat of the same call: what makes a keyed effect happen once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The folder it works in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
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
