//! `hob ROOM VERB` for every method that is a command, from its declaration alone: a new room
//! gets its commands without an edit here.

use super::schema::{Field, FieldKind, fields};
use super::text;
use crate::failure::Failure;
use crate::render::words::{capitals, kebab};
use clap::builder::{PossibleValuesParser, ValueParser};
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use hob_wire::method::Cli;
use hob_wire::{MethodSpec, catalog};
use serde_json::{Map, Value, json};
use std::io::Read;

/// Rooms and their verbs, in the catalog's order, the bus itself last.
pub fn rooms() -> Vec<(&'static str, Vec<&'static MethodSpec>)> {
    let mut rooms: Vec<(&str, Vec<&MethodSpec>)> = Vec::new();
    for spec in catalog::methods().filter(|spec| spec.cli != Cli::Hidden) {
        let Some((room, _)) = spec.name.split_once('.') else {
            continue;
        };
        match rooms.iter_mut().find(|(name, _)| *name == room) {
            Some((_, verbs)) => verbs.push(spec),
            None => rooms.push((room, vec![spec])),
        }
    }
    // What people work with comes before the machinery.
    rooms.sort_by_key(|(room, _)| *room == "gateway");
    rooms
}

/// The method behind `hob ROOM VERB`.
pub fn method(room: &str, verb: &str) -> Option<&'static MethodSpec> {
    catalog::methods().find(|spec| {
        let name = spec.name.split_once('.');
        spec.cli != Cli::Hidden
            && name.is_some_and(|(its_room, its_verb)| its_room == room && kebab(its_verb) == verb)
    })
}

pub fn room_command(room: &'static str, specs: &[&'static MethodSpec]) -> Command {
    let examples: Vec<String> = specs.iter().take(3).map(|spec| example(spec)).collect();
    Command::new(room)
        .about(text::room_about(room, specs))
        .after_help(text::examples(&examples))
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommands(specs.iter().map(|spec| verb_command(spec)))
}

pub fn verb_command(spec: &'static MethodSpec) -> Command {
    let verb = spec
        .name
        .split_once('.')
        .map_or(spec.name, |(_, verb)| verb);
    let mut paragraphs = spec
        .summary
        .split("\n\n")
        .map(|paragraph| paragraph.replace('\n', " "));
    let about = paragraphs.next().unwrap_or_default();
    let rest: Vec<String> = paragraphs.collect();
    let mut command = Command::new(kebab(verb)).about(text::sentence(&about));
    if !rest.is_empty() {
        command = command.long_about(rest.join("\n\n"));
    }
    let wire = format!("Calls {} (scope {}).", spec.name, spec.scope.as_str());
    let examples = [example(spec), format!("{} --json", example(spec))];
    command
        .after_help(format!("{}\n\n{wire}", text::examples(&examples)))
        .args(fields(spec).iter().map(argument))
}

fn argument(field: &Field) -> Arg {
    let placeholder = match &field.kind {
        FieldKind::Integer | FieldKind::Number => "N".to_owned(),
        FieldKind::Json => "JSON".to_owned(),
        _ if field.position.is_some() => capitals(&field.name),
        // The flag says the whole name already.
        _ => capitals(&field.name)
            .rsplit('_')
            .next()
            .unwrap_or("TEXT")
            .to_owned(),
    };
    let mut help = text::sentence(&field.help);
    if field.kind == FieldKind::Prose && field.position.is_some() {
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
        FieldKind::Integer | FieldKind::Number => argument.allow_negative_numbers(true),
        FieldKind::Bool => argument.num_args(0..=1).default_missing_value("true"),
        FieldKind::Texts => argument.action(ArgAction::Append).value_delimiter(','),
        // Words may begin with a dash and still be words.
        FieldKind::Prose => argument.allow_hyphen_values(true),
        _ => argument,
    }
}

fn parser(kind: &FieldKind) -> ValueParser {
    match kind {
        FieldKind::Text | FieldKind::Prose | FieldKind::Texts => value_parser!(String),
        FieldKind::Integer => ValueParser::new(parse_integer),
        FieldKind::Number => ValueParser::new(parse_number),
        FieldKind::Bool => value_parser!(bool),
        FieldKind::Choice(words) => PossibleValuesParser::new(words.clone()).into(),
        FieldKind::Json => ValueParser::new(parse_json),
    }
}

fn parse_integer(text: &str) -> Result<i64, &'static str> {
    text.parse().map_err(|_| "it takes a whole number")
}

fn parse_number(text: &str) -> Result<f64, &'static str> {
    text.parse().map_err(|_| "it takes a number")
}

fn parse_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("it takes JSON: {error}"))
}

/// The params that a command line gives.
pub fn params(
    spec: &MethodSpec,
    matches: &ArgMatches,
    stdin: &mut dyn Read,
) -> Result<Value, Failure> {
    let mut params = Map::new();
    for field in fields(spec) {
        if let Some(value) = value(&field, matches, stdin)? {
            params.insert(field.name, value);
        }
    }
    Ok(Value::Object(params))
}

fn value(
    field: &Field,
    matches: &ArgMatches,
    stdin: &mut dyn Read,
) -> Result<Option<Value>, Failure> {
    let name = field.name.as_str();
    Ok(match field.kind {
        FieldKind::Text | FieldKind::Choice(_) => matches.get_one::<String>(name).map(|v| json!(v)),
        FieldKind::Prose => match matches.get_one::<String>(name) {
            Some(text) if text == "-" => Some(json!(read_text(stdin)?)),
            text => text.map(|text| json!(text)),
        },
        FieldKind::Integer => matches.get_one::<i64>(name).map(|v| json!(v)),
        FieldKind::Number => matches.get_one::<f64>(name).map(|v| json!(v)),
        FieldKind::Bool => matches.get_one::<bool>(name).map(|v| json!(v)),
        FieldKind::Texts => matches
            .get_many::<String>(name)
            .map(|values| json!(values.collect::<Vec<_>>())),
        FieldKind::Json => matches.get_one::<Value>(name).cloned(),
    })
}

fn read_text(stdin: &mut dyn Read) -> Result<String, Failure> {
    let mut text = String::new();
    stdin
        .read_to_string(&mut text)
        .map_err(|error| Failure::usage(format!("Stdin cannot be read as text: {error}.")))?;
    // The line break that ends a shell's last line is not part of what was said.
    let trimmed = text.strip_suffix('\n').unwrap_or(&text);
    Ok(trimmed.to_owned())
}

/// A command line that would work, made from the positional params.
fn example(spec: &MethodSpec) -> String {
    let (room, verb) = spec.name.split_once('.').unwrap_or(("rpc", spec.name));
    let fields = fields(spec);
    let needed = fields
        .iter()
        .filter(|field| field.required || field.position == Some(0));
    let words = needed.map(|field| {
        let value = match &field.example {
            Some(example) => text::quoted(example),
            None => text::sample(field),
        };
        match field.position {
            Some(_) => value,
            None => format!("--{} {value}", kebab(&field.name)),
        }
    });
    let mut line = format!("hob {room} {}", kebab(verb));
    for word in words {
        line.push(' ');
        line.push_str(&word);
    }
    line
}

#[cfg(test)]
#[path = "derive_tests.rs"]
mod tests;
