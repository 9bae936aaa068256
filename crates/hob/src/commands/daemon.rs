//! `hob daemon`: the house itself, in the foreground.

use crate::failure::Failure;
use crate::house::{self, DaemonOptions};
use crate::tree::text;
use clap::{Arg, ArgAction, ArgMatches, Command};
use hob_kit::world::World;

pub fn command() -> Command {
    Command::new("daemon")
        .about("Runs the daemon in the foreground")
        .long_about(
            "Runs until SIGTERM or Ctrl-C. Its first line on stdout is \
             HOB_LISTEN_ADDR=ADDRESS, printed once it answers; stdout carries nothing else. \
             `hob up` runs it in the background.",
        )
        .after_help(text::examples(&[
            "hob daemon".to_owned(),
            "hob daemon --listen 127.0.0.1:0".to_owned(),
            "hob daemon --bare".to_owned(),
        ]))
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("ADDRESS")
                .help("Listens here and not where the config says; port 0 is any free one"),
        )
        .arg(
            Arg::new("bare")
                .long("bare")
                .action(ArgAction::SetTrue)
                .help("Runs the gateway alone, without any service of hob's own"),
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

/// Runs it in this process. It has a runtime and signals of its own.
pub fn run(world: World, matches: &ArgMatches) -> Result<(), Failure> {
    if matches.get_flag("detached") {
        hob_client::start::detach();
    }
    let options = DaemonOptions {
        listen: matches.get_one::<String>("listen").cloned(),
        bare: matches.get_flag("bare"),
        last_down: matches.get_one::<String>("last-down").cloned(),
    };
    house::run_daemon(world, options).map_err(|error| Failure::failed(format!("{error:#}")))
}
