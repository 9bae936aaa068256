//! `hob ROOM VERB`: calls the wire method ROOM.VERB and prints the result.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::model_pull;
use crate::render;
use crate::tree::derive;
use clap::error::ErrorKind;
use clap::{ArgMatches, Command, FromArgMatches, Subcommand};
use hob_client::CallOptions;
use hob_wire::rooms::model::{ModelTestResult, Test};
use hob_wire::rooms::model_files::Pull;
use hob_wire::rooms::session::{Export, SessionExportParams};
use hob_wire::{Method, MethodSpec};
use serde_json::Value;

/// A command line `hob ROOM VERB` whose arguments are the params of a method.
#[derive(Clone, Debug)]
pub struct RoomCall {
    spec: &'static MethodSpec,
    matches: ArgMatches,
}

impl RoomCall {
    /// Returns true if the command handles Ctrl-C itself.
    pub fn handles_interrupts(&self) -> bool {
        self.spec.name == Pull::SPEC.name
    }
}

impl FromArgMatches for RoomCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<RoomCall, clap::Error> {
        let call = matches.subcommand().and_then(|(room, matches)| {
            let (verb, matches) = matches.subcommand()?;
            let (spec, matches) = (derive::method(room, verb)?, matches.clone());
            Some(RoomCall { spec, matches })
        });
        call.ok_or_else(|| clap::Error::new(ErrorKind::MissingSubcommand))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = RoomCall::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for RoomCall {
    fn augment_subcommands(command: Command) -> Command {
        derive::add_rooms(command)
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        derive::add_rooms(command)
    }

    fn has_subcommand(name: &str) -> bool {
        derive::rooms().iter().any(|(room, _)| *room == name)
    }
}

pub async fn run(context: &CommandContext, line: RoomCall) -> Result<(), CommandFailure> {
    let spec = line.spec;
    // Stdin is read on its own thread, so that Ctrl-C still ends the command.
    let read = move || derive::params(spec, &line.matches, &mut std::io::stdin());
    let params = tokio::task::spawn_blocking(read).await.map_err(|error| {
        CommandFailure::failed(format!("Reading the command line failed: {error}."))
    })??;
    // An export prints all pages as one stream of lines.
    if spec.name == Export::SPEC.name {
        return export(context, params).await;
    }
    // A download shows its plan, asks, and shows its progress.
    if spec.name == Pull::SPEC.name {
        return model_pull::run(context, params).await;
    }
    call(context, spec, &params).await
}

/// Calls a method and prints its result.
pub async fn call(
    context: &CommandContext,
    spec: &MethodSpec,
    params: &Value,
) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let params = params.to_string();
    let result = client
        .call_raw(spec.name, Some(params.into()), CallOptions::default())
        .await
        .map_err(|error| suggest_list(spec, error.into()))?;
    print(context, spec.name, result.as_deref())?;
    if has_failed(spec, result.as_deref()) {
        return Err(CommandFailure::quiet(ExitStatus::Failed));
    }
    Ok(())
}

/// Returns true if the call succeeded but its result is a failure. A model test that did not pass
/// must have a failing exit code for scripts.
fn has_failed(spec: &MethodSpec, result: Option<&[u8]>) -> bool {
    let tested = || serde_json::from_slice::<ModelTestResult>(result?).ok();
    spec.name == Test::SPEC.name && tested().is_some_and(|tested| !tested.ok)
}

/// Suggests the room's list command if something was not found.
fn suggest_list(spec: &MethodSpec, mut failure: CommandFailure) -> CommandFailure {
    let room = spec.name.split_once('.').map_or("", |(room, _)| room);
    let has_list = derive::method(room, "list").is_some();
    if failure.exit == ExitStatus::NotFound && failure.next.is_none() && has_list {
        failure.next = Some(format!("See `hob {room} list`."));
    }
    failure
}

/// Prints a result: unchanged with `--json`, formatted otherwise.
fn print(
    context: &CommandContext,
    method: &str,
    result: Option<&[u8]>,
) -> Result<(), CommandFailure> {
    let result: Value = serde_json::from_slice(result.unwrap_or(b"null")).map_err(|error| {
        CommandFailure::failed(format!("The answer of {method} is not JSON: {error}."))
    })?;
    if context.terminal.json {
        return Ok(context.terminal.document(&result)?);
    }
    let lines = render::result(method, &result, context.terminal.screen());
    Ok(context.terminal.lines(lines)?)
}

/// Prints every message from the first (or after `--after`) to the last, one JSON line each.
async fn export(context: &CommandContext, params: Value) -> Result<(), CommandFailure> {
    let client = context.client().await?;
    let mut params: SessionExportParams = serde_json::from_value(params)
        .map_err(|error| CommandFailure::usage(format!("session.export: {error}.")))?;
    loop {
        let page = client.call::<Export>(&params).await;
        let page = page.map_err(|error| suggest_list(&Export::SPEC, error.into()))?;
        for message in &page.messages {
            context.terminal.document(message)?;
        }
        context.terminal.flush()?;
        match page.next {
            Some(next) => params.after = Some(next),
            None => return Ok(()),
        }
    }
}
