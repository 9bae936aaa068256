//! `hob complete-names`: the names that may stand at the cursor, for the shells' completion: models,
//! sessions, runs, services, jobs, loops and terminals.
//!
//! Invariant: it starts no daemon, prints no error, and ends within [`TIME_MAX`].

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::runs::short_id;
use crate::tree;
use clap::{Arg, Command};
use hob_client::Client;
use hob_wire::rooms::agent::{AgentListParams, List as Runs};
use hob_wire::rooms::loops::{List as Loops, LoopListParams};
use hob_wire::rooms::model::{List as Models, ModelListParams};
use hob_wire::rooms::service::{List as Services, ServiceListParams};
use hob_wire::rooms::session::{List as Sessions, SessionListParams};
use hob_wire::rooms::terminal::{List as Terminals, TerminalListParams};
use std::time::Duration;

/// A shell waits that long for names.
const TIME_MAX: Duration = Duration::from_secs(2);
/// The names of one kind.
const NAMES_MAX: u32 = 100;

/// Prints the names that may stand at the end of a command line.
///
/// The completion scripts of `hob completions` call it.
#[derive(Debug, clap::Args)]
#[command(hide = true, after_help = crate::tree::help_text::examples(&["hob complete-names -- run show ''"]))]
pub struct CompleteNamesArgs {
    /// The words after hob, the last one as far as it is typed.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// A kind of names that only a daemon knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NameKind {
    Model,
    Session,
    Run,
    Service,
    Job,
    Loop,
    Terminal,
}

pub async fn run(context: &CommandContext, args: CompleteNamesArgs) -> Result<(), CommandFailure> {
    let words: Vec<&str> = args.words.iter().map(String::as_str).collect();
    let Some((typed, before)) = words.split_last() else {
        return Ok(());
    };
    let Some(kind) = kind_at(before).filter(|_| !typed.starts_with('-')) else {
        return Ok(());
    };
    let listing = async {
        let client = context.running_client().await.ok()??;
        names(&client, kind).await
    };
    let names = tokio::time::timeout(TIME_MAX, listing).await;
    let names = names.ok().flatten().unwrap_or_default();
    // A name with a space or a control character would come back as several words.
    let is_word = |name: &String| !name.contains(|it: char| it.is_whitespace() || it.is_control());
    let fitting = names.into_iter().filter(|name| name.starts_with(typed));
    Ok(context.terminal.lines(fitting.filter(is_word))?)
}

/// Returns the kind of name that comes after these words; `None` if the shell knows what comes.
fn kind_at(words: &[&str]) -> Option<NameKind> {
    let mut command = tree::command();
    command.build();
    let (mut command, mut path) = (&command, Vec::new());
    let (mut position, mut flag) = (0, None);
    for word in words {
        if flag.take().is_some() {
            continue;
        }
        if let Some(name) = word.strip_prefix('-') {
            flag = flag_of(command, name).filter(|_| !word.contains('='));
        } else if let Some(sub) = command.find_subcommand(word) {
            path.push(sub.get_name());
            command = sub;
        } else {
            position += 1;
        }
    }
    let argument = match flag {
        Some(flag) => Some(flag),
        None => command.get_positionals().nth(position),
    };
    kind_of(&path, argument?.get_id().as_str())
}

/// Returns the flag with this name, if it takes a value.
fn flag_of<'c>(command: &'c Command, name: &str) -> Option<&'c Arg> {
    let found = command
        .get_arguments()
        .find(|argument| match name.strip_prefix('-') {
            Some(long) => argument.get_long() == Some(long),
            None => argument
                .get_short()
                .is_some_and(|short| name.ends_with(short)),
        });
    found.filter(|argument| argument.get_action().takes_values())
}

fn kind_of(path: &[&str], argument: &str) -> Option<NameKind> {
    Some(match (path, argument) {
        (_, "model" | "models") => NameKind::Model,
        (_, "session" | "sessionKey" | "notify") => NameKind::Session,
        (_, "run") => NameKind::Run,
        (["service", ..], "name") | (["say"], "service") => NameKind::Service,
        (["cron", ..], "name") => NameKind::Job,
        (["loop", ..], "name") => NameKind::Loop,
        (["terminal", ..], "name" | "bare_name") => NameKind::Terminal,
        _ => return None,
    })
}

async fn names(client: &Client, kind: NameKind) -> Option<Vec<String>> {
    Some(match kind {
        NameKind::Model => {
            let found = client
                .call::<Models>(&ModelListParams::default())
                .await
                .ok()?;
            let aliases = found.aliases.into_iter().map(|it| it.alias);
            aliases
                .chain(found.models.into_iter().map(|it| it.id))
                .collect()
        }
        NameKind::Session => {
            let params = SessionListParams {
                limit: Some(NAMES_MAX),
                ..SessionListParams::default()
            };
            let found = client.call::<Sessions>(&params).await.ok()?;
            found
                .sessions
                .into_iter()
                .map(|it| it.session_key)
                .collect()
        }
        NameKind::Run => {
            let params = AgentListParams {
                limit: Some(NAMES_MAX),
                ..AgentListParams::default()
            };
            let found = client.call::<Runs>(&params).await.ok()?;
            found.runs.iter().map(|it| short_id(it.run_id)).collect()
        }
        NameKind::Service => {
            let found = client.call::<Services>(&ServiceListParams {}).await.ok()?;
            found
                .services
                .into_iter()
                .map(|it| it.status.name)
                .collect()
        }
        NameKind::Job => {
            let found = super::cron::list_all(client).await.ok()?;
            found.jobs.into_iter().map(|it| it.terms.name).collect()
        }
        NameKind::Loop => {
            let found = client
                .call::<Loops>(&LoopListParams::default())
                .await
                .ok()?;
            found.loops.into_iter().map(|it| it.name).collect()
        }
        NameKind::Terminal => {
            let found = client
                .call::<Terminals>(&TerminalListParams {})
                .await
                .ok()?;
            found.terminals.into_iter().map(|it| it.name).collect()
        }
    })
}

#[cfg(test)]
#[path = "complete_names_tests.rs"]
mod tests;
