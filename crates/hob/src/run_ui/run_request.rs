//! What is asked: a task from the command line and stdin, with pictures, a schema, limits and
//! tools. Everything is read and checked before a daemon is asked for anything.

use super::question::parse_dollars;
use crate::context::Context;
use crate::failure::Failure;
use crate::render::words;
use crate::terminal::Terminal;
use clap::{Arg, ArgAction, ArgMatches, value_parser};
use data_encoding::BASE64;
use hob_core::picture;
use hob_kit::dice::Dice;
use hob_wire::rooms::agent::{Budget, ContextPolicy, Image, RunParams};
use serde_json::Value;
use std::io::{IsTerminal, Read};
use std::path::Path;
use std::time::Duration;

/// Context that stdin may bring.
pub const STDIN_BYTES_MAX: usize = 1_024 * 1_024;
/// All pictures of a task together; encoded and with the words they must fit into a message.
pub const IMAGE_BYTES_MAX: usize = 2 * 1_024 * 1_024;
/// A schema larger than this is a mistake.
const SCHEMA_BYTES_MAX: usize = 256 * 1_024;
/// How long stdin is read before a person is told that it is.
const STDIN_HINT_AFTER: Duration = Duration::from_secs(2);

/// The flags that a task takes, whoever asks it.
pub fn flags() -> Vec<Arg> {
    let mut flags = vec![
        Arg::new("model")
            .long("model")
            .short('m')
            .value_name("MODEL")
            .help("provider/model or an alias such as fast; the default model when missing"),
        Arg::new("workspace")
            .long("workspace")
            .short('w')
            .value_name("DIR")
            .help("The folder the tools work in; the present one when missing"),
        Arg::new("tools")
            .long("tools")
            .value_name("NAMES")
            .action(ArgAction::Append)
            .value_delimiter(',')
            .help("Only these tools"),
        Arg::new("no-tools")
            .long("no-tools")
            .action(ArgAction::SetTrue)
            .conflicts_with("tools")
            .help("No tools at all"),
    ];
    flags.extend(budget_flags());
    flags
}

fn budget_flags() -> [Arg; 4] {
    [
        Arg::new("budget-steps")
            .long("budget-steps")
            .value_name("N")
            .value_parser(value_parser!(u32).range(1..))
            .help("At most this many model calls"),
        Arg::new("budget-tokens")
            .long("budget-tokens")
            .value_name("N")
            .value_parser(value_parser!(u64).range(1..))
            .help("At most this many tokens, in and out"),
        Arg::new("budget-dollars")
            .long("budget-dollars")
            .value_name("X")
            .value_parser(parse_dollars)
            .help("At most this much money, such as 0.50"),
        Arg::new("budget-time")
            .long("budget-time")
            .value_name("TIME")
            .value_parser(|text: &str| hob_kit::duration::parse_ms(text))
            .help("At most this long, such as 5m"),
    ]
}

/// What the flags say, for a task and a session still to be named.
pub fn params(context: &Context, matches: &ArgMatches) -> Result<RunParams, Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let budget = budget(matches);
    Ok(RunParams {
        model: text("model"),
        tools: tools(matches),
        budget: (budget != Budget::default()).then_some(budget),
        workspace: workspace(context, text("workspace"))?,
        idempotency_key: Some(fresh_id(&context.world.dice)),
        ..RunParams::default()
    })
}

/// The tools that were named; none at all is an empty list.
pub fn tools(matches: &ArgMatches) -> Option<Vec<String>> {
    if matches.get_flag("no-tools") {
        return Some(Vec::new());
    }
    let named = matches.get_many::<String>("tools");
    named.map(|names| names.cloned().collect())
}

/// The limits that were named.
pub fn budget(matches: &ArgMatches) -> Budget {
    Budget {
        steps: matches.get_one::<u32>("budget-steps").copied(),
        tokens: matches.get_one::<u64>("budget-tokens").copied(),
        micro_dollars: matches.get_one::<u64>("budget-dollars").copied(),
        wall_ms: matches.get_one::<u64>("budget-time").copied(),
    }
}

/// A name that nobody else has.
pub fn fresh_id(dice: &Dice) -> String {
    dice.hex(16)
}

/// The key of a new session: `ask:UUID`.
pub fn one_off(kind: &str, context: &Context) -> String {
    let world = &context.world;
    format!("{kind}:{}", world.dice.uuid(world.clock.wall_ms()))
}

/// The folder the tools work in: the one named, or where the person stands. A daemon elsewhere
/// does not see this machine's folders.
pub fn workspace(context: &Context, named: Option<String>) -> Result<Option<String>, Failure> {
    if context.is_elsewhere() {
        return Ok(named);
    }
    let folder = named.clone().unwrap_or_else(|| ".".to_owned());
    match std::fs::canonicalize(&folder) {
        Ok(path) if path.is_dir() => Ok(path.to_str().map(str::to_owned)),
        Ok(_) => Err(Failure::usage(format!("'{folder}' is not a folder."))),
        // Standing in a folder that was removed is no reason to refuse a question.
        Err(_) if named.is_none() => Ok(None),
        Err(error) => Err(Failure::usage(format!(
            "'{folder}' cannot be used: {error}."
        ))),
    }
}

/// What a person is told who lets tools work in all they have: an answer for "this folder" would
/// reach as far. Looking around in it is what they may well want, so it is no refusal.
pub fn wide_place(context: &Context, params: &RunParams) -> Option<String> {
    let has_tools = params.tools.as_ref().is_none_or(|tools| !tools.is_empty());
    wide_folder(context, params.workspace.as_deref().filter(|_| has_tools)?)
}

