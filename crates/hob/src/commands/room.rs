//! `hob ROOM VERB`: calls the wire method ROOM.VERB and prints the result.

use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render;
use crate::tree::derive;
use clap::ArgMatches;
use hob_client::{CallOptions, Client};
use hob_wire::rooms::model::{ModelTestResult, Test};
use hob_wire::rooms::session::{Export, SessionExportParams};
use hob_wire::{Method, MethodSpec};
use serde_json::Value;

pub async fn run(
    context: &CommandContext,
    room: &str,
    verb: &str,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let Some(spec) = derive::method(room, verb) else {
        return Err(CommandFailure::quiet(ExitStatus::Usage));
    };
    call(context, spec, matches).await
}

/// Calls `spec` with the params that `matches` gives, and prints the result.
pub async fn call(
    context: &CommandContext,
    spec: &MethodSpec,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    let params = params(spec, matches).await?;
    let client = context.client().await?;
    // An export prints all pages as one stream of lines.
    if spec.name == "session.export" {
        return export(context, &client, params).await;
    }
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

/// Reads the params from the command line. Stdin is read on its own thread, so that Ctrl-C still
/// ends the command.
async fn params(spec: &MethodSpec, matches: &ArgMatches) -> Result<Value, CommandFailure> {
    let (spec, matches) = (*spec, matches.clone());
    let read = move || derive::params(&spec, &matches, &mut std::io::stdin());
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| {
        Err(CommandFailure::failed(format!(
            "Reading the command line failed: {error}."
        )))
    })
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
pub fn print(
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
async fn export(
    context: &CommandContext,
    client: &Client,
    params: Value,
) -> Result<(), CommandFailure> {
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
