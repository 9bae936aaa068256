//! Types of runs, tools and permissions that the pure machines share with the wire.

use crate::id::RunId;
use crate::strict_and_lenient::strict_and_lenient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The effect of repeating a call. It decides how a call is retried after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Idempotency {
    /// Only reads. It can be repeated freely.
    Pure,
    /// Has a key. A repeat with the same key has no further effect.
    Keyed,
    /// A probe can tell if it happened.
    Probeable,
    /// None of these. A person must say if it happened.
    Opaque,
}

strict_and_lenient! {
    /// The limits of a run. A missing limit is the configured default.
    #[derive(Copy, Default)]
    pub struct Budget / BudgetView {
        /// The number of model calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub steps: Option<u32>,
        /// Input and output tokens.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tokens: Option<u64>,
        /// Money, in millionths of a dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub micro_dollars: Option<u64>,
        /// The time since its start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub wall_ms: Option<u64>,
    }
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RunEndCause {
    /// The model answered.
    Answered,
    /// Somebody stopped it.
    Aborted,
    StepLimit,
    TokenLimit,
    MoneyLimit,
    TimeLimit,
    /// A budget of the session, the day or the daemon was used up, and nobody could be asked for
    /// more.
    Budget,
    /// Too many consecutive failures.
    ErrorStreak,
    /// The model repeated the same call with the same arguments.
    RepeatedCall,
    /// The model repeated itself, and its answer was ended there.
    RepeatedText,
    /// None of the configured models could answer.
    ModelFailed,
    /// A needed permission was denied.
    Denied,
    /// An interrupted call was given up by a person, or because nobody could be asked.
    GivenUp,
    /// It was resumed several times without completing a step.
    Parked,
}

/// A person's answer about an interrupted call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtAnswer {
    /// It happened. The run continues with the given result.
    Happened,
    /// It did not happen. It is run again.
    DidNot,
    /// Ends the run.
    GiveUp,
}

/// The declaration of a tool. The approval question, schemas and lists derive from it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolSpec {
    /// The name that models see: lower-case letters, digits and underscores.
    pub name: String,
    /// Other names of the tool.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// A description for the model.
    pub description: String,
    /// A JSON Schema of its arguments, which are an object.
    pub parameters: Value,
    pub tier: Tier,
    pub effect: Idempotency,
    /// The arguments that name resources, such as paths and hosts, for permission rules.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<ResourceNeed>,
    /// The approval question, with arguments as `{name}`: `Write {path}`.
    pub approval: String,
    /// The time limit of a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

/// The reach of a tool, from harmless to far-reaching.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Only reads.
    Read,
    /// Changes files or stored data.
    Write,
    /// Runs programs.
    Exec,
    /// Accesses other machines or people.
    External,
}

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Read, Tier::Write, Tier::Exec, Tier::External];

    /// Parses a tier from its name on the wire.
    pub fn parse(word: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == word)
    }

    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Read => "read",
            Tier::Write => "write",
            Tier::Exec => "exec",
            Tier::External => "external",
        }
    }
}

/// An argument that names a resource, so that permission rules can match it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourceNeed {
    pub kind: NeedKind,
    /// The name of the argument.
    pub arg: String,
}

impl ResourceNeed {
    pub fn new(kind: NeedKind, arg: &str) -> ResourceNeed {
        let arg = arg.to_owned();
        ResourceNeed { kind, arg }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum NeedKind {
    Path,
    /// A host or a URL.
    Host,
    /// A command line.
    Command,
    /// A switch. If true, the call also uses the network, whatever the tool's tier. If `"host"`, it
    /// can also access services on this machine.
    Network,
    /// The only hosts that a call with network access can use; any when missing.
    Hosts,
    /// A session, by its key; the caller's own when missing.
    Session,
    /// Data of hob itself. A call that reads it is not a read inside the workspace.
    House,
}

/// The context of a tool call: session, run and workspace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
    /// The id of the call within its run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call_id: Option<String>,
    /// The idempotency key: the same for every repeat of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// The working folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PermissionDecision {
    Allow,
    Deny,
}

/// The decision of a stored rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    Allow,
    Deny,
    /// A person is asked, even if the mode would allow the call.
    Ask,
}

impl RuleDecision {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            RuleDecision::Allow => "allow",
            RuleDecision::Deny => "deny",
            RuleDecision::Ask => "ask",
        }
    }
}

/// The permission mode: the decision about calls that no stored rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PermissionMode {
    /// Reads inside the workspace are allowed, all else is denied.
    ReadOnly,
    /// Reads inside the workspace are allowed, all else is asked.
    #[default]
    Ask,
    /// Changes and sandboxed commands inside the workspace are allowed, all else is asked.
    Workspace,
    /// Everything is allowed except what a rule denies or asks about. The sandbox stays on.
    Full,
}

impl PermissionMode {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            PermissionMode::ReadOnly => "read-only",
            PermissionMode::Ask => "ask",
            PermissionMode::Workspace => "workspace",
            PermissionMode::Full => "full",
        }
    }
}

/// The reach of an answer: how long it applies and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AnswerReach {
    #[default]
    Once,
    Run,
    Session,
    Folder,
    Always,
}

impl AnswerReach {
    /// Returns its name on the wire.
    pub fn name(self) -> &'static str {
        match self {
            AnswerReach::Once => "once",
            AnswerReach::Run => "run",
            AnswerReach::Session => "session",
            AnswerReach::Folder => "folder",
            AnswerReach::Always => "always",
        }
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