/// The same of a folder alone.
pub fn wide_folder(context: &Context, folder: &str) -> Option<String> {
    let home = context.world.env.os("HOME");
    let home = home.and_then(|home| std::fs::canonicalize(home).ok());
    let what = match Path::new(folder) {
        root if root == Path::new("/") => "the whole machine",
        folder if home.as_deref() == Some(folder) => "your whole home folder",
        _ => return None,
    };
    Some(format!(
        "Tools work in {what} here; go to a narrower folder, or name one with --workspace."
    ))
}

/// What a run sees of its session's past.
pub fn policy(matches: &ArgMatches) -> Option<ContextPolicy> {
    matches.get_flag("fresh").then_some(ContextPolicy::Fresh)
}

/// The task in words: the question, and what stdin holds if something was piped into it.
pub async fn task(question: Option<String>) -> Result<String, Failure> {
    let context = piped().await?.filter(|text| !text.trim().is_empty());
    match (question.filter(|text| !text.trim().is_empty()), context) {
        (Some(question), Some(context)) => {
            let context = context.trim_end_matches('\n');
            Ok(format!("{question}\n\n<stdin>\n{context}\n</stdin>"))
        }
        (Some(question), None) => Ok(question),
        (None, Some(context)) => Ok(context.trim_end().to_owned()),
        (None, None) => Err(Failure::usage("There is no question.")
            .next("Ask one: hob ask \"what is filling my disk?\"")),
    }
}

/// What was piped into stdin, read on a thread of its own so that Ctrl-C still ends the command.
pub async fn piped() -> Result<Option<String>, Failure> {
    if std::io::stdin().is_terminal() {
        return Ok(None);
    }
    let reading = tokio::task::spawn_blocking(|| {
        let mut bytes = Vec::new();
        let mut stdin = std::io::stdin().take(STDIN_BYTES_MAX as u64 + 1);
        stdin.read_to_end(&mut bytes).map(|_| bytes)
    });
    tokio::pin!(reading);
    let read = if let Ok(read) = tokio::time::timeout(STDIN_HINT_AFTER, &mut reading).await {
        read
    } else {
        Terminal::note("Reading context from stdin until it ends (`< /dev/null` for none).");
        reading.await
    };
    let bytes = match read {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(error)) => return Err(Failure::usage(format!("Stdin cannot be read: {error}."))),
        Err(error) => return Err(Failure::failed(format!("Stdin cannot be read: {error}."))),
    };
    if bytes.len() > STDIN_BYTES_MAX {
        let max = words::bytes(STDIN_BYTES_MAX as u64);
        return Err(Failure::usage(format!("Stdin holds more than {max}."))
            .next("Pipe less into it, such as the last lines: tail -n 500 FILE | hob ask …"));
    }
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| {
        Failure::usage("Stdin is not text (UTF-8).").next("A picture goes with --image FILE.")
    })?;
    Ok(Some(text))
}

/// The pictures that were named.
pub fn images(matches: &ArgMatches) -> Result<Vec<Image>, Failure> {
    let files = matches.get_many::<String>("image").into_iter().flatten();
    let mut left = IMAGE_BYTES_MAX;
    let mut images = Vec::new();
    for file in files {
        let bytes = read_up_to(file, left)?.ok_or_else(|| {
            let max = words::bytes(IMAGE_BYTES_MAX as u64);
            Failure::usage(format!("The pictures take more than {max} together."))
        })?;
        left -= bytes.len();
        let mime_type = picture::mime_type(&bytes).ok_or_else(|| {
            Failure::usage(format!("'{file}' is no picture hob knows."))
                .next("PNG, JPEG, GIF and WebP are.")
        })?;
        images.push(Image {
            mime_type: mime_type.to_owned(),
            data: BASE64.encode(&bytes),
        });
    }
    Ok(images)
}

/// The schema that was named.
pub fn schema(matches: &ArgMatches) -> Result<Option<Value>, Failure> {
    let Some(file) = matches.get_one::<String>("schema") else {
        return Ok(None);
    };
    let bytes = read_up_to(file, SCHEMA_BYTES_MAX)?.ok_or_else(|| {
        let max = words::bytes(SCHEMA_BYTES_MAX as u64);
        Failure::usage(format!("'{file}' is larger than {max}."))
    })?;
    let value: Value = serde_json::from_slice(&bytes)
        .map_err(|error| Failure::usage(format!("'{file}' is not JSON: {error}.")))?;
    if !value.is_object() {
        return Err(Failure::usage(format!("'{file}' holds no JSON Schema."))
            .next("It is an object, such as {\"type\": \"object\", \"properties\": {…}}."));
    }
    Ok(Some(value))
}

/// A file's bytes, or nothing if there are more than `max`.
pub fn read_up_to(file: &str, max: usize) -> Result<Option<Vec<u8>>, Failure> {
    let unreadable =
        |error: std::io::Error| Failure::usage(format!("'{file}' cannot be read: {error}."));
    let open = std::fs::File::open(Path::new(file)).map_err(unreadable)?;
    let mut bytes = Vec::new();
    let mut limited = open.take(max as u64 + 1);
    limited.read_to_end(&mut bytes).map_err(unreadable)?;
    Ok((bytes.len() <= max).then_some(bytes))
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
