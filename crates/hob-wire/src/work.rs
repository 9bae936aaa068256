//! Words of work that the pure machines share with the wire: what a tool declares, what repeating
//! a call does, how far an approval reaches, where a run must stop and why it did.

use crate::id::RunId;
use crate::twin::twin;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// What repeating a call does, which decides how it may be retried after a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// Reads only: repeat at will.
    Pure,
    /// Carries a key that makes a repeat one effect.
    Keyed,
    /// Whether it happened can be looked up.
    Probeable,
    /// Neither: a person must say whether it happened.
    Opaque,
}

twin! {
    /// Where a run must stop. What is missing takes the configured default.
    #[derive(Copy, Default)]
    pub struct Budget / BudgetView {
        /// Model calls.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub steps: Option<u32>,
        /// Tokens in and out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub tokens: Option<u64>,
        /// Money, in millionths of a dollar.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub micro_dollars: Option<u64>,
        /// Time from its start.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub wall_ms: Option<u64>,
    }
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The model gave its answer.
    Answered,
    /// Somebody stopped it.
    Aborted,
    StepLimit,
    TokenLimit,
    MoneyLimit,
    TimeLimit,
    /// A budget of the session, the day or everything together was used up, and nobody was there
    /// to allow more.
    Budget,
    /// Too many failures in a row.
    ErrorStreak,
    /// The model asked for the same call with the same arguments again and again.
    RepeatedCall,
    /// No model of the list could answer.
    ModelFailed,
    /// A needed permission was denied.
    Denied,
    /// A call in doubt was given up: by a person, or because nobody was there to be asked.
    GivenUp,
    /// It was resumed several times without finishing a step.
    Parked,
}

/// What a person says of a call in doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum DoubtAnswer {
    /// It happened; go on with the given result.
    Happened,
    /// It did not; run it again.
    DidNot,
    /// End the run.
    GiveUp,
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

impl Tier {
    pub const ALL: [Tier; 4] = [Tier::Read, Tier::Write, Tier::Exec, Tier::External];

    /// The tier of this word.
    pub fn named(word: &str) -> Option<Tier> {
        Tier::ALL.into_iter().find(|tier| tier.name() == word)
    }

    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Read => "read",
            Tier::Write => "write",
            Tier::Exec => "exec",
            Tier::External => "external",
        }
    }
}

/// An argument that a permission rule can match by what it names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Need {
    pub kind: NeedKind,
    /// The argument that names it.
    pub arg: String,
}

impl Need {
    pub fn new(kind: NeedKind, arg: &str) -> Need {
        let arg = arg.to_owned();
        Need { kind, arg }
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
    /// A switch: when true, the call also reaches the network, whatever the tool's tier; when
    /// `"host"`, services on this machine too.
    Network,
    /// The only hosts that a call with the network reaches; any when missing.
    Hosts,
    /// A session, by its key; the caller's own when missing.
    Session,
    /// Something of the house itself: what such a call tells is no look inside the workspace.
    House,
}

/// For whom and where a tool runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ToolContext {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<RunId>,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Decision {
    Allow,
    Deny,
}

/// What a stored rule says of the calls it covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RuleDecision {
    Allow,
    Deny,
    /// A person is asked, even where the house would allow it by itself.
    Ask,
}

impl RuleDecision {
    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            RuleDecision::Allow => "allow",
            RuleDecision::Deny => "deny",
            RuleDecision::Ask => "ask",
        }
    }
}

/// What the house does with a call that no stored rule covers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Looking inside the workspace is allowed, all else denied.
    ReadOnly,
    /// Looking inside the workspace is allowed, all else asked.
    #[default]
    Ask,
    /// Changes and sandboxed commands inside the workspace are allowed, all else asked.
    Workspace,
    /// Everything is allowed but what a rule denies or asks for; the sandbox stays on.
    Full,
}

impl Mode {
    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Mode::ReadOnly => "read-only",
            Mode::Ask => "ask",
            Mode::Workspace => "workspace",
            Mode::Full => "full",
        }
    }
}

/// How far an answer reaches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Reach {
    #[default]
    Once,
    Run,
    Session,
    Folder,
    Always,
}

impl Reach {
    /// Its word on the wire.
    pub fn name(self) -> &'static str {
        match self {
            Reach::Once => "once",
            Reach::Run => "run",
            Reach::Session => "session",
            Reach::Folder => "folder",
            Reach::Always => "always",
        }
    }
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
