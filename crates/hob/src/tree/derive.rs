//! Derives `hob ROOM VERB` from the declarations of the wire methods: a new room gets its commands
//! without an edit here. The schema of a method is built only for a command that is named.

use super::help_text;
use super::schema::{ParamField, ParamKind, fields};
use crate::failure::CommandFailure;
use crate::render::text::{kebab, screaming_snake};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hob_wire::method::CliExposure;
use hob_wire::{MethodSpec, catalog};
use serde_json::{Map, Value, json};
use std::io::Read;

/// The rooms and their verbs in the catalog's order, the gateway last.
pub fn rooms() -> Vec<(&'static str, Vec<&'static MethodSpec>)> {
    let mut rooms: Vec<(&str, Vec<&MethodSpec>)> = Vec::new();
    for spec in catalog::methods().filter(|spec| spec.cli != CliExposure::Hidden) {
        let Some((room, _)) = spec.name.split_once('.') else {
            continue;
        };
        match rooms.iter_mut().find(|(name, _)| *name == room) {
            Some((_, verbs)) => verbs.push(spec),
            None => rooms.push((room, vec![spec])),
        }
    }
    // The gateway is for debugging, so it comes after the rooms that people use.
    rooms.sort_by_key(|(room, _)| *room == "gateway");
    rooms
}

/// The param that names a session.
pub const SESSION_KEY: &str = "sessionKey";
/// Methods that show one thing. Their verb is `show`, as everywhere; their own name is an alias.
const SHOWN: [&str; 2] = ["session.get", "tool.describe"];
/// Methods whose session is that of the latest run in this folder if the command line names none.
const LATEST_SESSION: [&str; 3] = ["session.get", "session.history", "session.export"];

/// The verb of a method on the command line.
pub fn verb(spec: &MethodSpec) -> String {
    let (_, name) = spec.name.split_once('.').unwrap_or(("", spec.name));
    if SHOWN.contains(&spec.name) {
        return "show".to_owned();
    }
    kebab(name)
}

/// Returns true if the session of this method may be missing on the command line.
pub fn defaults_to_latest(spec: &MethodSpec) -> bool {
    LATEST_SESSION.contains(&spec.name)
}

/// The method behind `hob ROOM VERB`.
pub fn method(room: &str, name: &str) -> Option<&'static MethodSpec> {
    catalog::methods().find(|spec| {
        let its_room = spec.name.split_once('.').map(|(room, _)| room);
        spec.cli != CliExposure::Hidden && its_room == Some(room) && verb(spec) == name
    })
}

/// Adds the commands of all rooms; [`complete`] adds the rest of each when it is named.
pub fn add_rooms(command: Command) -> Command {
    command.subcommands(rooms().iter().map(|(room, specs)| {
        Command::new(*room)
            .display_name(*room)
            .about(help_text::room_about(room, specs))
            .subcommand_required(true)
            .arg_required_else_help(true)
            .subcommands(specs.iter().map(|spec| verb_command(spec)))
    }))
}

fn verb_command(spec: &'static MethodSpec) -> Command {
    let (_, name) = spec.name.split_once('.').unwrap_or(("", spec.name));
    let own_name = SHOWN.contains(&spec.name).then(|| kebab(name));
    let about = spec.summary.split("\n\n").next().unwrap_or_default();
    Command::new(verb(spec))
        .aliases(own_name)
        .display_name(spec.name)
        .about(help_text::sentence(&about.replace('\n', " ")))
        .long_about(spec.summary)
}

/// Adds to a room its examples, and to a verb the arguments of its method. Leaves other commands as
/// they are. A derived command is known by its display name, which is its name on the wire.
pub fn complete(command: Command) -> Command {
    let Some(name) = command.get_display_name() else {
        return command;
    };
    if let Some(spec) = catalog::method(name) {
        return with_params(command, spec);
    }
    let Some((_, specs)) = rooms().into_iter().find(|(room, _)| *room == name) else {
        return command;
    };
    let lines = specs.iter().take(3);
    let lines: Vec<String> = lines.map(|spec| example(spec, &fields(spec))).collect();
    command.after_help(help_text::examples(&lines))
}

fn with_params(command: Command, spec: &MethodSpec) -> Command {
    let fields = fields(spec);
    let line = example(spec, &fields);
    let examples = help_text::examples(&[&line, &format!("{line} --json")]);
    let (name, scope) = (spec.name, spec.scope.as_str());
    command
        .after_help(format!("{examples}\n\nCalls {name} (scope {scope})."))
        .args(fields.iter().map(|field| {
            let argument = argument(field);
            if !may_be_missing(spec, field) {
                return argument;
            }
            let help = help_text::sentence(&field.help);
            argument.required(false).help(format!(
                "{help}; that of the latest run in this folder if missing"
            ))
        }))
}

