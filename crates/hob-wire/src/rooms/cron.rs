//! `cron.*`: jobs that run by the calendar, every so often, once, or when another system calls.
//!
//! A job's `schedule` is one line: five or six cron fields (`0 9 * * MON-FRI`), a descriptor
//! (`@daily`), `every 10m`, `at 2026-12-24T18:00`, or `webhook`. Each time it is due is a slot,
//! and each slot has one outcome, which is kept.

use crate::damage::DamagedRow;
use crate::event::events;
use crate::id::RunId;
use crate::method::{Cli, methods};
use crate::network::NetworkGrant;
use crate::rooms::agent::Cost;
pub use crate::schedule::{Grant, GrantView, HEARTBEAT_OK, Missed, Notify, NotifyView, Overlap};
use crate::work::{Budget, BudgetView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

methods! { "cron";
    /// Lists the jobs, with when each is due next.
    List = "cron.list" {
        params: ListParams, result: Jobs, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Adds a job.
    Add = "cron.add" {
        params: AddJobParams, result: Job, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Changes a job; what is not named stays.
    Update = "cron.update" {
        params: UpdateJobParams, result: Job, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Removes a job with its history; a run of it that is under way goes on.
    Remove = "cron.remove" {
        params: JobParams, result: Removed, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Runs a job now, whatever its schedule says.
    Run = "cron.run" {
        params: FireParams, result: Slot, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Lists slots with their outcomes, the newest first.
    History = "cron.history" {
        params: HistoryParams, result: Slots, scope: Read, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Lets a job run by its schedule again, from now on.
    Enable = "cron.enable" {
        params: JobParams, result: Job, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Keeps a job from running by its schedule.
    Disable = "cron.disable" {
        params: JobParams, result: Job, scope: Control, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Shows the secret of a job that is called by `POST /hooks/NAME`, or makes a new one.
    Secret = "cron.secret" {
        params: SecretParams, result: HookSecret, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
    /// Says whether a caller of `POST /hooks/NAME` shows the secret itself, by its headers alone.
    /// For the gateway: it asks before it reads a body.
    CheckCaller = "cron.check_caller" {
        params: CallerParams, result: CheckedCaller, scope: Admin, effect: Pure,
        cli: Cli::Hidden,
    }
    /// Takes what another system sent to `POST /hooks/NAME`, once it has shown who it is.
    /// For the gateway: it hands over the request as it came.
    Deliver = "cron.deliver" {
        params: DeliverParams, result: Delivered, scope: Admin, effect: Keyed,
        cli: Cli::Hidden,
    }
}

events! { "cron";
    /// A job's time has come, and its work begins.
    CronTrigger = "cron.trigger" {
        payload: CronTriggerPayload, scope: Read, durability: Logged,
    }
    /// A slot has its outcome.
    CronSlot = "cron.slot" {
        payload: Slot, scope: Read, durability: Logged,
    }
    /// A job was added, changed, enabled, disabled or removed.
    CronChanged = "cron.changed" {
        payload: CronChangedPayload, scope: Read, durability: Logged,
    }
}

/// The job that looks after the house, made by the settings of `[heartbeat]`.
pub const HEARTBEAT: &str = "heartbeat";

/// A job as it stands.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Job {
    pub id: String,
    #[serde(flatten)]
    pub terms: JobTerms,
    pub enabled: bool,
    /// When it is due next, the next few times; empty when never.
    #[serde(default)]
    pub next: Vec<u64>,
    /// The schedule in words.
    pub about: String,
    /// How the last slot that is over went.
    #[serde(default)]
    pub last: Option<Slot>,
    /// Slots under way.
    #[serde(default)]
    pub active: u32,
    /// Failures in a row.
    #[serde(default)]
    pub failures: u32,
    /// Why hob itself disabled it.
    #[serde(default)]
    pub problem: Option<String>,
    pub created_at: u64,
    pub updated_at: u64,
}

/// What a job does and when.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobTerms {
    pub name: String,
    pub schedule: String,
    /// An IANA time zone such as `Europe/Berlin`; the machine's own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    pub work: Work,
    /// Slots that passed while nobody was there.
    #[serde(default)]
    pub missed: Missed,
    /// How late a slot may still be run; older ones are missed for good. A day when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_ms: Option<u64>,
    /// A slot that comes due while the one before is under way.
    #[serde(default)]
    pub overlap: Overlap,
    /// Each slot begins up to this much later, by chance.
    #[serde(default)]
    pub jitter_ms: u64,
    /// Only at this time of the day, in its zone; `22:00-06:00` reaches over midnight.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<String>,
    /// What its runs may do without being asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grants: Vec<GrantView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyView>,
    /// Failures in a row after which it is disabled; 0 is never.
    #[serde(default = "failures_max")]
    pub failures_max: u32,
}

/// Failures in a row after which a job is disabled, unless told.
pub const FAILURES_MAX: u32 = 5;

fn failures_max() -> u32 {
    FAILURES_MAX
}

/// What a job does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", tag = "kind")]
pub enum Work {
    /// A run of the agent in a session of its own.
    Agent(AgentWork),
    /// One iteration of a loop.
    Loop {
        /// The loop's name.
        name: String,
    },
    /// A command, in the sandbox. Setting one is the person's act, bound to its bytes.
    Command(CommandWork),
    /// What `HEARTBEAT.md` of the home says, if it says anything.
    Heartbeat(HeartbeatWork),
}

impl Default for Work {
    fn default() -> Self {
        Work::Agent(AgentWork::default())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentWork {
    /// What to do, in words. For a webhook a template: `{{body}}`, `{{body.field}}`,
    /// `{{header.name}}`, `{{query.name}}`.
    pub task: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub budget: Option<BudgetView>,
    /// The folder its tools work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only these tools; all when missing, none when empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<String>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CommandWork {
    /// A command line for bash.
    pub command: String,
    /// The folder it works in and may change; an empty one of its own when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Which network it may use.
    #[serde(default)]
    pub network: NetworkGrant,
    /// How long it may take; ten minutes when missing.
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

/// What may be said of a job when it is added or changed, once.
macro_rules! job_params {
    ($($(#[$about:meta])* $field:ident: $kind:ty,)*) => {
        /// A job to add, as Vargos words it and beyond. Exactly one of `task`, `loop` and
        /// `command` says what it does.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct AddJobParams {
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

        /// What to change of a job; what is missing stays. A text that is empty goes back to its
        /// default.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        pub struct UpdateJobParams {
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

        impl From<AddJobParams> for UpdateJobParams {
            /// The same words for a job that has no id yet: adding is changing the default job.
            fn from(params: AddJobParams) -> UpdateJobParams {
                UpdateJobParams {
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
    /// What to do, in words; for a webhook a template with `{{body}}`, `{{body.field}}`,
    /// `{{header.name}}` and `{{query.name}}`.
    task: String,
    /// The loop of which one iteration is run.
    #[serde(rename = "loop")]
    loop_name: String,
    /// A command line for bash.
    command: String,
    description: String,
    /// An IANA time zone such as `Europe/Berlin`; the machine's own when missing.
    zone: String,
    enabled: bool,
    /// With `task`: `provider/model` or an alias.
    model: String,
    /// With `task`: where a run must stop.
    budget: Budget,
    /// The folder that tools or the command work in.
    workspace: String,
    /// With `task`: only these tools.
    tools: Vec<String>,
    /// With `command`: which network it may use.
    network: NetworkGrant,
    /// With `command`: how long it may take.
    timeout_ms: u64,
    /// Slots that passed while nobody was there.
    missed: Missed,
    /// How late a slot may still be run; a day when missing.
    window_ms: u64,
    /// A slot that comes due while the one before is under way.
    overlap: Overlap,
    /// Each slot begins up to this much later, by chance.
    jitter_ms: u64,
    /// Only at this time of the day, such as `08:00-22:00`.
    active_hours: String,
    /// What its runs may do without being asked; needs the scope `admin`.
    grants: Vec<Grant>,
    /// Where results are told.
    notify: Notify,
    /// Failures in a row after which it is disabled; 0 is never.
    failures_max: u32,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListParams {
    /// Go on after the job of this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// At most this many; 500 when missing, and never more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Jobs {
    /// By name.
    pub jobs: Vec<Job>,
    /// There are more: ask again after the last one.
    #[serde(default)]
    pub more: bool,
    /// Damaged jobs, which are left out above and do not run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub damaged: Vec<DamagedRow>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct JobParams {
    /// The job's id or name.
    pub id: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FireParams {
    /// The job's id or name.
    pub id: String,
    /// Makes repeating this request one slot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Removed {
    pub id: String,
    pub name: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryParams {
    /// Only slots of this job, by its id or name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Only slots with this outcome.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<SlotState>,
    /// Only slots before the one of this number: the last one of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most this many; 50 when missing, 500 at the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slots {
    pub slots: Vec<Slot>,
    #[serde(default)]
    pub more: bool,
}

/// One time a job was due, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Slot {
    /// Rises with each slot of the house.
    pub number: u64,
    /// The job's id.
    pub task_id: String,
    /// The job's name.
    pub name: String,
    /// When it was due, in milliseconds since 1970.
    pub due_at: u64,
    pub origin: SlotOrigin,
    pub state: SlotState,
    /// Why it was skipped, missed, stopped or failed, or what was denied and how to allow it.
    #[serde(default)]
    pub reason: Option<String>,
    /// How many due times before it this one stands for, where only the latest is run.
    #[serde(default)]
    pub stands_for: u64,
    #[serde(default)]
    pub session_key: Option<String>,
    #[serde(default)]
    pub run_id: Option<RunId>,
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// The answer, or what the command printed, bounded.
    #[serde(default)]
    pub output: Option<String>,
    #[serde(default)]
    pub cost: Cost,
    /// Calls of its run that were denied, those of its sub-agents included.
    #[serde(default)]
    pub denied_calls: u32,
    /// Calls of its run that failed or were invalid.
    #[serde(default)]
    pub failed_calls: u32,
    /// How many times its work was begun.
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
    /// `cron.run`.
    Manual,
    Webhook,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SlotState {
    /// Its time has come; the work has not begun.
    Due,
    Running,
    /// It ran and succeeded.
    Ran,
    /// The model answered, and at least one of its calls was denied.
    #[serde(rename = "ran_with_denials")]
    RanWithDenials,
    /// The model answered, and a call of the last step that made any failed.
    #[serde(rename = "ran_with_failures")]
    RanWithFailures,
    /// It ran and failed.
    Failed,
    /// It was not run, by a rule of the job.
    Skipped,
    /// It passed while nobody was there and is not run any more.
    Missed,
    /// It was begun and stopped.
    Stopped,
}

#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SecretParams {
    /// The job's id or name.
    pub id: String,
    /// Makes a new secret; the old one opens nothing any more.
    #[serde(default)]
    pub renew: bool,
}

/// What another system shows to call a job: as `Authorization: Bearer SECRET`, or as the key of
/// an HMAC-SHA256 of the body.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookSecret {
    pub id: String,
    /// Where to send: `/hooks/NAME`.
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

/// The head of a request to `POST /hooks/NAME`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallerParams {
    /// The job's id or name.
    pub id: String,
    /// By lower-case name.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// What the head of a call proves. A wrong secret is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckedCaller {
    /// It holds the secret. Otherwise it holds a signature, which only the body can prove.
    pub proven: bool,
}

/// The slot of a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Delivered {
    #[serde(flatten)]
    pub slot: Slot,
    /// The same call came before: nothing new runs.
    #[serde(default)]
    pub repeated: bool,
}

/// A request to `POST /hooks/NAME` as it came.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeliverParams {
    /// The job's id or name.
    pub id: String,
    /// Base64 of the body.
    pub body: String,
    /// By lower-case name.
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
    /// What is to be done: the task, the loop's name, or the command.
    pub task: String,
    /// The session its run has.
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CronChange {
    Added,
    Updated,
    Enabled,
    Disabled,
    Removed,
}
