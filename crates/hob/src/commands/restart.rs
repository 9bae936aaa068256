//! `hob restart`: down, then up.

use super::{down, up};
use crate::context::Context;
use crate::failure::Failure;
use crate::tree::text;
use clap::{ArgMatches, Command};

pub fn command() -> Command {
    Command::new("restart")
        .about("Stops the daemon and starts it again")
        .long_about(
            "Starts with this program and the config as it is now, also when none ran. Connected clients find it again by themselves.",
        )
        .after_help(text::examples(&["hob restart".to_owned()]))
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    down::stop(context).await?;
    context.begin_anew();
    up::run(context, matches).await
}
