//! `hob ROOM VERB`: calls the method behind it and draws the result.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render;
use crate::tree::derive;
use clap::ArgMatches;
use hob_client::{CallOptions, Client};
use hob_wire::rooms::model::{Test, Tested};
use hob_wire::rooms::session::{Export, ExportParams};
use hob_wire::{Method, MethodSpec};
use serde_json::Value;

pub async fn run(
    context: &Context,
    room: &str,
    verb: &str,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let Some(spec) = derive::method(room, verb) else {
        return Err(Failure::quiet(Exit::Usage));
    };
    call(context, spec, matches).await
}

/// Calls `spec` with the params that `matches` gives, and prints the result.
pub async fn call(
    context: &Context,
    spec: &MethodSpec,
    matches: &ArgMatches,
) -> Result<(), Failure> {
    let params = params(spec, matches).await?;
    let client = context.client().await?;
    // An export is a stream of lines, not a page.
    if spec.name == "session.export" {
        return export(context, &client, params).await;
    }
    let params = params.to_string();
    let result = client
        .call_raw(spec.name, Some(params.into()), CallOptions::default())
        .await
        .map_err(|error| with_list(spec, error.into()))?;
    print(context, spec.name, result.as_deref())?;
    if has_failed(spec, result.as_deref()) {
        return Err(Failure::quiet(Exit::Failed));
    }
    Ok(())
}

/// Whether the result tells of a failure: a test that did not pass must not look passed to a
/// script.
fn has_failed(spec: &MethodSpec, result: Option<&[u8]>) -> bool {
    let tested = || serde_json::from_slice::<Tested>(result?).ok();
    spec.name == Test::SPEC.name && tested().is_some_and(|tested| !tested.ok)
}

/// The params of the command line. Reading stdin happens on a thread of its own, so that Ctrl-C
/// still ends the command.
async fn params(spec: &MethodSpec, matches: &ArgMatches) -> Result<Value, Failure> {
    let (spec, matches) = (*spec, matches.clone());
    let read = move || derive::params(&spec, &matches, &mut std::io::stdin());
    let read = tokio::task::spawn_blocking(read).await;
    read.unwrap_or_else(|error| {
        Err(Failure::failed(format!(
            "The command line broke off: {error}."
        )))
    })
}

/// Names the command that shows what there is, when what was named is not.
fn with_list(spec: &MethodSpec, mut failure: Failure) -> Failure {
    let room = spec.name.split_once('.').map_or("", |(room, _)| room);
    let has_list = derive::method(room, "list").is_some();
    if failure.exit == Exit::NotFound && failure.next.is_none() && has_list {
        failure.next = Some(format!("`hob {room} list` shows what there is."));
    }
    failure
}

/// Prints a result: as it came with `--json`, drawn otherwise.
pub fn print(context: &Context, method: &str, result: Option<&[u8]>) -> Result<(), Failure> {
    let result: Value = serde_json::from_slice(result.unwrap_or(b"null")).map_err(|error| {
        Failure::failed(format!("The answer of {method} is not JSON: {error}."))
    })?;
    if context.terminal.json {
        return Ok(context.terminal.document(&result)?);
    }
    let lines = render::result(method, &result, context.terminal.screen());
    Ok(context.terminal.lines(lines)?)
}

/// Every message from the first (or after `--after`) to the last, one JSON line each.
async fn export(context: &Context, client: &Client, params: Value) -> Result<(), Failure> {
    let mut params: ExportParams = serde_json::from_value(params)
        .map_err(|error| Failure::usage(format!("session.export: {error}.")))?;
    loop {
        let page = client.call::<Export>(&params).await;
        let page = page.map_err(|error| with_list(&Export::SPEC, error.into()))?;
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
