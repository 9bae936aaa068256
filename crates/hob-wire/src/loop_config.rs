//! Loop types that the pure machines share with the wire: settings, phases and end causes.

use crate::network::NetworkGrant;
use crate::schedule::{NotifyTarget, NotifyTargetView, ToolGrant, ToolGrantView};
use crate::strict_and_lenient::strict_and_lenient;
use crate::work::{Budget, BudgetView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The loop that exists without being created.
pub const DEFAULT_LOOP: &str = "default";
/// The session kind of iterations.
pub const KIND: &str = "loop";
/// The shortest interval of a loop or a monitor.
pub const INTERVAL_MS_MIN: u64 = 1_000;
/// The longest interval: a week.
pub const INTERVAL_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// The default interval.
pub const INTERVAL_MS: u64 = 5_000;
/// Largest memory, prompt or instruction of a loop.
pub const LOOP_TEXT_BYTES_MAX: usize = 256 * 1024;
/// Longest name of a loop or a job.
pub const LOOP_NAME_BYTES_MAX: usize = 64;

/// The settings of a loop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LoopConfig {
    /// `provider/model` or an alias; the default model when missing.
    #[serde(default)]
    pub model: Option<String>,
    /// Fixed instructions.
    #[serde(default)]
    pub system: String,
    /// The prompt of each iteration.
    #[serde(default)]
    pub user: String,
    /// The pause between two iterations.
    pub interval_ms: u64,
    /// The most iterations per start; 0 means no limit.
    #[serde(default)]
    pub max_iterations: u32,
    #[serde(default)]
    pub monitor: Option<MonitorConfigView>,
    /// The budget of one iteration.
    #[serde(default)]
    pub budget: BudgetView,
    /// The money limit for all iterations of one start, in millionths of a dollar. The loop ends
    /// there.
    #[serde(default)]
    pub total_micro_dollars: Option<u64>,
    /// The tool calls that its iterations may make without asking.
    #[serde(default)]
    pub grants: Vec<ToolGrantView>,
    #[serde(default)]
    pub backoff: BackoffConfigView,
    #[serde(default)]
    pub notify: Option<NotifyTargetView>,
    /// The working folder of its tools and its monitor.
    #[serde(default)]
    pub workspace: Option<String>,
    /// The allowed tools; all when missing, none when empty.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// Entries that clients keep with the loop. They mean nothing to hob.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl Default for LoopConfig {
    fn default() -> Self {
        LoopConfig {
            model: None,
            system: String::new(),
            user: String::new(),
            interval_ms: INTERVAL_MS,
            max_iterations: 0,
            monitor: None,
            budget: BudgetView::default(),
            total_micro_dollars: None,
            grants: Vec::new(),
            backoff: BackoffConfigView::default(),
            notify: None,
            workspace: None,
            tools: None,
            metadata: Map::new(),
        }
    }
}

strict_and_lenient! {
    /// A command whose output the model sees. The user approves it by setting it: exactly this
    /// command runs, in the sandbox.
    pub struct MonitorConfig / MonitorConfigView {
        /// A command line for bash.
        pub command: String,
        /// The interval of the monitor, independent of the iterations. When missing, it runs before
        /// each iteration.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub interval_ms: Option<u64>,
        /// The network it may use.
        #[serde(default)]
        pub network: NetworkGrant,
        /// The time limit of one run; 30 s when missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub timeout_ms: Option<u64>,
    }
}

strict_and_lenient! {
    /// The backoff after failed iterations. The interval doubles with each consecutive failure.
    #[derive(Copy)]
    pub struct BackoffConfig / BackoffConfigView {
        /// The longest interval.
        pub max_ms: u64,
        /// Consecutive failures after which the loop ends; 0 means never.
        pub errors_max: u32,
    }
}

impl Default for BackoffConfig {
    fn default() -> Self {
        BackoffConfig {
            max_ms: 15 * 60 * 1_000,
            errors_max: 10,
        }
    }
}

impl Default for BackoffConfigView {
    fn default() -> Self {
        BackoffConfig::default().into()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoopPhase {
    #[default]
    Idle,
    /// The monitor runs before the iteration.
    Monitor,
    /// The model works on the prompt.
    Prompt,
    /// The loop waits for the next iteration.
    Sleep,
    Stopping,
}

/// The reason why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopEnd {
    /// Somebody stopped it.
    Stopped,
    /// Its last iteration is done.
    MaxIterations,
    /// Its money limit is reached.
    Money,
    /// Too many consecutive failures.
    Errors,
    /// The single requested iteration is done.
    Once,
}

/// Changes to the settings. A missing field stays; `null` resets it to its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopChange {
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub model: Option<Option<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_iterations: Option<u32>,
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<MonitorConfig>")]
    pub monitor: Option<Option<MonitorConfig>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub total_micro_dollars: Option<Option<u64>>,
    /// Needs the scope `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<ToolGrant>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<BackoffConfig>,
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<NotifyTarget>")]
    pub notify: Option<Option<NotifyTarget>>,
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub workspace: Option<Option<String>>,
    #[serde(
        default,
        with = "crate::nullable",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub tools: Option<Option<Vec<String>>>,
    /// Entries to set; the others stay, and `null` removes one.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub metadata: Map<String, Value>,
}

impl LoopChange {
    /// Returns true if it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == LoopChange::default()
    }
}
