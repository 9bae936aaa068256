//! `hob up`: starts the daemon in the background.

use super::status;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::TextTone;
use crate::render::text::{one_line, wrap};
use crate::terminal::Terminal;
use crate::tree::help_text::examples;

/// Starts the daemon in the background, unless it is already running.
///
/// Returns once the daemon answers. Most commands start it by themselves; this one starts it even
/// with `HOB_AUTOSTART=0`.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob up", "hob up --json"]))]
pub struct UpArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    context.ensure_local()?;
    let began = context.running_client().await?.is_none();
    if began {
        context.launcher()?.start().await?;
    }
    let client = context.client().await?;
    let status = status::fetch_status(&client).await?;
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
    let screen = context.terminal.stderr_screen();
    // Notes go to stderr, so that stdout holds only the result.
    for note in &status.notes {
        let room = screen.width.unwrap_or(usize::MAX);
        for line in wrap(&one_line(note), room) {
            Terminal::note(screen.paint(TextTone::Warning, &line));
        }
    }
    Ok(())
}
