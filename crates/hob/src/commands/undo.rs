//! `hob undo RUN`: what a run changed in files becomes as it was before.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::tree::text;
use clap::{Arg, ArgMatches, Command};
use hob_core::visible_text::visible;
use hob_wire::rooms::agent::Status;
use hob_wire::rooms::tool::{Undo, UndoParams, Undone, UndoneChange};

pub fn command() -> Command {
    Command::new("undo")
        .about("Undoes what a run changed in files")
        .long_about(
            "Brings back what a run wrote, edited, moved or removed with hob's file tools, the \
             newest change first. What somebody changed after the run is left as it is, and \
             said. What commands did is not undone. Runs can be undone for 30 days.",
        )
        .after_help(text::examples(&[
            "hob run list".to_owned(),
            "hob undo work".to_owned(),
        ]))
        .arg(Arg::new("run").value_name("RUN").required(true).help(
            "The run's id or its end, as 'hob run list' shows it, or its session for the latest",
        ))
}

pub async fn run(context: &Context, matches: &ArgMatches) -> Result<(), Failure> {
    let client = context.client().await?;
    let named = super::run::selector(&client, matches).await?;
    let run_id = match named.run_id {
        Some(run_id) => run_id,
        None => client.call::<Status>(&named).await?.run_id,
    };
    let undone = client.call::<Undo>(&UndoParams { run_id }).await?;
    let terminal = &context.terminal;
    if terminal.json {
        terminal.document(&undone)?;
    } else {
        terminal.lines(lines(&undone))?;
    }
    if undone.kept.is_empty() {
        Ok(())
    } else {
        Err(Failure::quiet(Exit::Failed))
    }
}

/// What is told to a person.
fn lines(undone: &Undone) -> Vec<String> {
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
