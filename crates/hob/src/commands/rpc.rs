//! `hob rpc`: calls any method by name, with params and result as JSON.

use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::tree::help_text;
use clap::{Arg, ArgMatches, Command};
use hob_client::CallOptions;
use serde_json::Value;
use std::io::Read;
use std::time::Duration;

pub fn command() -> Command {
    Command::new("rpc")
        .about("Calls any method by its name")
        .long_about(
            "Methods of outside services are called the same way. Params and result are JSON; \
             `hob gateway describe` lists the methods.",
        )
        .after_help(help_text::examples(&[
            "hob rpc gateway.stats".to_owned(),
            "hob rpc session.create '{\"sessionKey\": \"chat:main\"}'".to_owned(),
            "echo '{\"sessionKey\": \"chat:main\"}' | hob rpc session.get -".to_owned(),
            "hob rpc session.send @message.json --timeout 5s".to_owned(),
        ]))
        .arg(
            Arg::new("method")
                .value_name("METHOD")
                .required(true)
                .help("The method, such as session.list"),
        )
        .arg(
            Arg::new("params")
                .value_name("JSON")
                .allow_hyphen_values(true)
                .help("Its params as JSON; '-' reads them from stdin, '@FILE' from a file"),
        )
        .arg(
            Arg::new("timeout")
                .long("timeout")
                .value_name("TIME")
                .value_parser(|text: &str| hob_kit::duration::parse_ms(text))
                .help("The longest wait for the answer, such as 30s"),
        )
        .arg(
            Arg::new("trace")
                .long("trace")
                .value_name("ID")
                .help("Marks the call, so that `hob trace ID` shows it"),
        )
}

pub async fn run(context: &CommandContext, matches: &ArgMatches) -> Result<(), CommandFailure> {
    let method = matches
        .get_one::<String>("method")
        .map_or("", String::as_str);
    let params = match matches.get_one::<String>("params").cloned() {
        Some(source) => {
            // Stdin is read on its own thread, so that Ctrl-C still ends the command.
            let read = tokio::task::spawn_blocking(move || read_params(&source)).await;
            Some(read.map_err(|error| CommandFailure::failed(error.to_string()))??)
        }
        None => None,
    };
    let mut options = CallOptions {
        trace: matches.get_one::<String>("trace").map(String::as_str),
        ..CallOptions::default()
    };
    if let Some(ms) = matches.get_one::<u64>("timeout") {
        options.timeout = Some(Duration::from_millis(*ms));
    }
    let client = context.client().await?;
    let result = client
        .call_raw(method, params.map(Into::into), options)
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
