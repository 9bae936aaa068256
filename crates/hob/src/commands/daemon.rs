//! `hob daemon`: runs the daemon in the foreground.

use crate::daemon_process::{self, DaemonOptions};
use crate::failure::CommandFailure;
use crate::tree::help_text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_kit::host_environment::HostEnvironment;

pub fn command() -> Command {
    Command::new("daemon")
        .about("Runs the daemon in the foreground")
        .long_about(
            "Runs until SIGTERM or Ctrl-C. Its first line on stdout is \
             HOB_LISTEN_ADDR=ADDRESS, printed once it answers; stdout carries nothing else. \
             `hob up` runs it in the background.",
        )
        .after_help(help_text::examples(&[
            "hob daemon".to_owned(),
            "hob daemon --listen 127.0.0.1:0".to_owned(),
            "hob daemon --bare".to_owned(),
        ]))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .help("The address to listen on instead of the configured one; port 0 picks a free port"),
        )
        .arg(
            Arg::new("bare")
                .long("bare")
                .action(ArgAction::SetTrue)
                .help("Runs only the gateway, without hob's own services"),
        )
        .arg(
            Arg::new("last-down")
                .long("last-down")
                .value_name("MARK")
                .hide(true),
        )
        .arg(
            Arg::new("detached")
                .long("detached")
                .action(ArgAction::SetTrue)
                .hide(true),
        )
}

/// Runs the daemon in this process. It sets up its own runtime and signal handlers.
pub fn run(world: HostEnvironment, matches: &ArgMatches) -> Result<(), CommandFailure> {
    if matches.get_flag("detached") {
        hob_client::launcher::detach();
    }
    let options = DaemonOptions {
        listen: matches.get_one::<String>("listen").cloned(),
        bare: matches.get_flag("bare"),
        last_down: matches.get_one::<String>("last-down").cloned(),
    };
    daemon_process::run_daemon(world, options)
        .map_err(|error| CommandFailure::failed(format!("{error:#}")))
}
