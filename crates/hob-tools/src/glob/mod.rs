//! `glob`: files of the workspace by the pattern of their paths.

use crate::list::plain;
use crate::outcome::{failed, said};
use crate::spot::Refused;
use crate::walk::{End, Stop, Way, walk};
use crate::{Entry, Ground, arguments, looking};
use globset::{GlobBuilder, GlobMatcher};
use hob_core::permission::Work;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;
use std::ops::ControlFlow;

/// Paths of one answer, unless told.
const PATHS_DEFAULT: usize = 500;
/// Paths of one answer, at the most.
const PATHS_MAX: usize = 5_000;
/// Letters of a pattern.
const PATTERN_CHARS_MAX: usize = 1_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| looking(call, ground, glob),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
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
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "Find {pattern}".to_owned(),
        timeout_ms: None,
    }
}

/// A pattern that paths are held against.
pub(crate) fn matcher(pattern: &str) -> Result<GlobMatcher, Refused> {
    let anywhere = if pattern.contains('/') {
        pattern.trim_start_matches("./").to_owned()
    } else {
        format!("**/{pattern}")
    };
    let built = GlobBuilder::new(&anywhere).literal_separator(true).build();
    let odd = |error: globset::Error| Refused(format!("'{pattern}' is not a pattern: {error}."));
    Ok(built.map_err(odd)?.compile_matcher())
}

/// `path` as it is seen from the folder `from`, both below the workspace.
pub(crate) fn from_folder<'p>(path: &'p str, from: &str) -> &'p str {
    let from = from.trim_matches('/').trim_start_matches("./");
    match from {
        "" | "." => path,
        from => path
            .strip_prefix(from)
            .and_then(|rest| rest.strip_prefix('/'))
            .unwrap_or(path),
    }
}

fn glob(work: &Work, ground: &Ground, stop: &Stop) -> Executed {
    try_glob(work, ground, stop).unwrap_or_else(|Refused(reason)| failed(reason))
}

fn try_glob(work: &Work, ground: &Ground, stop: &Stop) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let wanted = matcher(&args.pattern)?;
    let limit = args.limit.unwrap_or(PATHS_DEFAULT).min(PATHS_MAX);
    let from = args.path.as_deref().unwrap_or("");
    let mut paths: Vec<String> = Vec::new();
    let mut more = false;
    let way = Way {
        workspace: work.context.workspace.as_deref(),
        from: args.path.as_deref(),
        ground,
        stop,
    };
    let end = walk(way, &mut |met| {
        let fits = met.kind != FileType::Directory && wanted.is_match(from_folder(met.path, from));
        if !fits {
            return ControlFlow::Continue(());
        }
        if paths.len() == limit {
            more = true;
            return ControlFlow::Break(());
        }
        paths.push(plain(met.path));
        ControlFlow::Continue(())
    })?;
    let count = paths.len();
    let mut text = match count {
        0 => "No file fits.".to_owned(),
        _ => paths.join("\n"),
    };
    if more {
        let added = format!(
            "\n(the first {limit}; there are more: use a narrower pattern or a limit up to {PATHS_MAX})"
        );
        text.push_str(&added);
    }
    if end == End::TooMuch {
        text.push_str("\n(the folder is too large; not all of it was looked at)");
    }
    Ok(Executed {
        metadata: Some(json!({ "paths": count, "more": more || end == End::TooMuch })),
        ..said(text)
    })
}

#[cfg(test)]
#[path = "glob_tests.rs"]
mod tests;
