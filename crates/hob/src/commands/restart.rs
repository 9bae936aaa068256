//! `hob restart`: stops the daemon and starts it again.

use super::{down, up};
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text;
use clap::{ArgMatches, Command};

pub fn command() -> Command {
    Command::new("restart")
        .about("Stops the daemon and starts it again")
        .long_about(
            "The new daemon uses this program and the current config. Also starts one if none ran. Connected clients reconnect by themselves.",
        )
        .after_help(help_text::examples(&["hob restart".to_owned()]))
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    down::stop(context).await?;
    // `stop` renewed the last-down mark; with the old one this start would be refused as outdated.
    context.refresh_last_down();
    up::run(context, matches).await
}
