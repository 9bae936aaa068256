//! Converts the flags of `hob permission add` and `check` to the params of the permission room.
//!
//! Invariants: a folder is stored as its real path, with symlinks resolved now; a flag that has no
//! effect on the rule is refused, never ignored.

use super::args::PermissionAddArgs;
use crate::context::CommandContext;
use crate::failure::CommandFailure;
use crate::render::text::one_line;
use crate::run_ui::run_request;
use crate::terminal::Terminal;
use crate::tree::help_text;
use hob_client::Client;
use hob_wire::rooms::permission::{AnswerReach, PermissionAddParams};
use hob_wire::rooms::tool::{List, ToolListParams};
use hob_wire::work::ToolSpec;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The most names that a warning suggests.
const SUGGESTIONS_MAX: usize = 3;

/// Returns the rule of the flags, without the run id, which only the daemon can resolve.
pub(super) fn parse_rule(
    context: &CommandContext,
    args: PermissionAddArgs,
) -> Result<PermissionAddParams, CommandFailure> {
    check_scope_flags(&args)?;
    let folder = match args.scope {
        AnswerReach::Folder => Some(args.folder.unwrap_or_else(|| ".".to_owned())),
        _ => None,
    };
    let real_path = |path: String| real_path(context, &path);
    Ok(PermissionAddParams {
        tool: args.tool,
        decision: args.decision,
        scope: args.scope,
        matches: unique_names("match", args.matches)?,
        path: args.path.map(real_path).transpose()?,
        host: args.host,
        session_key: args.session,
        run_id: None,
        folder: folder.map(real_path).transpose()?,
        sessions: args.sessions,
        kind: args.kind,
        channel: args.channel,
        expires_ms: args.expires,
        idempotency_key: Some(run_request::fresh_id(&context.host.randomness)),
    })
}

/// Refuses a flag that belongs to another scope, and a scope without its flag.
fn check_scope_flags(args: &PermissionAddArgs) -> Result<(), CommandFailure> {
    let scope = args.scope;
    for (flag, its, given) in [
        ("session", AnswerReach::Session, args.session.is_some()),
        ("run", AnswerReach::Run, args.run.is_some()),
        ("folder", AnswerReach::Folder, args.folder.is_some()),
    ] {
        // A flag of another scope would silently widen the rule if it were ignored.
        if given && scope != its {
            return Err(CommandFailure::usage(format!(
                "--{flag} is only allowed with --scope {flag}."
            )));
        }
        if !given && scope == its && scope != AnswerReach::Folder {
            let example = if flag == "run" { "RUN" } else { "chat:main" };
            return Err(
                CommandFailure::usage(format!("--scope {flag} needs --{flag}."))
                    .next(format!("Example: --scope {flag} --{flag} {example}")),
            );
        }
    }
    Ok(())
}

