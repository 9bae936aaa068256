//! The command line of `hob loop`.

use crate::commands::standing::{
    allow_flag, flag, network_flag, notify_flags, prose_flag, switch, task_flags, time_flag,
};
use crate::mind::question::parse_dollars;
use crate::tree::text::examples;
use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, Command, value_parser};

/// What `hob loop update --clear` takes back.
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
        .about("Makes, runs and watches loops: a task asked again and again")
        .long_about(
            "Each iteration asks the model in a fresh session, and shows it the loop's memories, \
             what a monitor command printed, and its own last answer. A loop goes on when nobody \
             looks and after a restart, until it is stopped, at its last iteration, or gives up \
             after failures. Nobody is asked while it works: what no rule and no --allow covers \
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
            "Shows a loop: what it does, how it stands, what it knows",
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
        .about("Lists the loops, with what each is doing")
        .after_help(examples(&[
            "hob loop list",
            "hob loop list --running --json",
        ]))
        .arg(switch("running", "Only those that run"))
}

fn create() -> Command {
    Command::new("create")
        .about("Makes a loop; it does not run yet")
        .override_usage("hob loop create <NAME> --task <TEXT> [OPTIONS]")
        .long_about(
            "A text is given as it is, from a file (@FILE), or from stdin (-). The monitor is a \
             command line for bash; it runs before each iteration, or on its own every so often, \
             in the sandbox that commands of models have: it changes the workspace only.",
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
        .arg(prose_flag("task", "What is asked in each iteration").required(true))
        .args(config_flags(true))
        .arg(prose_flag(
            "persistent",
            "Its first persistent memory: what every iteration is shown",
        ))
        .arg(prose_flag(
            "working",
            "Its first working memory: what the first iteration is shown, and no other",
        ))
        .arg(switch("start", "Starts it at once"))
}

fn update() -> Command {
    Command::new("update")
        .about("Changes a loop; what is not named stays")
        .long_about(
            "A running loop takes it up with its next iteration. --allow adds to what it may do; \
             --clear goes back to a default first.",
        )
        .after_help(examples(&[
            "hob loop update build --every 10m",
            "hob loop update build --monitor-every 30s",
            "hob loop update build --clear allow --allow 'exec command=cargo test *'",
        ]))
        .arg(name())
        .arg(prose_flag("task", "What is asked in each iteration"))
        .args(config_flags(false))
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

fn config_flags(is_new: bool) -> Vec<Arg> {
    let mut flags = vec![
        prose_flag("system", "Fixed instructions"),
        time_flag(
            "every",
            "Between the end of an iteration and the next one; 5s unless told, 1s at least",
        ),
        flag(
            "max",
            "N",
            "Iterations of one start; 0, the default, is no limit",
        )
        .value_parser(value_parser!(u32)),
        prose_flag("monitor", "A command whose output each iteration is shown"),
        time_flag(
            "monitor-every",
            "Runs the monitor on its own this often, not before each iteration",
        ),
        network_flag("monitor-network", "Lets the monitor reach the internet"),
        time_flag(
            "monitor-timeout",
            "How long one run of the monitor may take; 30s unless told",
        ),
    ];
    flags.extend(task_flags(is_new));
    flags.push(
        flag(
            "total-dollars",
            "X",
            "The loop ends when one start has cost this much",
        )
        .value_parser(parse_dollars),
    );
    flags.push(allow_flag());
    flags.extend(notify_flags());
    flags.push(time_flag(
        "backoff-max",
        "Failures in a row double the wait up to this; 15m unless told",
    ));
    flags.push(
        flag(
            "errors-max",
            "N",
            "Gives up after this many failures in a row; 10 unless told, 0 is never",
        )
        .value_parser(value_parser!(u32)),
    );
    flags
}

fn start() -> Command {
    Command::new("start")
        .about("Starts a loop; one that runs already is a conflict")
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
        .about("Stops a loop with its prompt, its monitor and its sleep")
        .long_about("Ends when nothing of it works any more; that takes about a second at most.")
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
        .about("Shows a loop as it works, until it ends")
        .long_about(
            "On a terminal a live view: the iteration, the monitor, the prompt, the answer as it \
             comes, and those before. q or Ctrl-C leaves it, and the loop goes on. Elsewhere one \
             line for each event, with --json the events themselves. A daemon that restarts is \
             found again, and the view goes on.",
        )
        .after_help(examples(&[
            "hob loop watch build",
            "hob loop watch build --json",
        ]))
        .arg(name())
}

fn history() -> Command {
    Command::new("history")
        .about("Shows iterations, the newest first, or one of them whole")
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
                .help("Shows this one with its prompt and its answer"),
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
            flag("before", "ITERATION", "Only those before this one")
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
        .about("Sets the working memory: what the next iteration is shown, and no other")
        .long_about(
            "It may be set while an iteration runs; the next one is shown it. Without a text \
             what waits is shown; an empty text takes it away.",
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
        .about("Shows, sets or takes back the persistent memory")
        .long_about(
            "Every iteration is shown it, and the loop may change it by itself. Every revision \
             is kept, so a change is taken back with --undo.",
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
        .arg(switch("undo", "Goes back to the revision before").conflicts_with("edit"))
        .arg(switch("edit", "Opens it in $VISUAL or $EDITOR"))
        .arg(switch("revisions", "Shows the earlier revisions too"))
}

fn delete() -> Command {
    Command::new("delete")
        .about("Deletes a loop that is not running, with its history")
        .after_help(examples(&["hob loop delete build"]))
        .arg(name())
}
