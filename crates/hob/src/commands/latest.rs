//! "The latest here": the run, and its session, that a command means when it names none.
//!
//! Invariant: the command prints which run it took before it acts on it.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{one_line, truncate};
use crate::render::{TextTone, runs};
use crate::run_ui::run_request;
use crate::terminal::Terminal;
use crate::tree::help_text::quoted;
use hob_client::Client;
use hob_wire::rooms::agent::{AgentListParams, List, RunView};

/// The columns of the note about the run when stderr is not a terminal.
const NOTE_COLUMNS: usize = 120;

/// Returns the latest run that was asked in the current folder, and notes it on stderr.
pub(super) async fn run_here(
    context: &CommandContext,
    client: &Client,
) -> Result<RunView, CommandFailure> {
    let Some(folder) = run_request::workspace(context, None)? else {
        return Err(CommandFailure::usage(
            "Without a folder of this machine there is no latest run here.",
        )
        .next("Name a run or a session: `hob run list` shows them."));
    };
    let params = AgentListParams {
        folder: Some(folder.clone()),
        limit: Some(1),
        ..AgentListParams::default()
    };
    let page = client.call_with_retry::<List>(&params).await?;
    let Some(run) = page.runs.into_iter().next() else {
        let sentence = format!("Nothing was asked in {} yet.", one_line(&folder));
        let failure = CommandFailure::new(ExitStatus::NotFound, "NOT_FOUND", sentence);
        return Err(
            failure.next("`hob run list` and `hob session list` show those of all folders.")
        );
    };
    if !context.terminal.json {
        let screen = context.terminal.stderr_screen();
        let task = one_line(run.task.trim());
        let line = format!(
            "The latest run here, {}: {task}",
            runs::short_id(run.run_id)
        );
        let line = truncate(&line, screen.width.unwrap_or(NOTE_COLUMNS));
        Terminal::note(screen.paint(TextTone::Quiet, &line));
    }
    Ok(run)
}

/// The words that name this session on a command line.
pub(super) fn session_word(key: &str) -> String {
    quoted(&one_line(key))
}
