//! `hob ROOM VERB`: calls the method behind it and draws the result.

use crate::context::Context;
use crate::failure::{Exit, Failure};
use crate::render;
use crate::tree::derive;
use clap::ArgMatches;
use hob_client::{CallOptions, Client};
use hob_wire::MethodSpec;
use hob_wire::rooms::session::{Export, ExportParams};
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
    let params = derive::params(spec, matches, &mut std::io::stdin())?;
    let client = context.client().await?;
    // An export is a stream of lines, not a page.
    if spec.name == "session.export" {
        return export(context, &client, params).await;
    }
    let params = params.to_string();
    let result = client
        .call_raw(spec.name, Some(params.into()), CallOptions::default())
        .await?;
    print(context, spec.name, result.as_deref())
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
        let page = client.call::<Export>(&params).await?;
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
