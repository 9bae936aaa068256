//! `glob`: finds files of the workspace by a pattern of their paths.

use crate::list::escape_controls;
use crate::outcome::{failed, succeeded};
use crate::walk::{StopFlag, WalkEnd, WalkOptions, walk};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments, run_search};
use globset::{GlobBuilder, GlobMatcher};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;

/// Default number of paths in an answer.
const PATHS_DEFAULT: usize = 500;
/// Most paths in an answer.
const PATHS_MAX: usize = 5_000;
/// Characters of a pattern.
const PATTERN_CHARS_MAX: usize = 1_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| run_search(call, env, glob));

#[derive(Debug, Deserialize)]
struct GlobArguments {
    pattern: String,
    path: Option<String>,
    limit: Option<usize>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "glob".to_owned(),
        aliases: Vec::new(),
        description: "Finds files of the workspace by a pattern of their paths, such as src/**/*.rs; a pattern without a slash is looked for in every folder. What .gitignore names is left out."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": PATTERN_CHARS_MAX,
                    "description": "With *, **, ?, [abc] and {a,b}; relative to path.",
                },
                "path": {
                    "type": "string",
                    "description": "The folder to look in; the workspace when missing.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": PATHS_MAX,
                    "description": format!("How many paths; {PATHS_DEFAULT} when missing."),
                },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Find {pattern}".to_owned(),
        timeout_ms: None,
    }
}

/// Compiles a pattern; one without a slash matches in every folder.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, ToolRefusal> {
    let anywhere = if pattern.contains('/') {
        pattern.trim_start_matches("./").to_owned()
    } else {
        format!("**/{pattern}")
    };
    let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
    let odd =
        |error: globset::Error| ToolRefusal(format!("'{pattern}' is not a pattern: {error}."));
    Ok(built.map_err(odd)?.compile_matcher())
}

/// `path` relative to the folder `from`; both are relative to the workspace.
pub(crate) fn relative_to<'p>(path: &'p str, from: &str) -> &'p str {
    let from = from.trim_matches('/').trim_start_matches("./");
    match from {
        "" | "." => path,
        from => path
            .strip_prefix(from)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(path),
    }
}

fn glob(work: &PreparedCall, env: &ToolEnv, stop: &StopFlag) -> ToolExecuteResult {
    try_glob(work, env, stop).unwrap_or_else(|ToolRefusal(reason)| failed(reason))
}

fn try_glob(
    work: &PreparedCall,
    env: &ToolEnv,
    stop: &StopFlag,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: GlobArguments = arguments(work)?;
    let wanted = matcher(&args.pattern)?;
    let limit = args.limit.unwrap_or(PATHS_DEFAULT).min(PATHS_MAX);
    let from = args.path.as_deref().unwrap_or("");
    let mut paths: Vec<String> = Vec::new();
    let mut more = false;
    let options = WalkOptions {
        workspace: work.context.workspace.as_deref(),
        from: args.path.as_deref(),
        env,
        stop,
    };
    let end = walk(options, &mut |entry| {
        let fits =
            entry.kind != FileType::Directory && wanted.is_match(relative_to(entry.path, from));
        if !fits {
            return ControlFlow::Continue(());
        }
        if paths.len() == limit {
            more = true;
            return ControlFlow::Break(());
        }
        paths.push(escape_controls(entry.path));
        ControlFlow::Continue(())
    })?;
    let count = paths.len();
    let mut text = match count {
        0 => "No file matches.".to_owned(),
        _ => paths.join("\n"),
    };
    if more {
        let added = format!(
            "\n(the first {limit}; there are more: use a narrower pattern or a limit up to {PATHS_MAX})"
        );
        text.push_str(&added);
    }
    if end == WalkEnd::TooMuch {
        text.push_str("\n(the folder is too large; not all of it was searched)");
    }
    Ok(ToolExecuteResult {
        metadata: Some(json!({ "paths": count, "more": more || end == WalkEnd::TooMuch })),
        ..succeeded(text)
    })
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
