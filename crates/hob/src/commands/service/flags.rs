//! The command line of `hob service`.

use crate::tree::text::examples;
use clap::{Arg, ArgAction, Command, value_parser};

pub fn command() -> Command {
    Command::new("service")
        .about("Installs, starts, watches and stops local services")
        .long_about(
            "A service is one that hob ships, such as llm, the model on this machine, or one of \
             your own in a file services/NAME.toml of the home. Services that hob needs start by \
             themselves when they are asked for; to start one with the daemon: \
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
        .about("Lists the services there are, with what each is doing")
        .after_help(examples(&["hob service list", "hob service list --json"]))
}

fn status() -> Command {
    Command::new("status")
        .about("Shows what one service is doing")
        .after_help(examples(&[
            "hob service status llm",
            "hob service status llm --json",
        ]))
        .arg(name())
}

fn start() -> Command {
    Command::new("start")
        .about("Starts a service and those it needs")
        .long_about(
            "Waits until it is ready. If it fails, the reason and the last lines it printed are \
             shown and the exit code is 1. One that runs stays as it is.",
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
        .about("Stops a service and, before it, those that need it")
        .long_about(
            "Ends when nothing of it lives. A service that hob found running is not hob's to \
             stop.",
        )
        .after_help(examples(&["hob service stop llm"]))
        .arg(name())
}

fn restart() -> Command {
    Command::new("restart")
        .about("Stops a service and starts it again")
        .long_about("Waits until it is ready, as start does.")
        .after_help(examples(&["hob service restart llm"]))
        .arg(name())
        .arg(no_wait())
}

fn logs() -> Command {
    Command::new("logs")
        .about("Shows the last lines a service printed")
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
                .help("Goes on with lines as they are printed"),
        )
        .arg(
            Arg::new("lines")
                .long("lines")
                .short('n')
                .value_name("N")
                .value_parser(value_parser!(u32))
                .help("How many of the last lines; 50 when missing"),
        )
}

fn install() -> Command {
    Command::new("install")
        .about("Installs a service, after showing what that takes")
        .long_about(
            "Shows the steps, what they fetch and where it goes, and asks before it begins. An \
             installation that was interrupted goes on where it stopped; one that fails leaves \
             nothing half done. Ctrl-C stops the waiting, not the installation.",
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
        .about("Stops a service and removes what installing it brought")
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
        .help("Returns once it is starting")
}
