//! `hob rpc`: calls any method by name, with params and result as JSON.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text::examples;
use hob_client::CallOptions;
use hob_kit::duration::parse_ms;
use serde_json::Value;
use std::io::Read;
use std::time::Duration;

/// Calls any method by its name.
///
/// Methods of outside services are called the same way. Params and result are JSON; `hob gateway
/// describe` lists the methods.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&[
    "hob rpc gateway.stats",
    "hob rpc session.create '{\"sessionKey\": \"chat:main\"}'",
    "echo '{\"sessionKey\": \"chat:main\"}' | hob rpc session.get -",
    "hob rpc session.send @message.json --timeout 5s",
]))]
pub struct RpcArgs {
    /// The method, such as session.list.
    method: String,
    /// Its params as JSON; '-' reads them from stdin, '@FILE' from a file.
    #[arg(value_name = "JSON", allow_hyphen_values = true)]
    params: Option<String>,
    /// The longest wait for the answer, such as 30s.
    #[arg(long, value_name = "TIME", value_parser = parse_ms)]
    timeout: Option<u64>,
    /// Marks the call, so that `hob trace ID` shows it.
    #[arg(long, value_name = "ID")]
    trace: Option<String>,
}

pub async fn run(context: &CommandContext, args: RpcArgs) -> Result<(), CommandFailure> {
    let params = match args.params {
        Some(source) => {
            // Stdin is read on its own thread, so that Ctrl-C still ends the command.
            let read = tokio::task::spawn_blocking(move || read_params(&source)).await;
            Some(read.map_err(|error| CommandFailure::failed(error.to_string()))??)
        }
        None => None,
    };
    let mut options = CallOptions {
        trace: args.trace.as_deref(),
        ..CallOptions::default()
    };
    if let Some(ms) = args.timeout {
        options.timeout = Some(Duration::from_millis(ms));
    }
    let client = context.client().await?;
    let result = client
        .call_raw(&args.method, params.map(Into::into), options)
        .await?;
    let result = result.as_deref().unwrap_or(b"null");
    let value: Value = serde_json::from_slice(result)
        .map_err(|error| CommandFailure::failed(format!("The answer is not JSON: {error}.")))?;
    if context.terminal.json {
        return Ok(context.terminal.document(&value)?);
    }
    let text = serde_json::to_string_pretty(&value).unwrap_or_default();
    Ok(context.terminal.line(text)?)
}

/// Reads the params and checks that they are JSON before anything is sent.
fn read_params(source: &str) -> Result<String, CommandFailure> {
    let text = if source == "-" {
        let mut text = String::new();
        let read = std::io::stdin().read_to_string(&mut text);
        read.map_err(|error| CommandFailure::usage(format!("Stdin cannot be read: {error}.")))?;
        text
    } else if let Some(path) = source.strip_prefix('@') {
        std::fs::read_to_string(path)
            .map_err(|error| CommandFailure::usage(format!("'{path}' cannot be read: {error}.")))?
    } else {
        source.to_owned()
    };
    match serde_json::from_str::<serde::de::IgnoredAny>(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(
            CommandFailure::usage(format!("The params are not JSON: {error}."))
                .next("Quote them for your shell: '{\"sessionKey\": \"chat:main\"}'"),
        ),
    }
}
