//! `cron.*`: jobs that run by the calendar, at an interval, once, or when a webhook is called.
//!
//! A job's `schedule` is one line: five or six cron fields (`0 9 * * MON-FRI`), a descriptor
//! (`@daily`), `every 10m`, `at 2026-12-24T18:00`, or `webhook`. Each time the job is due is a
//! slot. Each slot has one stored outcome.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{CliExposure, methods};
use crate::network::NetworkGrant;
use crate::rooms::agent::Cost;
pub use crate::schedule::{
    CronChange, CronPreview, CronPreviewParams, HEARTBEAT_OK, MissedPolicy, NotifyTarget,
    NotifyTargetView, OverlapPolicy, ToolGrant, ToolGrantView,
};
use crate::work::{Budget, BudgetView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

methods! { "cron";
    /// Lists the jobs with their next due times.
    List = "cron.list" {
        params: CronListParams, result: CronListResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Shows a schedule in plain language, with its next due times. Stores nothing.
    Preview = "cron.preview" {
        params: CronPreviewParams, result: CronPreview, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Adds a job.
    Add = "cron.add" {
        params: CronAddParams, result: CronJob, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Changes a job. Missing fields stay as they are.
    Update = "cron.update" {
        params: CronUpdateParams, result: CronJob, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Removes a job with its history. A run in progress continues.
    Remove = "cron.remove" {
        params: JobSelector, result: CronRemoveResult, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Runs a job now, regardless of its schedule.
    Run = "cron.run" {
        params: CronRunParams, result: JobSlot, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Lists slots with their outcomes, newest first.
    History = "cron.history" {
        params: CronHistoryParams, result: CronHistoryResult, scope: Read, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Enables a job: it runs by its schedule from now on.
    Enable = "cron.enable" {
        params: JobSelector, result: CronJob, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Disables a job: it no longer runs by its schedule.
    Disable = "cron.disable" {
        params: JobSelector, result: CronJob, scope: Control, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Shows the secret of a webhook job (`POST /hooks/NAME`), or creates a new one.
    Secret = "cron.secret" {
        params: CronSecretParams, result: HookSecret, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
    /// Checks if the headers of a `POST /hooks/NAME` request contain the secret.
    /// For the gateway, which checks before it reads the body.
    CheckCaller = "cron.check_caller" {
        params: CronCheckCallerParams, result: CronCheckCallerResult, scope: Admin, effect: Pure,
        cli: CliExposure::Hidden,
    }
    /// Delivers a request to `POST /hooks/NAME` after authenticating its sender.
    /// For the gateway, which passes on the request unchanged.
    Deliver = "cron.deliver" {
        params: CronDeliverParams, result: CronDeliverResult, scope: Admin, effect: Keyed,
        cli: CliExposure::Hidden,
    }
}

events! { "cron";
    /// A job is due, and its work begins.
    CronTrigger = "cron.trigger" {
        payload: CronTriggerPayload, scope: Read, durability: Logged,
    }
    /// A slot has its outcome.
    CronSlot = "cron.slot" {
        payload: JobSlot, scope: Read, durability: Logged,
    }
    /// A job was added, changed, enabled, disabled or removed.
    CronChanged = "cron.changed" {
        payload: CronChangedPayload, scope: Read, durability: Logged,
    }
}

/// The name of the heartbeat job, which is created by the settings of `[heartbeat]`.
pub const HEARTBEAT: &str = "heartbeat";

/// A job and its current state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronJob {
    pub id: String,
    #[serde(flatten)]
    pub terms: JobDefinition,
    pub enabled: bool,
    /// The next few due times; empty if there are none.
    #[serde(default)]
    pub next: Vec<u64>,
    /// The schedule in plain language.
    pub about: String,
    /// The last finished slot.
    #[serde(default)]
    pub last: Option<JobSlot>,
    /// Slots in progress.
    #[serde(default)]
    pub active: u32,
    /// Consecutive failures.
    #[serde(default)]
    pub failures: u32,
    /// The reason if hob disabled it.
    #[serde(default)]
    pub problem: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// The definition of a job: its work and its schedule.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobDefinition {
    pub name: String,
    /// The name that people see; `name` when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    pub schedule: String,
    /// An IANA time zone such as `Europe/Berlin`; the machine's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub work: JobWork,
    /// The policy for slots that were due while the daemon was not running.
    #[serde(default)]
    pub missed: MissedPolicy,
    /// The longest delay after which a slot still runs; older slots are missed. A day when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// The policy for a slot that is due while the previous one is in progress.
    #[serde(default)]
    pub overlap: OverlapPolicy,
    /// The largest random delay of each slot.
    #[serde(default)]
    pub jitter_ms: u64,
    /// The time of day, in the job's zone, at which it may run; `22:00-06:00` spans midnight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<String>,
    /// The tool calls that its runs may make without asking.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<ToolGrantView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyTargetView>,
    /// Consecutive failures after which the job is disabled; 0 means never.
    #[serde(default = "failures_max")]
    pub failures_max: u32,
}

/// The default for the consecutive failures after which a job is disabled.
pub const FAILURES_MAX: u32 = 5;

fn failures_max() -> u32 {
    FAILURES_MAX
}

/// The work of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum JobWork {
    /// An agent run in its own session.
    Agent(AgentWork),
    /// One iteration of a loop.
    Loop {
        /// The loop's name.
        name: String,
    },
    /// A command in the sandbox. The user approves its exact bytes by setting it.
    Command(CommandWork),
    /// The instructions in `HEARTBEAT.md` of the home, if there are any.
    Heartbeat(HeartbeatWork),
}

impl Default for JobWork {
    fn default() -> Self {
        JobWork::Agent(AgentWork::default())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentWork {
    /// The task in plain language. For a webhook, a template with `{{body}}`, `{{body.field}}`,
    /// `{{header.name}}` and `{{query.name}}`.
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
    /// The working folder of its tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The allowed tools; all when missing, none when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandWork {
    /// A command line for bash.
    pub command: String,
    /// The writable working folder; a new empty folder when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The network it may use.
    #[serde(default)]
    pub network: NetworkGrant,
    /// The time limit; ten minutes when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ms: Option<u64>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeartbeatWork {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
}

/// Declares the fields that `cron.add` and `cron.update` share.
macro_rules! job_params {
    ($($(#[$about:meta])* $field:ident: $kind:ty,)*) => {
        /// A job to add. Exactly one of `task`, `loop` and `command` defines the work.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct CronAddParams {
            /// Lower-case letters, digits and dashes; unique.
            pub name: String,
            /// Cron fields, `@daily`, `every 10m`, `at 2026-12-24T18:00`, or `webhook`.
            pub schedule: String,
            $(
                $(#[$about])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$kind>,
            )*
        }

        /// Changes to a job. Missing fields stay as they are. An empty text resets a field to its
        /// default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct CronUpdateParams {
            /// The job's id or name.
            pub id: String,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub schedule: Option<String>,
            $(
                $(#[$about])*
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub $field: Option<$kind>,
            )*
        }

        impl From<CronAddParams> for CronUpdateParams {
            /// Adding a job is changing the default job, which has no id yet.
            fn from(params: CronAddParams) -> CronUpdateParams {
                CronUpdateParams {
                    id: String::new(),
                    name: Some(params.name),
                    schedule: Some(params.schedule),
                    $($field: params.$field,)*
                }
            }
        }
    };
}

job_params! {
    /// The task in plain language. For a webhook, a template with `{{body}}`, `{{body.field}}`,
    /// `{{header.name}}` and `{{query.name}}`.
    task: String,
    /// The loop to run one iteration of.
    #[serde(rename = "loop")]
    loop_name: String,
    /// A command line for bash.
    command: String,
    /// The name that people see: any text of one line, not necessarily unique.
    title: String,
    description: String,
    /// An IANA time zone such as `Europe/Berlin`; the machine's own when missing.
    zone: String,
    enabled: bool,
    /// With `task`: `provider/model` or an alias.
    model: String,
    /// With `task`: the budget of a run.
    budget: Budget,
    /// The working folder of the tools or the command.
    workspace: String,
    /// With `task`: the allowed tools.
    tools: Vec<String>,
    /// With `command`: the network it may use.
    network: NetworkGrant,
    /// With `command`: the time limit.
    timeout_ms: u64,
    /// The policy for slots that were due while the daemon was not running.
    missed: MissedPolicy,
    /// The longest delay after which a slot still runs; a day when missing.
    window_ms: u64,
    /// The policy for a slot that is due while the previous one is in progress.
    overlap: OverlapPolicy,
    /// The largest random delay of each slot.
    jitter_ms: u64,
    /// The time of day at which it may run, such as `08:00-22:00`.
    active_hours: String,
    /// The tool calls that its runs may make without asking; needs the scope `admin`.
    grants: Vec<ToolGrant>,
    /// The session that gets the results.
    notify: NotifyTarget,
    /// Consecutive failures after which the job is disabled; 0 means never.
    failures_max: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronListParams {
    /// Returns jobs after the one with this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// The most jobs to return; 500 when missing, which is also the maximum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronListResult {
    /// Sorted by name.
    pub jobs: Vec<CronJob>,
    /// True if there are more: ask again with `after` set to the last one.
    #[serde(default)]
    pub more: bool,
    /// Damaged jobs. They are not in `jobs` and do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobSelector {
    /// The job's id or name.
    pub id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronRunParams {
    /// The job's id or name.
    pub id: String,
    /// A repeated request with the same key is the same slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronRemoveResult {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronHistoryParams {
    /// Only slots of this job, by its id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Only slots with this outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SlotState>,
    /// Only slots before this number: the last one of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// The most slots to return; 50 when missing, at most 500.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronHistoryResult {
    pub slots: Vec<JobSlot>,
    #[serde(default)]
    pub more: bool,
}

/// One due time of a job, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSlot {
    /// A number that increases with each slot of all jobs.
    pub number: u64,
    /// The job's id.
    pub task_id: String,
    /// The job's name.
    pub name: String,
    /// The due time, in milliseconds since 1970.
    pub due_at: u64,
    pub origin: SlotOrigin,
    pub state: SlotState,
    /// The reason why it was skipped, missed, stopped or failed, or the denied calls and how to
    /// allow them.
    #[serde(default)]
    pub reason: Option<String>,
    /// The number of earlier due times that this slot covers, if only the latest is run.
    #[serde(default)]
    pub stands_for: u64,
    #[serde(default)]
    pub session_key: Option<String>,
    #[serde(default)]
    pub run_id: Option<RunId>,
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The answer or the command's output, truncated.
    #[serde(default)]
    pub output: Option<String>,
    #[serde(default)]
    pub cost: Cost,
    /// Denied calls of its run, including those of its sub-agents.
    #[serde(default)]
    pub denied_calls: u32,
    /// Failed or invalid calls of its run.
    #[serde(default)]
    pub failed_calls: u32,
    /// The number of times its work was started.
    #[serde(default)]
    pub attempt: u32,
    #[serde(default)]
    pub started_at: Option<u64>,
    #[serde(default)]
    pub ended_at: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SlotOrigin {
    #[default]
    Schedule,
    /// Started with `cron.run`.
    Manual,
    Webhook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SlotState {
    /// Due; the work has not begun.
    Due,
    Running,
    /// It ran and succeeded.
    Ran,
    /// The model answered, and at least one of its calls was denied.
    #[serde(rename = "ran_with_denials")]
    RanWithDenials,
    /// The model answered, and a call failed in the last step that made calls.
    #[serde(rename = "ran_with_failures")]
    RanWithFailures,
    /// It ran and failed.
    Failed,
    /// It was not run, because of a policy of the job.
    Skipped,
    /// It was due while the daemon was not running, and will not run.
    Missed,
    /// It was started and then stopped.
    Stopped,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronSecretParams {
    /// The job's id or name.
    pub id: String,
    /// Creates a new secret and invalidates the old one.
    #[serde(default)]
    pub renew: bool,
}

/// The secret of a webhook. The caller sends it as `Authorization: Bearer SECRET`, or uses it as
/// the key of an HMAC-SHA256 of the body.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSecret {
    pub id: String,
    /// The path to call: `/hooks/NAME`.
    pub path: String,
    pub secret: String,
}

impl std::fmt::Debug for HookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HookSecret")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

/// The headers of a request to `POST /hooks/NAME`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronCheckCallerParams {
    /// The job's id or name.
    pub id: String,
    /// Keyed by lower-case name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// The result of a check of the headers. A wrong secret is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronCheckCallerResult {
    /// True if the headers contain the secret. Otherwise they contain a signature, which is checked
    /// against the body.
    pub proven: bool,
}

/// The slot of a webhook call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronDeliverResult {
    #[serde(flatten)]
    pub slot: JobSlot,
    /// True if the same call was delivered before: nothing new runs.
    #[serde(default)]
    pub repeated: bool,
}

/// An unchanged request to `POST /hooks/NAME`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronDeliverParams {
    /// The job's id or name.
    pub id: String,
    /// Base64 of the body.
    pub body: String,
    /// Keyed by lower-case name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    #[serde(default)]
    pub query: BTreeMap<String, String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronTriggerPayload {
    /// The job's id.
    pub task_id: String,
    /// The task, the loop's name, or the command.
    pub task: String,
    /// The session of its run.
    pub session_key: String,
    /// The job's name.
    pub name: String,
    /// The slot's number.
    pub slot: u64,
    pub due_at: u64,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronChangedPayload {
    pub id: String,
    pub name: String,
    pub change: CronChange,
}
