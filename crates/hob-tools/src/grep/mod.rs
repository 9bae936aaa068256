//! `grep`: finds lines in workspace files by a regular expression.

use crate::glob::{matcher, relative_to};
use crate::outcome::{failed, succeeded};
use crate::walk::{StopFlag, WalkEnd, WalkOptions, walk};
use crate::workspace_dir::{self, WorkspaceOpenError};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments, run_search};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use hob_core::permission::PreparedCall;
use hob_kit::mask::SecretMask;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use matches::GrepMatches;
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::ops::ControlFlow;

mod matches;

/// Default number of matches in an answer.
const MATCHES_DEFAULT: usize = 200;
/// Most matches in an answer.
const MATCHES_MAX: usize = 2_000;
/// Context lines around a match.
const CONTEXT_MAX: usize = 20;
/// Characters of an expression.
const PATTERN_CHARS_MAX: usize = 2_000;
/// Bytes of a compiled expression.
const REGEX_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Bytes of one line in memory; files with longer lines are skipped.
const HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| run_search(call, env, grep));

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct GrepArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    #[serde(default)]
    ignore_case: bool,
    #[serde(default)]
    literal: bool,
    #[serde(default)]
    context: usize,
    limit: Option<usize>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "grep".to_owned(),
        aliases: Vec::new(),
        description: "Finds lines in files of the workspace by a regular expression. What .gitignore names, and what is no text, is left out."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "pattern": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": PATTERN_CHARS_MAX,
                    "description": "A regular expression, without look-around and back references.",
                },
                "path": {
                    "type": "string",
                    "description": "The folder or file to look in; the workspace when missing.",
                },
                "glob": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": PATTERN_CHARS_MAX,
                    "description": "Only files whose path fits this pattern, such as *.rs.",
                },
                "ignoreCase": { "type": "boolean" },
                "literal": {
                    "type": "boolean",
                    "description": "Take the pattern as plain text.",
                },
                "context": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": CONTEXT_MAX,
                    "description": "Lines shown before and after each match.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MATCHES_MAX,
                    "description": format!("How many matches; {MATCHES_DEFAULT} when missing."),
                },
            },
            "required": ["pattern"],
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Search for {pattern}".to_owned(),
        timeout_ms: None,
    }
}

fn grep(work: &PreparedCall, env: &ToolEnv, stop: &StopFlag) -> ToolExecuteResult {
    try_grep(work, env, stop).unwrap_or_else(|ToolRefusal(reason)| failed(reason))
}

fn try_grep(
    work: &PreparedCall,
    env: &ToolEnv,
    stop: &StopFlag,
) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: GrepArguments = arguments(work)?;
    let mut search = GrepSearch::new(&args, stop, env.mask())?;
    let workspace = work.context.workspace.as_deref();
    let single = single_file(workspace, args.path.as_deref(), env)?;
    let end = if let Some((path, file)) = single {
        search.search(path, &file);
        WalkEnd::Complete
    } else {
        let wanted = args.glob.as_deref().map(matcher).transpose()?;
        let from = args.path.as_deref().unwrap_or("");
        let options = WalkOptions {
            workspace,
            from: args.path.as_deref(),
            env,
            stop,
        };
        walk(options, &mut |entry| {
            let fits = |path: &str| {
                let wanted = wanted.as_ref();
                wanted.is_none_or(|wanted| wanted.is_match(relative_to(path, from)))
            };
            if entry.kind == FileType::RegularFile
                && fits(entry.path)
                && let Some(file) = entry.open()
            {
                search.search(entry.path, &file);
            }
            if search.found.is_full() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?
    };
    Ok(search.finish(end))
}

/// The file that `path` names, if it names one and not a folder.
fn single_file<'p>(
    workspace: Option<&str>,
    path: Option<&'p str>,
    env: &ToolEnv,
) -> Result<Option<(&'p str, File)>, ToolRefusal> {
    let Some(path) = path else {
        return Ok(None);
    };
    match workspace_dir::open_file(workspace, path, env.hidden()) {
        Ok(opened) => Ok(Some((path, opened.file))),
        Err(WorkspaceOpenError::Folder(_)) => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

struct GrepSearch<'s> {
    matcher: RegexMatcher,
    searcher: Searcher,
    found: GrepMatches<'s>,
}

impl<'s> GrepSearch<'s> {
    fn new(
        args: &GrepArguments,
        stop: &'s StopFlag,
        mask: &'s SecretMask,
    ) -> Result<Self, ToolRefusal> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(args.ignore_case)
            .fixed_strings(args.literal)
            .line_terminator(Some(b'\n'))
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX);
        let odd = |error: grep_regex::Error| {
            ToolRefusal(format!(
                "The pattern is not a regular expression that can be used here: {error}. To look for plain text, set literal."
            ))
        };
        let context = args.context.min(CONTEXT_MAX);
        Ok(GrepSearch {
            matcher: builder.build(&args.pattern).map_err(odd)?,
            searcher: SearcherBuilder::new()
                .line_number(true)
                .before_context(context)
                .after_context(context)
                .binary_detection(BinaryDetection::quit(0))
                .heap_limit(Some(HEAP_BYTES_MAX))
                .build(),
            found: GrepMatches::new(
                args.limit.unwrap_or(MATCHES_DEFAULT).min(MATCHES_MAX),
                stop,
                mask,
            ),
        })
    }

    fn search(&mut self, path: &str, file: &File) {
        self.found.begin(path);
        // A read error keeps the matches found before it.
        let _ = self
            .searcher
            .search_file(&self.matcher, file, &mut self.found);
    }

    fn finish(self, end: WalkEnd) -> ToolExecuteResult {
        let found = self.found;
        let mut text = match found.matches {
            0 => "No line matches.".to_owned(),
            _ => found.text.clone(),
        };
        if found.is_full() {
            let added = format!(
                "\n(the first {} matches; there may be more: narrow the search)",
                found.matches
            );
            text.push_str(&added);
        }
        if end == WalkEnd::TooMuch {
            text.push_str("\n(the folder is too large; not all of it was searched)");
        }
        ToolExecuteResult {
            metadata: Some(json!({
                "matches": found.matches,
                "files": found.files,
                "more": found.is_full() || end == WalkEnd::TooMuch,
            })),
            ..succeeded(text)
        }
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
