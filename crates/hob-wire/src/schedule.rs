//! Types that loops, scheduled jobs and their pure machines share: grants, notification targets,
//! policies for missed and overlapping slots, and the preview of a schedule.

use crate::strict_and_lenient::strict_and_lenient;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

strict_and_lenient! {
    /// Tool calls that the runs of one loop or job may make without asking. It is a stored rule for
    /// their sessions only. It is listed with the rules and removed with the loop or job.
    pub struct ToolGrant / ToolGrantView {
        /// A tool's name or alias. A trailing `*` matches any suffix.
        pub tool: String,
        /// Patterns for arguments, as in a rule.
        #[serde(rename = "match", default, skip_serializing_if = "BTreeMap::is_empty")]
        pub matches: BTreeMap<String, String>,
        /// All paths of the call must be in this folder.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path: Option<String>,
        /// All hosts of the call must be this one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub host: Option<String>,
    }
}

strict_and_lenient! {
    /// A session that gets the results as messages, in addition to the history.
    pub struct NotifyTarget / NotifyTargetView {
        /// The key of the session.
        pub session_key: String,
        /// Only failures.
        #[serde(default)]
        pub failures_only: bool,
    }
}

/// The answer to a heartbeat that is not reported to anybody.
pub const HEARTBEAT_OK: &str = "HEARTBEAT_OK";

/// The policy for slots that were due while the daemon was not running.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MissedPolicy {
    /// Only the latest one is run.
    #[default]
    Once,
    /// All of them are run, in order.
    All,
    /// None of them is run.
    Skip,
}

/// The policy for a slot that is due while the previous one is in progress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OverlapPolicy {
    /// It waits. At most one slot waits; later ones are skipped.
    Queue,
    /// It is skipped.
    #[default]
    Skip,
    /// The one in progress is stopped.
    Replace,
}

/// The outcome of a finished iteration or slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkOutcome {
    /// The model answered, and no call was denied or failed at the end.
    Ran,
    /// The model answered, and at least one of its calls was denied.
    RanWithDenials,
    /// The model answered, and a call failed in the last step that made calls.
    RanWithFailures,
    Failed,
    Stopped,
}

/// A schedule that somebody thinks about.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CronPreviewParams {
    /// A line as the `schedule` of a job: `0 9 * * MON-FRI`, `@daily`, `every 10m`.
    pub rule: String,
    /// An IANA time zone such as `Europe/Berlin`; that of hob's jobs when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
    /// The time of day at which it may run, such as `08:00-22:00`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_hours: Option<String>,
    /// The number of due times; 5 when missing, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CronPreview {
    /// The schedule in plain language.
    pub about: String,
    /// The next due times; empty if there are none, as for a webhook or a time that has passed.
    pub next: Vec<u64>,
    /// The time zone by which they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zone: Option<String>,
}

/// The change that `cron.changed` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CronChange {
    Added,
    Updated,
    Enabled,
    Disabled,
    Removed,
}