fn may_be_missing(spec: &MethodSpec, field: &ParamField) -> bool {
    defaults_to_latest(spec) && field.name == SESSION_KEY
}

fn argument(field: &ParamField) -> Arg {
    let placeholder = match &field.kind {
        ParamKind::Integer | ParamKind::Number => "N".to_owned(),
        ParamKind::Json => "JSON".to_owned(),
        _ if field.position.is_some() => screaming_snake(&field.name),
        // The flag already has the whole name, so the placeholder is its last word.
        _ => screaming_snake(&field.name)
            .rsplit('_')
            .next()
            .unwrap_or("TEXT")
            .to_owned(),
    };
    let mut help = help_text::sentence(&field.help);
    if field.kind == ParamKind::Prose && field.position.is_some() {
        help.push_str(" ('-' reads it from stdin)");
    }
    let argument = Arg::new(field.name.clone())
        .value_name(placeholder)
        .value_parser(parser(&field.kind))
        .required(field.required)
        .help(help);
    let argument = match field.position {
        Some(position) => argument.index(position + 1),
        None => argument.long(kebab(&field.name)),
    };
    match field.kind {
        ParamKind::Integer | ParamKind::Number => argument.allow_negative_numbers(true),
        ParamKind::Bool => argument.num_args(0..=1).default_missing_value("true"),
        ParamKind::Texts => argument.action(ArgAction::Append).value_delimiter(','),
        // Prose may begin with a dash.
        ParamKind::Prose => argument.allow_hyphen_values(true),
        _ => argument,
    }
}

fn parser(kind: &ParamKind) -> ValueParser {
    match kind {
        ParamKind::Text | ParamKind::Prose | ParamKind::Texts => value_parser!(String),
        ParamKind::Integer => ValueParser::new(parse_integer),
        ParamKind::Number => ValueParser::new(parse_number),
        ParamKind::Bool => value_parser!(bool),
        ParamKind::Choice(words) => PossibleValuesParser::new(words.clone()).into(),
        ParamKind::Json => ValueParser::new(parse_json),
    }
}

fn parse_integer(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| "expected a whole number")
}

fn parse_number(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "expected a number")
}

fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("expected JSON: {error}"))
}

/// Builds the params of a method from the command line.
pub fn params(
    spec: &MethodSpec,
    matches: &ArgMatches,
    stdin: &mut dyn Read,
) -> Result<Value, CommandFailure> {
    let mut params = Map::new();
    for field in fields(spec) {
        if let Some(value) = value(&field, matches, stdin)? {
            params.insert(field.name, value);
        }
    }
    Ok(Value::Object(params))
}

fn value(
    field: &ParamField,
    matches: &ArgMatches,
    stdin: &mut dyn Read,
) -> Result<Option<Value>, CommandFailure> {
    let name = field.name.as_str();
    Ok(match field.kind {
        ParamKind::Text | ParamKind::Choice(_) => matches.get_one::<String>(name).map(|v| json!(v)),
        ParamKind::Prose => match matches.get_one::<String>(name) {
            Some(text) if text == "-" => Some(json!(read_text(stdin)?)),
            text => text.map(|text| json!(text)),
        },
        ParamKind::Integer => matches.get_one::<i64>(name).map(|v| json!(v)),
        ParamKind::Number => matches.get_one::<f64>(name).map(|v| json!(v)),
        ParamKind::Bool => matches.get_one::<bool>(name).map(|v| json!(v)),
        ParamKind::Texts => matches
            .get_many::<String>(name)
            .map(|values| json!(values.collect::<Vec<_>>())),
        ParamKind::Json => matches.get_one::<Value>(name).cloned(),
    })
}

fn read_text(stdin: &mut dyn Read) -> Result<String, CommandFailure> {
    let mut text = String::new();
    stdin.read_to_string(&mut text).map_err(|error| {
        CommandFailure::usage(format!("Stdin cannot be read as text: {error}."))
    })?;
    // The final line break comes from the shell, not from the message.
    let trimmed = text.strip_suffix('\n').unwrap_or(&text);
    Ok(trimmed.to_owned())
}

/// An example command line from the required and the first positional params.
fn example(spec: &MethodSpec, fields: &[ParamField]) -> String {
    let room = spec.name.split_once('.').map_or("rpc", |(room, _)| room);
    let needed = fields
        .iter()
        .filter(|field| field.required || field.position == Some(0));
    let words = needed.map(|field| {
        let value = match &field.example {
            Some(example) => help_text::quoted(example),
            None => help_text::sample(field),
        };
        match field.position {
            Some(_) => value,
            None => format!("--{} {value}", kebab(&field.name)),
        }
    });
    let mut line = format!("hob {room} {}", verb(spec));
    for word in words {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
