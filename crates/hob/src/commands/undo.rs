//! `hob undo RUN`: undoes a run's file changes.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::tree::help_text::examples;
use hob_core::visible_text::visible;
use hob_wire::rooms::agent::Status;
use hob_wire::rooms::tool::{ToolUndoParams, ToolUndoResult, Undo, UndoneChange};

/// Undoes a run's file changes.
///
/// Undoes what a run wrote, edited, moved or removed with hob's file tools, newest change first.
/// Files that were changed after the run are left as they are and listed. Effects of commands are
/// not undone. Runs can be undone for 30 days.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob undo", "hob run list", "hob undo work"]))]
pub struct UndoArgs {
    /// The run's id, the end of its id as 'hob run list' shows it, or a session key for its latest
    /// run; the latest run of this folder if missing.
    run: Option<String>,
}

pub async fn run(context: &CommandContext, args: UndoArgs) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let named = super::run::selector_or_latest(context, &client, args.run).await?;
    let run_id = match named.run_id {
        Some(run_id) => run_id,
        None => client.call::<Status>(&named).await?.run_id,
    };
    let undone = client.call::<Undo>(&ToolUndoParams { run_id }).await?;
    let terminal = &context.terminal;
    if terminal.json {
        terminal.document(&undone)?;
    } else {
        terminal.lines(lines(&undone))?;
    }
    // Changes that could not be undone are a failure for scripts.
    if undone.kept.is_empty() {
        Ok(())
    } else {
        Err(CommandFailure::quiet(ExitStatus::Failed))
    }
}

/// Formats the restored and the skipped changes.
fn lines(undone: &ToolUndoResult) -> Vec<String> {
    let line = |change: &UndoneChange| {
        let place = format!("{}/{}", change.workspace.trim_end_matches('/'), change.path);
        format!("{:<10} {}", change.what, visible(&place))
    };
    let mut lines: Vec<String> = undone.restored.iter().map(line).collect();
    let left = undone
        .kept
        .iter()
        .map(|change| format!("left: {}", visible(&change.what)));
    lines.extend(left);
    lines.extend(undone.notes.iter().cloned());
    lines
}

#[cfg(test)]
#[path = "undo_tests.rs"]
mod tests;
