//! The command line of `hob cron`.

use crate::commands::unattended_flags::{GrantArgs, NotifyArgs, without_default};
use crate::commands::value_parsers::{network_grant, wire_name};
use crate::run_ui::run_request::TaskArgs;
use crate::tree::help_text::examples;
use clap::{ArgGroup, value_parser};
use hob_kit::duration::parse_ms;
use hob_wire::NetworkGrant;
use hob_wire::rooms::cron::{MissedPolicy, OverlapPolicy, SlotState};

const MISSED: [&str; 3] = ["once", "all", "skip"];
const OVERLAP: [&str; 3] = ["skip", "queue", "replace"];
const STATES: [&str; 9] = [
    "due",
    "running",
    "ran",
    "ran_with_denials",
    "ran_with_failures",
    "failed",
    "skipped",
    "missed",
    "stopped",
];
/// The values of `hob cron update --clear`.
const CLEARED: [&str; 7] = [
    "allow",
    "description",
    "hours",
    "model",
    "notify",
    "workspace",
    "zone",
];

/// Adds, shows and runs jobs: scheduled work and webhooks.
///
/// A job asks a model, runs one iteration of a loop, or runs a command in the sandbox: at an
/// interval, by cron fields, once, or when another system calls its webhook. The history records the
/// outcome of each due time: run, skipped and why, or missed. A job never asks: a call that no rule
/// and no --allow covers is denied.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = examples(&[
    "hob cron add tidy --every 10m --task \"Sort what lies in the inbox folder\" --allow move",
    "hob cron add backup --cron '0 3 * * *' --command 'tar czf backup.tgz notes'",
    "hob cron list",
    "hob cron history tidy",
]))]
pub enum CronSubcommand {
    /// Lists the jobs with their next due time and last outcome.
    #[command(after_help = examples(&["hob cron list", "hob cron list --json"]))]
    List,
    Preview(CronPreviewArgs),
    Add(Box<CronAddArgs>),
    Update(Box<CronUpdateArgs>),
    /// Shows a job: its work, schedule and last outcome.
    #[command(after_help = examples(&["hob cron show tidy", "hob cron show tidy --json"]))]
    Show(JobName),
    /// Runs a job now, regardless of its schedule.
    #[command(after_help = examples(&["hob cron run tidy", "hob cron run tidy --wait"]))]
    Run {
        #[command(flatten)]
        job: JobName,
        /// Waits for the end and shows the outcome; exits with 1 if it failed, with 3 if a call was
        /// denied.
        #[arg(long)]
        wait: bool,
    },
    History(CronHistoryArgs),
    /// Resumes a job's schedule from now on.
    #[command(after_help = examples(&["hob cron enable tidy", "hob cron enable tidy --json"]))]
    Enable(JobName),
    /// Pauses a job's schedule.
    #[command(after_help = examples(&["hob cron disable tidy", "hob cron disable tidy --json"]))]
    Disable(JobName),
    /// Removes a job with its history.
    #[command(after_help = examples(&["hob cron remove tidy", "hob cron remove tidy --json"]))]
    Remove(JobName),
    /// Shows a job's webhook address and secret.
    ///
    /// The caller sends the secret as 'Authorization: Bearer SECRET', or signs with it:
    /// X-Hob-Signature, or GitHub's X-Hub-Signature-256.
    #[command(after_help = examples(&["hob cron secret deploy", "hob cron secret deploy --renew"]))]
    Secret {
        #[command(flatten)]
        job: JobName,
        /// Creates a new secret; the old one stops working.
        #[arg(long)]
        renew: bool,
    },
}

/// The name of a job.
#[derive(Debug, clap::Args)]
pub struct JobName {
    /// The job's name or id.
    pub(super) name: String,
}

/// Shows a schedule in plain language, with its next due times.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob cron preview '0 9 * * MON-FRI'",
    "hob cron preview 'every 10m' --count 3",
    "hob cron preview @daily --zone Europe/Berlin --json",
]))]
pub struct CronPreviewArgs {
    /// Cron fields, @daily, 'every 10m', 'at 2026-12-24T18:00', or webhook.
    pub rule: String,
    /// The time zone, such as Europe/Berlin; that of hob's jobs if missing.
    #[arg(long, value_name = "ZONE")]
    pub zone: Option<String>,
    /// The time of day at which it may run, such as 08:00-22:00.
    #[arg(long, value_name = "HOURS")]
    pub hours: Option<String>,
    /// The number of due times; 5 if missing, 100 at most.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..=100))]
    pub count: Option<u32>,
}

/// Adds a job and shows when it is due.
///
/// WHEN is --every, --cron, --at or --webhook; WORK is --task, --loop or --command.
///
/// Cron fields are five, or six with seconds first; @daily and the like work too. A time skipped by a
/// clock change runs at the next time that exists; a time that occurs twice runs once. A task is a
/// text, a file (@FILE), or stdin (-).
#[derive(Debug, clap::Args)]
#[command(
    override_usage = "hob cron add <NAME> <WHEN> <WORK> [OPTIONS]",
    group(ArgGroup::new("schedule").required(true)),
    group(ArgGroup::new("work").required(true)),
    after_help = examples(&[
        "hob cron add tidy --every 10m --task \"Sort what lies in the inbox folder\" --allow move",
        "hob cron add morning --cron '0 9 * * MON-FRI' --zone Europe/Berlin \
         --task \"What is on today?\" --notify chat:main",
        "hob cron add party --at 2026-12-24T18:00 --command 'touch it-is-time'",
        "hob cron add deploy --webhook --task \"Look at this: {{body}}\"",
    ])
)]
pub struct CronAddArgs {
    /// The name: lower-case letters, digits and dashes.
    pub(super) name: String,
    #[command(flatten)]
    pub(super) job: JobArgs,
    /// Adds the job disabled.
    #[arg(long)]
    pub(super) disabled: bool,
}

