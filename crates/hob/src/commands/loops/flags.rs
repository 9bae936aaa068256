//! The command line of `hob loop`.

use crate::commands::unattended_flags::{
    allow_flag, flag, network_flag, notify_flags, switch, task_flags, text_flag, time_flag,
};
use crate::run_ui::question::parse_dollars;
use crate::tree::help_text::examples;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

/// The values of `hob loop update --clear`.
const CLEARED: [&str; 8] = [
    "allow",
    "budget",
    "model",
    "monitor",
    "notify",
    "tools",
    "total",
    "workspace",
];

pub fn command() -> Command {
    Command::new("loop")
        .about("Creates, runs and watches loops: a task repeated again and again")
        .long_about(
            "Each iteration asks the model in a new session, and shows it the loop's memories, \
             the output of a monitor command, and its own last answer. A loop keeps running in the \
             background and after a restart, until it is stopped, reaches its last iteration, or \
             gives up after failures. A loop never asks: a call that no rule and no --allow covers \
             is denied.",
        )
        .after_help(examples(&[
            "hob loop create build --task \"Look at the build and mend what is broken\" \
             --monitor 'tail -n 20 build.log' --allow write --start",
            "hob loop watch build",
            "hob loop working build \"The flaky test is known; leave it\"",
            "hob loop stop build",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list())
        .subcommand(create())
        .subcommand(update())
        .subcommand(named(
            "show",
            "Shows a loop: its config, state and memories",
        ))
        .subcommand(start())
        .subcommand(stop())
        .subcommand(once())
        .subcommand(watch())
        .subcommand(history())
        .subcommand(working())
        .subcommand(persistent())
        .subcommand(delete())
}

fn name() -> Arg {
    Arg::new("name")
        .value_name("NAME")
        .required(true)
        .help("The loop's name")
}

fn named(verb: &'static str, about: &'static str) -> Command {
    Command::new(verb)
        .about(about)
        .after_help(examples(&[
            &format!("hob loop {verb} build"),
            &format!("hob loop {verb} build --json"),
        ]))
        .arg(name())
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the loops and their states")
        .after_help(examples(&[
            "hob loop list",
            "hob loop list --running --json",
        ]))
        .arg(switch("running", "Only running loops"))
}

fn create() -> Command {
    Command::new("create")
        .about("Creates a loop without starting it")
        .override_usage("hob loop create <NAME> --task <TEXT> [OPTIONS]")
        .long_about(
            "A TEXT is the text itself, a file (@FILE), or stdin (-). The monitor is a \
             command line for bash. It runs before each iteration, or at its own interval, \
             in the same sandbox as a model's commands: it can only change the workspace.",
        )
        .after_help(examples(&[
            "hob loop create build --task \"Look at the build and mend what is broken\" \
             --monitor 'cargo check 2>&1 | tail -n 20' --every 1m \
             --allow write --allow 'exec command=cargo *'",
            "hob loop create garden --task @garden.md --system @gardener.md --max 10 --start",
            "hob loop create news --task \"What is new?\" --monitor 'curl -s example.org' \
             --monitor-network --every 1h --notify chat:main",
        ]))
        .arg(name())
        .arg(text_flag("task", "The task of each iteration").required(true))
        .args(config_flags(true))
        .arg(text_flag(
            "persistent",
            "The first persistent memory, shown to every iteration",
        ))
        .arg(text_flag(
            "working",
            "The first working memory, shown to the first iteration only",
        ))
        .arg(switch("start", "Starts the loop at once"))
}

fn update() -> Command {
    Command::new("update")
        .about("Changes a loop; settings that are not named stay")
        .long_about(
            "A running loop uses the change from its next iteration on. --allow adds grants; \
             --clear resets to a default first.",
        )
        .after_help(examples(&[
            "hob loop update build --every 10m",
            "hob loop update build --monitor-every 30s",
            "hob loop update build --clear allow --allow 'exec command=cargo test *'",
        ]))
        .arg(name())
        .arg(text_flag("task", "The task of each iteration"))
        .args(config_flags(false))
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

fn config_flags(is_new: bool) -> Vec<Arg> {
    let mut flags = vec![
        text_flag("system", "The system prompt"),
        time_flag(
            "every",
            "The pause between two iterations; 5s if missing, at least 1s",
        ),
        flag(
            "max",
            "N",
            "The most iterations per start; 0, the default, means no limit",
        )
        .value_parser(value_parser!(u32)),
        text_flag(
            "monitor",
            "A command whose output is shown to each iteration",
        ),
        time_flag(
            "monitor-every",
            "Runs the monitor at this interval instead of before each iteration",
        ),
        network_flag("monitor-network", "Lets the monitor reach the internet"),
        time_flag(
            "monitor-timeout",
            "The longest run time of the monitor; 30s if missing",
        ),
    ];
    flags.extend(task_flags(is_new));
    flags.push(
        flag(
            "total-dollars",
            "X",
            "Ends the loop when one start has cost this much",
        )
        .value_parser(parse_dollars),
    );
    flags.push(allow_flag());
    flags.extend(notify_flags());
    flags.push(time_flag(
        "backoff-max",
        "The longest pause after repeated failures, which double it; 15m if missing",
    ));
    flags.push(
        flag(
            "errors-max",
            "N",
            "Gives up after this many failures in a row; 10 if missing, 0 means never",
        )
        .value_parser(value_parser!(u32)),
    );
    flags
}

fn start() -> Command {
    Command::new("start")
        .about("Starts a loop; fails if it is already running")
        .after_help(examples(&[
            "hob loop start build",
            "hob loop start build --watch",
        ]))
        .arg(name())
        .arg(watch_switch())
}

fn watch_switch() -> Arg {
    switch("watch", "Watches it until it ends")
}

fn stop() -> Command {
    Command::new("stop")
        .about("Stops a loop, its current run and its monitor")
        .long_about("Returns when everything of the loop has stopped, usually within a second.")
        .after_help(examples(&["hob loop stop build"]))
        .arg(name())
}

fn once() -> Command {
    Command::new("once")
        .about("Runs one iteration of a loop that is not running")
        .after_help(examples(&[
            "hob loop once build",
            "hob loop once build --watch",
        ]))
        .arg(name())
        .arg(watch_switch())
}

fn watch() -> Command {
    Command::new("watch")
        .about("Shows a loop live until it ends")
        .long_about(
            "On a terminal this is a live view: the iteration, the monitor, the prompt, the answer as \
             it streams, and earlier iterations. q or Ctrl-C closes the view; the loop keeps \
             running. Elsewhere it prints one line per event, with --json the events themselves. \
             If the daemon restarts, hob reconnects and the view continues.",
        )
        .after_help(examples(&[
            "hob loop watch build",
            "hob loop watch build --json",
        ]))
        .arg(name())
}

fn history() -> Command {
    Command::new("history")
        .about("Shows iterations, newest first, or one in full")
        .after_help(examples(&[
            "hob loop history build",
            "hob loop history build 7",
            "hob loop history build --limit 100 --json",
        ]))
        .arg(name())
        .arg(
            Arg::new("iteration")
                .value_name("ITERATION")
                .value_parser(value_parser!(u32).range(1..))
                .help("Shows this iteration with its prompt and answer"),
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
            flag("before", "ITERATION", "Only iterations before this one")
                .value_parser(value_parser!(u32)),
        )
}

fn text_argument(help: &'static str) -> Arg {
    Arg::new("text")
        .value_name("TEXT")
        .allow_hyphen_values(true)
        .help(help)
}

fn working() -> Command {
    Command::new("working")
        .about("Sets the working memory, shown to the next iteration only")
        .long_about(
            "It can be set while an iteration runs; the next one gets it. Without a text \
             the current working memory is shown; an empty text removes it.",
        )
        .after_help(examples(&[
            "hob loop working build \"The flaky test is known; leave it\"",
            "hob loop working build @notes.md",
            "hob loop working build ''",
        ]))
        .arg(name())
        .arg(text_argument("The text, @FILE, or - for stdin"))
}

fn persistent() -> Command {
    Command::new("persistent")
        .about("Shows, sets or reverts the persistent memory")
        .long_about(
            "It is shown to every iteration, and the loop may change it by itself. Every revision \
             is kept, so --undo can revert a change.",
        )
        .after_help(examples(&[
            "hob loop persistent build",
            "hob loop persistent build \"The tests live in tests/it\"",
            "hob loop persistent build --edit",
            "hob loop persistent build --undo",
            "hob loop persistent build --revisions",
        ]))
        .arg(name())
        .arg(text_argument("The text, @FILE, or - for stdin").conflicts_with_all(["undo", "edit"]))
        .arg(switch("undo", "Goes back to the previous revision").conflicts_with("edit"))
        .arg(switch("edit", "Opens it in $VISUAL or $EDITOR"))
        .arg(switch("revisions", "Also shows earlier revisions"))
}

fn delete() -> Command {
    Command::new("delete")
        .about("Deletes a loop that is not running, with its history")
        .after_help(examples(&["hob loop delete build"]))
        .arg(name())
}