/// Returns the absolute path without symlinks. A missing part is kept as given below the last folder
/// that exists. With a remote daemon only an absolute path is accepted, since it names the remote's
/// folders.
pub(in crate::commands) fn real_path(
    context: &CommandContext,
    path: &str,
) -> Result<String, CommandFailure> {
    let wrong = |why: &dyn std::fmt::Display| {
        CommandFailure::usage(format!("'{}' cannot be used: {why}.", one_line(path)))
    };
    if context.is_remote() {
        if path.starts_with('/') {
            return Ok(path.to_owned());
        }
        return Err(wrong(
            &"the daemon is remote, so the path must start with /",
        ));
    }
    let absolute = std::path::absolute(path).map_err(|error| wrong(&error))?;
    let (real, missing) = split_existing(&absolute).map_err(|error| wrong(&error))?;
    if !missing.as_os_str().is_empty() {
        // `..` below a missing folder cannot be resolved: the folder may become a symlink.
        if missing.components().any(|step| step.as_os_str() == "..") {
            return Err(wrong(&"a part of it does not exist"));
        }
        Terminal::note(format!(
            "note: '{}' does not exist yet; the rule applies once it does.",
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

/// Splits a path into the real path of its existing part and the missing rest.
fn split_existing(path: &Path) -> std::io::Result<(PathBuf, PathBuf)> {
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

/// Returns the pairs of a flag by name. A name given twice is an error.
fn unique_names(
    flag: &str,
    given: Vec<(String, String)>,
) -> Result<BTreeMap<String, String>, CommandFailure> {
    let mut pairs = BTreeMap::new();
    for (name, value) in given {
        if pairs.contains_key(&name) {
            let name = one_line(&name);
            return Err(CommandFailure::usage(format!(
                "--{flag} names '{name}' more than once."
            )));
        }
        pairs.insert(name, value);
    }
    Ok(pairs)
}

/// Returns the tools that exist now; empty if they cannot be listed.
pub(in crate::commands) async fn known_tools(client: &Client) -> Vec<ToolSpec> {
    let found = client.call::<List>(&ToolListParams::default()).await;
    found.map(|found| found.tools).unwrap_or_default()
}

fn find_tool<'t>(known: &'t [ToolSpec], name: &str) -> Option<&'t ToolSpec> {
    let is_it = |spec: &&ToolSpec| spec.name == name || spec.aliases.iter().any(|it| it == name);
    known.iter().find(is_it)
}

/// Warns about a tool or argument that does not exist now. Only a warning, since the tool's service
/// may just not be running.
pub(in crate::commands) fn warn_unknown(
    known: &[ToolSpec],
    terms: &PermissionAddParams,
    context: &CommandContext,
) {
    let screen = context.terminal.stderr_screen();
    for line in warnings(known, terms) {
        Terminal::note(screen.paint(crate::render::TextTone::Warning, &line));
    }
}

fn warnings(known: &[ToolSpec], terms: &PermissionAddParams) -> Vec<String> {
    let name = terms.tool.as_str();
    if known.is_empty() || covers_some(known, name) {
        let spec = find_tool(known, name);
        return spec.map_or_else(Vec::new, |spec| unknown_arguments(spec, terms));
    }
    let near = similar_names(known, name);
    let near = if near.is_empty() {
        String::new()
    } else {
        format!(" Did you mean {}?", near.join(" or "))
    };
    let name = one_line(name);
    vec![format!(
        "warning: no tool is called '{name}' now.{near} The rule is stored and applies once there is one."
    )]
}

fn covers_some(known: &[ToolSpec], name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(head) => known.iter().any(|spec| spec.name.starts_with(head)),
        None => find_tool(known, name).is_some(),
    }
}

/// Returns a warning for each pattern of an unknown argument, since it never matches.
fn unknown_arguments(spec: &ToolSpec, terms: &PermissionAddParams) -> Vec<String> {
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

/// Returns the tool names most similar to `name`, best first.
fn similar_names(known: &[ToolSpec], name: &str) -> Vec<String> {
    let mut left: Vec<&str> = known.iter().map(|spec| spec.name.as_str()).collect();
    let mut near = Vec::new();
    while near.len() < SUGGESTIONS_MAX {
        let Some(found) = help_text::nearest(name, left.iter().copied()) else {
            break;
        };
        left.retain(|other| *other != found);
        near.push(one_line(found));
    }
    near
}

/// Adds similar tool names to a failure to find a tool.
pub(super) fn with_similar_names(
    mut failure: CommandFailure,
    known: &[ToolSpec],
    name: &str,
) -> CommandFailure {
    let near = similar_names(known, name);
    let is_unknown = failure.code == hob_wire::ErrorCode::NotFound.as_str();
    if is_unknown && !near.is_empty() {
        failure.next = Some(format!("Did you mean {}?", near.join(" or ")));
    }
    failure
}

/// Parses the `--arg` flags by the tool's schema: a value that is not a string there is parsed as
/// JSON.
pub(super) fn arguments(
    known: &[ToolSpec],
    name: &str,
    given: Vec<(String, String)>,
) -> Result<Value, CommandFailure> {
    let spec = find_tool(known, name);
    let mut args = Map::new();
    for (name, value) in unique_names("arg", given)? {
        let kind = spec.and_then(|spec| spec.parameters["properties"][&name]["type"].as_str());
        let value = match kind {
            None | Some("string") => Value::String(value),
            Some(kind) => serde_json::from_str(&value).map_err(|_| {
                let (name, value) = (one_line(&name), one_line(&value));
                CommandFailure::usage(format!("'{name}' must be of type {kind}, not '{value}'."))
            })?,
        };
        args.insert(name, value);
    }
    Ok(Value::Object(args))
}

#[cfg(test)]
#[path = "params_tests.rs"]
mod tests;
