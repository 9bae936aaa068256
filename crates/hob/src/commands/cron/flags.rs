//! The command line of `hob cron`.

use crate::commands::unattended_flags::{
    allow_flag, flag, network_flag, notify_flags, switch, task_flags, text_flag, time_flag,
};
use crate::tree::help_text::examples;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgGroup, Command, value_parser};

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

pub fn command() -> Command {
    Command::new("cron")
        .about("Adds, shows and runs jobs: scheduled work and webhooks")
        .long_about(
            "A job asks a model, runs one iteration of a loop, or runs a command in the sandbox: \
             at an interval, by cron fields, once, or when another system calls its webhook. The \
             history records the outcome of each due time: run, skipped and why, or missed. A job \
             never asks: a call that no rule and no --allow covers is denied.",
        )
        .after_help(examples(&[
            "hob cron add tidy --every 10m --task \"Sort what lies in the inbox folder\" \
             --allow move",
            "hob cron add backup --cron '0 3 * * *' --command 'tar czf backup.tgz notes'",
            "hob cron list",
            "hob cron history tidy",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list())
        .subcommand(add())
        .subcommand(update())
        .subcommand(named(
            "show",
            "Shows a job: its work, schedule and last outcome",
        ))
        .subcommand(run())
        .subcommand(history())
        .subcommand(named("enable", "Resumes a job's schedule from now on"))
        .subcommand(named("disable", "Pauses a job's schedule"))
        .subcommand(named("remove", "Removes a job with its history"))
        .subcommand(secret())
}

fn name() -> Arg {
    Arg::new("name")
        .value_name("NAME")
        .required(true)
        .help("The job's name or id")
}

fn named(verb: &'static str, about: &'static str) -> Command {
    Command::new(verb)
        .about(about)
        .after_help(examples(&[
            &format!("hob cron {verb} tidy"),
            &format!("hob cron {verb} tidy --json"),
        ]))
        .arg(name())
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the jobs with their next due time and last outcome")
        .after_help(examples(&["hob cron list", "hob cron list --json"]))
}

fn add() -> Command {
    Command::new("add")
        .about("Adds a job and shows when it is due")
        .override_usage("hob cron add <NAME> <WHEN> <WORK> [OPTIONS]")
        .long_about(
            "WHEN is --every, --cron, --at or --webhook; WORK is --task, --loop or --command.\n\n\
             Cron fields are five, or six with seconds first; @daily and the like work too. \
             A time skipped by a clock change runs at the next time that exists; a time \
             that occurs twice runs once. A task is a text, a file (@FILE), or \
             stdin (-).",
        )
        .after_help(examples(&[
            "hob cron add tidy --every 10m --task \"Sort what lies in the inbox folder\" \
             --allow move",
            "hob cron add morning --cron '0 9 * * MON-FRI' --zone Europe/Berlin \
             --task \"What is on today?\" --notify chat:main",
            "hob cron add party --at 2026-12-24T18:00 --command 'touch it-is-time'",
            "hob cron add deploy --webhook --task \"Look at this: {{body}}\"",
        ]))
        .arg(name().help("The name: lower-case letters, digits and dashes"))
        .args(schedule_flags())
        .group(
            ArgGroup::new("schedule")
                .args(["every", "cron", "at", "webhook"])
                .required(true),
        )
        .args(work_flags(true))
        .group(
            ArgGroup::new("work")
                .args(["task", "loop", "command"])
                .required(true),
        )
        .args(policy_flags())
        .arg(switch("disabled", "Adds the job disabled"))
}

fn update() -> Command {
    Command::new("update")
        .about("Changes a job; settings that are not named stay")
        .long_about("--allow adds grants; --clear resets to a default first.")
        .after_help(examples(&[
            "hob cron update tidy --every 1h",
            "hob cron update morning --zone Europe/Lisbon --hours 08:00-20:00",
            "hob cron update tidy --clear allow --allow 'move path=inbox'",
        ]))
        .arg(name())
        .arg(flag("rename", "NAME", "The new name"))
        .args(schedule_flags())
        .group(ArgGroup::new("schedule").args(["every", "cron", "at", "webhook"]))
        .args(work_flags(false))
        .group(ArgGroup::new("work").args(["task", "loop", "command"]))
        .args(policy_flags())
        .arg(
            flag(
                "clear",
                "WHAT",
                "Resets this to its default; may be repeated",
            )
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(PossibleValuesParser::new(CLEARED)),
        )
}

fn schedule_flags() -> [Arg; 5] {
    [
        flag("every", "TIME", "At an interval, such as 10m or 1h30m"),
        flag(
            "cron",
            "FIELDS",
            "By cron fields, such as '0 9 * * MON-FRI'",
        ),
        flag("at", "TIME", "Once, such as 2026-12-24T18:00"),
        switch("webhook", "When another system calls POST /hooks/NAME"),
        flag(
            "zone",
            "ZONE",
            "The time zone, such as Europe/Berlin; the machine's own if missing",
        ),
    ]
}

fn work_flags(is_new: bool) -> Vec<Arg> {
    let mut flags = vec![
        text_flag(
            "task",
            "Asks a model to do this; with --webhook a template: {{body}}, {{body.field}}, \
             {{header.name}} and {{query.name}} are filled in",
        ),
        flag("loop", "NAME", "Runs one iteration of this loop"),
        text_flag(
            "command",
            "Runs this command line with bash, in the sandbox",
        )
        .value_name("LINE"),
    ];
    flags.extend(task_flags(is_new));
    flags.extend([
        network_flag("network", "With --command: opens the internet"),
        time_flag(
            "timeout",
            "With --command: the longest run time; 10m if missing",
        ),
        allow_flag(),
    ]);
    flags
}

fn policy_flags() -> Vec<Arg> {
    let mut flags = vec![
        flag(
            "missed",
            "WHAT",
            "Which times missed while hob was not running are made up for; once if missing",
        )
        .value_parser(PossibleValuesParser::new(MISSED)),
        time_flag(
            "window",
            "How late a missed time may still run; 1d if missing",
        ),
        flag(
            "overlap",
            "WHAT",
            "What to do when a run is due while the previous one is still running; skip if missing",
        )
        .value_parser(PossibleValuesParser::new(OVERLAP)),
        time_flag("jitter", "Delays each run by a random time up to this"),
        flag(
            "hours",
            "FROM-TO",
            "Runs only during these hours, such as 08:00-22:00",
        ),
        flag("description", "TEXT", "A description for people"),
        flag(
            "failures-max",
            "N",
            "Disables the job after this many failures in a row; 5 if missing, 0 means never",
        )
        .value_parser(value_parser!(u32)),
    ];
    flags.extend(notify_flags());
    flags
}

fn run() -> Command {
    Command::new("run")
        .about("Runs a job now, regardless of its schedule")
        .after_help(examples(&["hob cron run tidy", "hob cron run tidy --wait"]))
        .arg(name())
        .arg(switch(
            "wait",
            "Waits for the end and shows the outcome; exits with 1 if it failed, with 3 if a call was \
             denied",
        ))
}

fn history() -> Command {
    Command::new("history")
        .about("Shows the outcome of each due time, newest first")
        .after_help(examples(&[
            "hob cron history",
            "hob cron history tidy --state failed",
            "hob cron history --limit 100 --json",
        ]))
        .arg(
            Arg::new("name")
                .value_name("NAME")
                .help("Only this job, by its name or id"),
        )
        .arg(
            flag("state", "STATE", "Only entries in this state")
                .value_parser(PossibleValuesParser::new(STATES)),
        )
        .arg(
            flag(
                "limit",
                "N",
                "At most this many; 20 if missing, 500 at most",
            )
            .short('n')
            .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(
            flag(
                "before",
                "NUMBER",
                "Continues after this entry, the last of the previous page",
            )
            .value_parser(value_parser!(u64)),
        )
}

fn secret() -> Command {
    Command::new("secret")
        .about("Shows a job's webhook address and secret")
        .long_about(
            "The caller sends the secret as 'Authorization: Bearer SECRET', or signs with it: \
             X-Hob-Signature, or GitHub's X-Hub-Signature-256.",
        )
        .after_help(examples(&[
            "hob cron secret deploy",
            "hob cron secret deploy --renew",
        ]))
        .arg(name())
        .arg(switch(
            "renew",
            "Creates a new secret; the old one stops working",
        ))
}