/// Changes a job; settings that are not named stay.
///
/// --allow adds grants; --clear resets to a default first.
#[derive(Debug, clap::Args)]
#[command(
    mut_args(without_default),
    after_help = examples(&[
        "hob cron update tidy --every 1h",
        "hob cron update morning --zone Europe/Lisbon --hours 08:00-20:00",
        "hob cron update tidy --clear allow --allow 'move path=inbox'",
    ])
)]
pub struct CronUpdateArgs {
    #[command(flatten)]
    pub(super) name: JobName,
    /// The new name.
    #[arg(long, value_name = "NAME")]
    pub(super) rename: Option<String>,
    #[command(flatten)]
    pub(super) job: JobArgs,
    /// Resets this to its default; may be repeated.
    #[arg(long, value_name = "WHAT", value_delimiter = ',', value_parser = CLEARED)]
    pub(super) clear: Vec<String>,
}

/// The flags that describe a job.
#[derive(Debug, clap::Args)]
pub(super) struct JobArgs {
    /// At an interval, such as 10m or 1h30m.
    #[arg(long, value_name = "TIME", group = "schedule")]
    pub(super) every: Option<String>,
    /// By cron fields, such as '0 9 * * MON-FRI'.
    #[arg(long, value_name = "FIELDS", group = "schedule")]
    pub(super) cron: Option<String>,
    /// Once, such as 2026-12-24T18:00.
    #[arg(long, value_name = "TIME", group = "schedule")]
    pub(super) at: Option<String>,
    /// When another system calls POST /hooks/NAME.
    #[arg(long, group = "schedule")]
    pub(super) webhook: bool,
    /// The time zone, such as Europe/Berlin; the machine's own if missing.
    #[arg(long)]
    pub(super) zone: Option<String>,
    /// Asks a model to do this; with --webhook a template: {{body}}, {{body.field}}, {{header.name}}
    /// and {{query.name}} are filled in.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, group = "work")]
    pub(super) task: Option<String>,
    /// Runs one iteration of this loop.
    #[arg(long = "loop", value_name = "NAME", group = "work")]
    pub(super) loop_name: Option<String>,
    /// Runs this command line with bash, in the sandbox.
    #[arg(long, value_name = "LINE", allow_hyphen_values = true, group = "work")]
    pub(super) command: Option<String>,
    #[command(flatten)]
    pub(super) run: TaskArgs,
    /// With --command: opens the internet, through hob's proxy; =host opens this machine's own
    /// network, which can also reach services on this machine.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true,
        default_missing_value = "true", value_parser = network_grant())]
    pub(super) network: Option<NetworkGrant>,
    /// With --command: the longest run time; 10m if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) timeout: Option<u64>,
    #[command(flatten)]
    pub(super) grants: GrantArgs,
    /// Which times missed while hob was not running are made up for; once if missing.
    #[arg(long, value_name = "WHAT", value_parser = wire_name::<MissedPolicy>(&MISSED))]
    pub(super) missed: Option<MissedPolicy>,
    /// How late a missed time may still run; 1d if missing.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) window: Option<u64>,
    /// What to do when a run is due while the previous one is still running; skip if missing.
    #[arg(long, value_name = "WHAT", value_parser = wire_name::<OverlapPolicy>(&OVERLAP))]
    pub(super) overlap: Option<OverlapPolicy>,
    /// Delays each run by a random time up to this.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    pub(super) jitter: Option<u64>,
    /// Runs only during these hours, such as 08:00-22:00.
    #[arg(long, value_name = "FROM-TO")]
    pub(super) hours: Option<String>,
    /// A description for people.
    #[arg(long, value_name = "TEXT")]
    pub(super) description: Option<String>,
    /// Disables the job after this many failures in a row; 5 if missing, 0 means never.
    #[arg(long, value_name = "N")]
    pub(super) failures_max: Option<u32>,
    #[command(flatten)]
    pub(super) notify: NotifyArgs,
}

/// Shows the outcome of each due time, newest first.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob cron history",
    "hob cron history tidy --state failed",
    "hob cron history --limit 100 --json",
]))]
pub struct CronHistoryArgs {
    /// Only this job, by its name or id.
    pub(super) name: Option<String>,
    /// Only entries in this state.
    #[arg(long, value_parser = wire_name::<SlotState>(&STATES))]
    pub(super) state: Option<SlotState>,
    /// At most this many; 20 if missing, 500 at most.
    #[arg(long, short = 'n', value_name = "N", value_parser = value_parser!(u32).range(1..))]
    pub(super) limit: Option<u32>,
    /// Continues after this entry, the last of the previous page.
    #[arg(long, value_name = "NUMBER")]
    pub(super) before: Option<u64>,
}
