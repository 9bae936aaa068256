//! From the flags of `hob permission add` and `check` to what the room takes.
//!
//! Invariants: a folder is stored as the real one it names now; a flag that would not narrow the
//! rule is refused, never dropped.

use crate::context::Context;
use crate::failure::Failure;
use crate::mind::order;
use crate::render::words::one_line;
use crate::terminal::Terminal;
use crate::tree::text;
use clap::ArgMatches;
use hob_client::Client;
use hob_wire::rooms::permission::{AddParams, Reach, RuleDecision};
use hob_wire::rooms::tool::{List, ListParams};
use hob_wire::work::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that a warning suggests.
const NEAR_MAX: usize = 3;

/// What the flags say, but for a run that only the daemon can find.
pub(super) fn read(context: &Context, matches: &ArgMatches) -> Result<AddParams, Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    let scope: Option<Reach> = text("scope").and_then(|word| named(&word));
    let decision: Option<RuleDecision> = text("decision").and_then(|word| named(&word));
    let (Some(scope), Some(decision)) = (scope, decision) else {
        return Err(Failure::usage("A rule needs --decision and --scope."));
    };
    fits_scope(scope, matches)?;
    let folder = match scope {
        Reach::Folder => Some(text("folder").unwrap_or_else(|| ".".to_owned())),
        _ => None,
    };
    Ok(AddParams {
        tool: text("tool").unwrap_or_default(),
        decision,
        scope,
        matches: pairs(matches, "match")?,
        path: text("path").map(|path| real(context, &path)).transpose()?,
        host: text("host"),
        session_key: text("session"),
        run_id: None,
        folder: folder.map(|path| real(context, &path)).transpose()?,
        sessions: text("sessions"),
        kind: text("kind"),
        channel: text("channel"),
        expires_ms: matches.get_one::<u64>("expires").copied(),
        idempotency_key: Some(order::fresh_id(&context.world.dice)),
    })
}

/// Each scope has its flag, and takes no other's.
fn fits_scope(scope: Reach, matches: &ArgMatches) -> Result<(), Failure> {
    for (flag, its) in [
        ("session", Reach::Session),
        ("run", Reach::Run),
        ("folder", Reach::Folder),
    ] {
        let given = matches.contains_id(flag);
        if given && scope != its {
            return Err(Failure::usage(format!(
                "--{flag} goes with --scope {flag} only."
            )));
        }
        if !given && scope == its && scope != Reach::Folder {
            let example = if flag == "run" { "RUN" } else { "chat:main" };
            return Err(Failure::usage(format!("--scope {flag} needs --{flag}."))
                .next(format!("Such as --scope {flag} --{flag} {example}.")));
        }
    }
    Ok(())
}

/// Finds the run that was named.
pub(super) async fn complete(
    client: &Client,
    matches: &ArgMatches,
    mut terms: AddParams,
) -> Result<AddParams, Failure> {
    if terms.scope == Reach::Run {
        terms.run_id = Some(crate::commands::run::run_id(client, matches).await?);
    }
    Ok(terms)
}

/// A path as it really is, absolute and without symlinks. What does not exist yet is named below
/// the last folder that does. A daemon elsewhere has folders of its own.
pub(in crate::commands) fn real(context: &Context, path: &str) -> Result<String, Failure> {
    let wrong = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("'{}' cannot be used: {why}.", one_line(path)))
    };
    if context.is_elsewhere() {
        if path.starts_with('/') {
            return Ok(path.to_owned());
        }
        return Err(wrong(&"the daemon is elsewhere, so it takes a path from /"));
    }
    let absolute = std::path::absolute(path).map_err(|error| wrong(&error))?;
    let (real, missing) = existing(&absolute).map_err(|error| wrong(&error))?;
    if !missing.as_os_str().is_empty() {
        // Where a link or `..` would lead is not known before it exists.
        if missing.components().any(|step| step.as_os_str() == "..") {
            return Err(wrong(&"a part of it does not exist"));
        }
        Terminal::note(format!(
            "note: '{}' does not exist yet; the rule waits for it.",
            one_line(path)
        ));
    }
    let whole = if missing.as_os_str().is_empty() {
        real
    } else {
        real.join(missing)
    };
    let text = whole.to_str().map(str::to_owned);
    text.ok_or_else(|| wrong(&"its name is not text (UTF-8)"))
}

