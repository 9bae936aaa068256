//! Words of loops that the pure machines share with the wire: what can be set, what a loop is doing,
//! why it ended.

use crate::network::NetworkGrant;
use crate::schedule::{Grant, GrantView, Notify, NotifyView};
use crate::twin::twin;
use crate::work::{Budget, BudgetView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The loop that Loop Runner's clients speak to.
pub const DEFAULT_LOOP: &str = "default";
/// The kind of the sessions that iterations have.
pub const KIND: &str = "loop";
/// The shortest interval of a loop or a monitor.
pub const INTERVAL_MS_MIN: u64 = 1_000;
/// The longest interval: a week.
pub const INTERVAL_MS_MAX: u64 = 7 * 24 * 60 * 60 * 1_000;
/// The interval unless told.
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
    /// What is asked in each iteration.
    #[serde(default)]
    pub user: String,
    /// Between the end of an iteration and the next one.
    pub interval_ms: u64,
    /// Iterations of one start; 0 is no limit.
    #[serde(default)]
    pub max_iterations: u32,
    #[serde(default)]
    pub monitor: Option<MonitorView>,
    /// Where one iteration must stop.
    #[serde(default)]
    pub budget: BudgetView,
    /// Money of all iterations of one start, in millionths of a dollar; the loop ends there.
    #[serde(default)]
    pub total_micro_dollars: Option<u64>,
    /// What its iterations may do without being asked.
    #[serde(default)]
    pub grants: Vec<GrantView>,
    #[serde(default)]
    pub backoff: BackoffView,
    #[serde(default)]
    pub notify: Option<NotifyView>,
    /// The folder its tools and its monitor work in.
    #[serde(default)]
    pub workspace: Option<String>,
    /// Only these tools; all when missing, none when empty.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
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
            backoff: BackoffView::default(),
            notify: None,
            workspace: None,
            tools: None,
        }
    }
}

twin! {
    /// A command whose output the model is shown. Setting one is the person's act: it is run as it
    /// stands here, in the sandbox, and nothing else is.
    pub struct Monitor / MonitorView {
        /// A command line for bash.
        pub command: String,
        /// Run every so often, apart from the iterations; before each iteration when missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub interval_ms: Option<u64>,
        /// Which network it may use.
        #[serde(default)]
        pub network: NetworkGrant,
        /// How long one run of it may take; 30 s when missing.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub timeout_ms: Option<u64>,
    }
}

twin! {
    /// What happens after an iteration that failed: the interval doubles with each in a row.
    #[derive(Copy)]
    pub struct Backoff / BackoffView {
        /// The longest the interval grows to.
        pub max_ms: u64,
        /// Failures in a row after which the loop gives up; 0 is never.
        pub errors_max: u32,
    }
}

impl Default for Backoff {
    fn default() -> Self {
        Backoff {
            max_ms: 15 * 60 * 1_000,
            errors_max: 10,
        }
    }
}

impl Default for BackoffView {
    fn default() -> Self {
        Backoff::default().into()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LoopPhase {
    #[default]
    Idle,
    /// The monitor runs before the iteration.
    Monitor,
    /// The model is at work.
    Prompt,
    /// Until the next iteration.
    Sleep,
    Stopping,
}

/// Why a loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LoopEnd {
    /// Somebody stopped it.
    Stopped,
    /// Its last iteration is done.
    MaxIterations,
    /// Its money is used up.
    Money,
    /// Too many failures in a row.
    Errors,
    /// One iteration was asked for, and is done.
    Once,
}

/// Settings to change; what is missing stays, what is `null` goes back to its default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LoopChange {
    #[serde(
        default,
        with = "crate::given",
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
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Monitor>")]
    pub monitor: Option<Option<Monitor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<Budget>,
    #[serde(
        default,
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<u64>")]
    pub total_micro_dollars: Option<Option<u64>>,
    /// Needs the scope `admin`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<Grant>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backoff: Option<Backoff>,
    #[serde(
        default,
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Notify>")]
    pub notify: Option<Option<Notify>>,
    #[serde(
        default,
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<String>")]
    pub workspace: Option<Option<String>>,
    #[serde(
        default,
        with = "crate::given",
        skip_serializing_if = "Option::is_none"
    )]
    #[schemars(with = "Option<Vec<String>>")]
    pub tools: Option<Option<Vec<String>>>,
}

impl LoopChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        *self == LoopChange::default()
    }
}
