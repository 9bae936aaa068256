//! The command line of `hob cron`.

use crate::commands::standing::{
    allow_flag, flag, network_flag, notify_flags, prose_flag, switch, task_flags, time_flag,
};
use crate::tree::text::examples;
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
/// What `hob cron update --clear` takes back.
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
        .about("Adds, shows and runs jobs: work by the calendar or when called")
        .long_about(
            "A job asks a model, runs one iteration of a loop, or runs a command in the sandbox: \
             every so often, by cron fields, once, or when another system calls it. Each time it \
             is due is kept with what became of it: run, skipped and why, or missed. Nobody is \
             asked while it works: what no rule and no --allow covers is denied.",
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
            "Shows a job: what it does, when, and how it went",
        ))
        .subcommand(run())
        .subcommand(history())
        .subcommand(named(
            "enable",
            "Lets a job run by its schedule again, from now on",
        ))
        .subcommand(named("disable", "Keeps a job from running by its schedule"))
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
        .about("Lists the jobs, with when each is due next and how it went last")
        .after_help(examples(&["hob cron list", "hob cron list --json"]))
}

fn add() -> Command {
    Command::new("add")
        .about("Adds a job, and says when it is due")
        .override_usage("hob cron add <NAME> <WHEN> <WORK> [OPTIONS]")
        .long_about(
            "WHEN is --every, --cron, --at or --webhook; WORK is --task, --loop or --command.\n\n\
             Cron fields are five, or six with seconds first; @daily and its like are taken too. \
             A time that a change of the clocks leaves out is run at the next that exists, one \
             that comes twice is run once. A task is given as it is, from a file (@FILE), or \
             from stdin (-).",
        )
        .after_help(examples(&[
            "hob cron add tidy --every 10m --task \"Sort what lies in the inbox folder\" \
             --allow move",
            "hob cron add morning --cron '0 9 * * MON-FRI' --zone Europe/Berlin \
             --task \"What is on today?\" --notify chat:main",
            "hob cron add party --at 2026-12-24T18:00 --command 'touch it-is-time'",
            "hob cron add deploy --webhook --task \"Look at this: {{body}}\"",
        ]))
        .arg(name().help("A name: lower-case letters, digits and dashes"))
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
        .arg(switch("disabled", "Adds it without letting it run yet"))
}

fn update() -> Command {
    Command::new("update")
        .about("Changes a job; what is not named stays")
        .long_about("--allow adds to what it may do; --clear goes back to a default first.")
        .after_help(examples(&[
            "hob cron update tidy --every 1h",
            "hob cron update morning --zone Europe/Lisbon --hours 08:00-20:00",
            "hob cron update tidy --clear allow --allow 'move path=inbox'",
        ]))
        .arg(name())
        .arg(flag("rename", "NAME", "Its new name"))
        .args(schedule_flags())
        .group(ArgGroup::new("schedule").args(["every", "cron", "at", "webhook"]))
        .args(work_flags(false))
        .group(ArgGroup::new("work").args(["task", "loop", "command"]))
        .args(policy_flags())
        .arg(
            flag(
                "clear",
                "WHAT",
                "Takes this back to its default; may be repeated",
            )
            .action(ArgAction::Append)
            .value_delimiter(',')
            .value_parser(PossibleValuesParser::new(CLEARED)),
        )
}

fn schedule_flags() -> [Arg; 5] {
    [
        flag("every", "TIME", "Every so often, such as 10m or 1h30m"),
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
            "The time zone it goes by, such as Europe/Berlin; the machine's own when missing",
        ),
    ]
}

fn work_flags(is_new: bool) -> Vec<Arg> {
    let mut flags = vec![
        prose_flag(
            "task",
            "Asks a model to do this; with --webhook a template: {{body}}, {{body.field}}, \
             {{header.name}} and {{query.name}} are filled in",
        ),
        flag("loop", "NAME", "Runs one iteration of this loop"),
        prose_flag("command", "Runs this command line by bash, in the sandbox").value_name("LINE"),
    ];
    flags.extend(task_flags(is_new));
    flags.extend([
        network_flag("network", "With --command: lets it reach the internet"),
        time_flag(
            "timeout",
            "With --command: how long it may take; 10m when missing",
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
            "What is run of times that passed while hob was away; once when missing",
        )
        .value_parser(PossibleValuesParser::new(MISSED)),
        time_flag(
            "window",
            "How late a time may still be run; 1d when missing",
        ),
        flag(
            "overlap",
            "WHAT",
            "What becomes of a time that comes while the one before works; skip when missing",
        )
        .value_parser(PossibleValuesParser::new(OVERLAP)),
        time_flag("jitter", "Begins up to this much later, by chance"),
        flag(
            "hours",
            "FROM-TO",
            "Only at this time of the day, such as 08:00-22:00",
        ),
        flag("description", "TEXT", "What it is for, for people"),
        flag(
            "failures-max",
            "N",
            "Disables it after this many failures in a row; 5 when missing, 0 is never",
        )
        .value_parser(value_parser!(u32)),
    ];
    flags.extend(notify_flags());
    flags
}

fn run() -> Command {
    Command::new("run")
        .about("Runs a job now, whatever its schedule says")
        .after_help(examples(&["hob cron run tidy", "hob cron run tidy --wait"]))
        .arg(name())
        .arg(switch(
            "wait",
            "Waits for its end and shows it; exits with 1 when it failed, with 3 when a call was \
             denied",
        ))
}

fn history() -> Command {
    Command::new("history")
        .about("Shows what became of each time a job was due, the newest first")
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
            flag("state", "STATE", "Only those that ended so")
                .value_parser(PossibleValuesParser::new(STATES)),
        )
        .arg(
            flag(
                "limit",
                "N",
                "At most this many; 20 when missing, 500 at the most",
            )
            .short('n')
            .value_parser(value_parser!(u32).range(1..)),
        )
        .arg(
            flag("before", "NUMBER", "Where the page before ended")
                .value_parser(value_parser!(u64)),
        )
}

fn secret() -> Command {
    Command::new("secret")
        .about("Shows how another system calls a job, with its secret")
        .long_about(
            "The secret is sent as 'Authorization: Bearer SECRET', or is the key of a signature: \
             X-Hob-Signature, or GitHub's X-Hub-Signature-256.",
        )
        .after_help(examples(&[
            "hob cron secret deploy",
            "hob cron secret deploy --renew",
        ]))
        .arg(name())
        .arg(switch(
            "renew",
            "Makes a new one; the old one opens nothing any more",
        ))
}
