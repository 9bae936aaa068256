//! `hob up`: the daemon, in the background.

use super::status;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::Tone;
use crate::render::words::{one_line, wrap};
use crate::terminal::Terminal;
use crate::tree::text;
use clap::{ArgMatches, Command};

pub fn command() -> Command {
    Command::new("up")
        .about("Starts the daemon in the background, unless it runs already")
        .long_about(
            "Returns once the daemon answers. Most commands start it by themselves; this one does so even under \
             HOB_AUTOSTART=0.",
        )
        .after_help(text::examples(&[
            "hob up".to_owned(),
            "hob up --json".to_owned(),
        ]))
}

pub async fn run(context: &Context, _: &ArgMatches) -> Result<(), Failure> {
    context.is_here()?;
    let began = context.running_client().await?.is_none();
    if began {
        context.launch()?.start().await?;
    }
    let client = context.client().await?;
    let status = status::of_daemon(&client).await?;
    if context.terminal.json {
        let mut document = status::document(&status);
        document["started"] = began.into();
        return Ok(context.terminal.document(&document)?);
    }
    let word = if began { "Running" } else { "Running already" };
    let line = format!(
        "{word}: pid {}, {}.",
        status.pid,
        status.listeners.join(", ")
    );
    context.terminal.line(line)?;
    let asides = context.terminal.asides();
    for note in &status.notes {
        let room = asides.width.unwrap_or(usize::MAX);
        for line in wrap(&one_line(note), room) {
            Terminal::note(asides.paint(Tone::Warning, &line));
        }
    }
    Ok(())
}