/// The real path of what exists, and the rest.
fn existing(path: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
    let mut missing = Vec::new();
    let mut there = path;
    loop {
        match there.canonicalize() {
            Ok(real) => return Ok((real, missing.iter().rev().collect())),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        let mut steps = there.components();
        let Some(last) = steps.next_back() else {
            return Err(std::io::ErrorKind::NotFound.into());
        };
        missing.push(last.as_os_str().to_owned());
        there = steps.as_path();
    }
}

/// The pairs of a flag; a name given twice is a mistake.
fn pairs(matches: &ArgMatches, flag: &str) -> Result<BTreeMap<String, String>, Failure> {
    let given = matches.get_many::<(String, String)>(flag);
    let mut pairs = BTreeMap::new();
    for (name, value) in given.into_iter().flatten() {
        if pairs.insert(name.clone(), value.clone()).is_some() {
            let name = one_line(name);
            return Err(Failure::usage(format!(
                "--{flag} names '{name}' more than once."
            )));
        }
    }
    Ok(pairs)
}

/// The tools there are now; none when nobody can say.
pub(in crate::commands) async fn known(client: &Client) -> Vec<ToolSpec> {
    let found = client.call::<List>(&ListParams::default()).await;
    found.map(|found| found.tools).unwrap_or_default()
}

fn tool<'t>(known: &'t [ToolSpec], name: &str) -> Option<&'t ToolSpec> {
    let is_it = |spec: &&ToolSpec| spec.name == name || spec.aliases.iter().any(|it| it == name);
    known.iter().find(is_it)
}

/// Says what a rule names that is not there now: the tool's service may only be away.
pub(in crate::commands) fn warn(known: &[ToolSpec], terms: &AddParams, context: &Context) {
    let screen = context.terminal.asides();
    for line in warnings(known, terms) {
        Terminal::note(screen.paint(crate::render::Tone::Warning, &line));
    }
}

fn warnings(known: &[ToolSpec], terms: &AddParams) -> Vec<String> {
    let name = terms.tool.as_str();
    if known.is_empty() || covers_some(known, name) {
        let spec = tool(known, name);
        return spec.map_or_else(Vec::new, |spec| unknown_arguments(spec, terms));
    }
    let near = near(known, name);
    let near = if near.is_empty() {
        String::new()
    } else {
        format!(" Did you mean {}?", near.join(" or "))
    };
    let name = one_line(name);
    vec![format!(
        "warning: no tool is called '{name}' now.{near} The rule is stored and waits for it."
    )]
}

fn covers_some(known: &[ToolSpec], name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(head) => known.iter().any(|spec| spec.name.starts_with(head)),
        None => tool(known, name).is_some(),
    }
}

/// A pattern of an argument that a tool does not have never fits.
fn unknown_arguments(spec: &ToolSpec, terms: &AddParams) -> Vec<String> {
    let Some(properties) = spec.parameters["properties"].as_object() else {
        return Vec::new();
    };
    let unknown = terms.matches.keys();
    let unknown = unknown.filter(|name| !properties.contains_key(*name));
    let names: Vec<&str> = properties.keys().map(String::as_str).collect();
    let line = |name: &String| {
        format!(
            "warning: {} has no argument '{}', so the rule covers no call; it has {}.",
            one_line(&spec.name),
            one_line(name),
            one_line(&names.join(", "))
        )
    };
    unknown.map(line).collect()
}

/// Tools whose names look like this one, the likeliest first.
fn near(known: &[ToolSpec], name: &str) -> Vec<String> {
    let mut left: Vec<&str> = known.iter().map(|spec| spec.name.as_str()).collect();
    let mut near = Vec::new();
    while near.len() < NEAR_MAX {
        let Some(found) = text::nearest(name, left.iter().copied()) else {
            break;
        };
        left.retain(|other| *other != found);
        near.push(one_line(found));
    }
    near
}

/// A failure to find a tool, with the names that were probably meant.
pub(super) fn with_near(mut failure: Failure, known: &[ToolSpec], name: &str) -> Failure {
    let near = near(known, name);
    let is_unknown = failure.code == hob_wire::ErrorCode::NotFound.as_str();
    if is_unknown && !near.is_empty() {
        failure.next = Some(format!("Did you mean {}?", near.join(" or ")));
    }
    failure
}

/// The arguments of a call as its tool declares them: what is no text there is read as JSON.
pub(super) fn arguments(
    known: &[ToolSpec],
    name: &str,
    matches: &ArgMatches,
) -> Result<Value, Failure> {
    let spec = tool(known, name);
    let mut args = Map::new();
    for (name, value) in pairs(matches, "arg")? {
        let kind = spec.and_then(|spec| spec.parameters["properties"][&name]["type"].as_str());
        let value = match kind {
            None | Some("string") => Value::String(value),
            Some(kind) => serde_json::from_str(&value).map_err(|_| {
                let (name, value) = (one_line(&name), one_line(&value));
                Failure::usage(format!(
                    "'{value}' does not fit '{name}', which takes {kind}."
                ))
            })?,
        };
        args.insert(name, value);
    }
    Ok(Value::Object(args))
}

/// A word of the wire by its spelling.
pub(in crate::commands) fn named<T: DeserializeOwned>(word: &str) -> Option<T> {
    serde_json::from_value(Value::String(word.to_owned())).ok()
}

#[cfg(test)]
#[path = "terms_tests.rs"]
mod tests;
