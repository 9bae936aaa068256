//! The command line of `hob service`.

use crate::tree::help_text::examples;
use clap::{Arg, ArgAction, Command, value_parser};

pub fn command() -> Command {
    Command::new("service")
        .about("Installs, starts, watches and stops local services")
        .long_about(
            "A service is built in, such as llm, the model on this machine, or your own, defined \
             in a file services/NAME.toml in the home. Services start by \
             themselves when hob needs them. To start one with the daemon: \
             hob config set services.NAME.autostart true",
        )
        .after_help(examples(&[
            "hob service list",
            "hob service install llm",
            "hob service logs llm -f",
            "hob config set services.tts.autostart true",
        ]))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(list())
        .subcommand(status())
        .subcommand(start())
        .subcommand(stop())
        .subcommand(restart())
        .subcommand(logs())
        .subcommand(install())
        .subcommand(uninstall())
}

fn list() -> Command {
    Command::new("list")
        .about("Lists the services and their states")
        .after_help(examples(&["hob service list", "hob service list --json"]))
}

fn status() -> Command {
    Command::new("status")
        .about("Shows the state of a service")
        .after_help(examples(&[
            "hob service status llm",
            "hob service status llm --json",
        ]))
        .arg(name())
}

fn start() -> Command {
    Command::new("start")
        .about("Starts a service and its dependencies")
        .long_about(
            "Waits until it is ready. If it fails, the reason and its last lines of output are \
             shown and the exit code is 1. A running service is left as it is.",
        )
        .after_help(examples(&[
            "hob service start llm",
            "hob service start llm --no-wait",
        ]))
        .arg(name())
        .arg(no_wait())
}

fn stop() -> Command {
    Command::new("stop")
        .about("Stops a service, after the services that depend on it")
        .long_about(
            "Returns when all its processes have exited. A service that hob did not start \
             is not stopped.",
        )
        .after_help(examples(&["hob service stop llm"]))
        .arg(name())
}

fn restart() -> Command {
    Command::new("restart")
        .about("Stops a service and starts it again")
        .long_about("Waits until it is ready, like start.")
        .after_help(examples(&["hob service restart llm"]))
        .arg(name())
        .arg(no_wait())
}

fn logs() -> Command {
    Command::new("logs")
        .about("Shows the last lines of a service's output")
        .after_help(examples(&[
            "hob service logs llm",
            "hob service logs llm -n 500",
            "hob service logs llm -f",
        ]))
        .arg(name())
        .arg(
            Arg::new("follow")
                .long("follow")
                .short('f')
                .action(ArgAction::SetTrue)
                .help("Keeps printing new lines"),
        )
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32))
                .help("The number of lines to show; 50 if missing"),
        )
}

fn install() -> Command {
    Command::new("install")
        .about("Installs a service, after showing the steps")
        .long_about(
            "Shows the steps, the downloads and where they go, and asks before it begins. An \
             interrupted installation continues where it stopped; a failed one leaves \
             nothing behind. Ctrl-C stops waiting, not the installation.",
        )
        .after_help(examples(&[
            "hob service install llm",
            "hob service install llm --yes",
            "hob service install llm --yes --json",
        ]))
        .arg(name())
        .arg(
            Arg::new("yes")
                .long("yes")
                .short('y')
                .action(ArgAction::SetTrue)
                .help("Installs without asking"),
        )
}

fn uninstall() -> Command {
    Command::new("uninstall")
        .about("Stops a service and removes what was installed for it")
        .after_help(examples(&["hob service uninstall llm"]))
        .arg(name())
}

fn name() -> Arg {
    Arg::new("name")
        .value_name("NAME")
        .required(true)
        .help("The service's name or alias")
}

fn no_wait() -> Arg {
    Arg::new("no-wait")
        .long("no-wait")
        .action(ArgAction::SetTrue)
        .help("Returns without waiting until it is ready")
}
