//! `grep`: lines of the workspace's files that a regular expression fits.

use crate::beneath::{self, NotOpened};
use crate::glob::{from_folder, matcher};
use crate::outcome::{failed, said};
use crate::spot::Refused;
use crate::walk::{End, Stop, Way, walk};
use crate::{Entry, Ground, arguments, looking};
use found::Found;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use hob_core::permission::Work;
use hob_kit::mask::Mask;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use rustix::fs::FileType;
use serde::Deserialize;
use serde_json::json;
use std::fs::File;
use std::ops::ControlFlow;

mod found;

/// Matches of one answer, unless told.
const MATCHES_DEFAULT: usize = 200;
/// Matches of one answer, at the most.
const MATCHES_MAX: usize = 2_000;
/// Lines around a match.
const CONTEXT_MAX: usize = 20;
/// Letters of an expression.
const PATTERN_CHARS_MAX: usize = 2_000;
/// Bytes an expression may take when it is compiled.
const REGEX_BYTES_MAX: usize = 10 * 1024 * 1024;
/// Bytes of one line held at once; files with longer ones are left out.
const HEAP_BYTES_MAX: usize = 8 * 1024 * 1024;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| looking(call, ground, grep),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
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
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "Search for {pattern}".to_owned(),
        timeout_ms: None,
    }
}

fn grep(work: &Work, ground: &Ground, stop: &Stop) -> Executed {
    try_grep(work, ground, stop).unwrap_or_else(|Refused(reason)| failed(reason))
}

fn try_grep(work: &Work, ground: &Ground, stop: &Stop) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let mut search = Search::new(&args, stop, ground.mask())?;
    let workspace = work.context.workspace.as_deref();
    let single = single_file(workspace, args.path.as_deref(), ground)?;
    let end = if let Some((path, file)) = single {
        search.search(path, &file);
        End::Whole
    } else {
        let wanted = args.glob.as_deref().map(matcher).transpose()?;
        let from = args.path.as_deref().unwrap_or("");
        let way = Way {
            workspace,
            from: args.path.as_deref(),
            ground,
            stop,
        };
        walk(way, &mut |met| {
            let fits = |path: &str| {
                let wanted = wanted.as_ref();
                wanted.is_none_or(|wanted| wanted.is_match(from_folder(path, from)))
            };
            if met.kind == FileType::RegularFile
                && fits(met.path)
                && let Some(file) = met.open()
            {
                search.search(met.path, &file);
            }
            if search.found.is_full() {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?
    };
    Ok(search.tell(end))
}

/// The file that `path` names, if it names one and not a folder.
fn single_file<'p>(
    workspace: Option<&str>,
    path: Option<&'p str>,
    ground: &Ground,
) -> Result<Option<(&'p str, File)>, Refused> {
    let Some(path) = path else {
        return Ok(None);
    };
    match beneath::open(workspace, path, ground.hidden()) {
        Ok(opened) => Ok(Some((path, opened.file))),
        Err(NotOpened::Folder(_)) => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

struct Search<'s> {
    matcher: RegexMatcher,
    searcher: Searcher,
    found: Found<'s>,
}

impl<'s> Search<'s> {
    fn new(args: &Args, stop: &'s Stop, mask: &'s Mask) -> Result<Self, Refused> {
        let mut builder = RegexMatcherBuilder::new();
        builder
            .case_insensitive(args.ignore_case)
            .fixed_strings(args.literal)
            .line_terminator(Some(b'\n'))
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX);
        let odd = |error: grep_regex::Error| {
            Refused(format!(
                "The pattern is not a regular expression that can be used here: {error}. To look for plain text, set literal."
            ))
        };
        let context = args.context.min(CONTEXT_MAX);
        Ok(Search {
            matcher: builder.build(&args.pattern).map_err(odd)?,
            searcher: SearcherBuilder::new()
                .line_number(true)
                .before_context(context)
                .after_context(context)
                .binary_detection(BinaryDetection::quit(0))
                .heap_limit(Some(HEAP_BYTES_MAX))
                .build(),
            found: Found::new(
                args.limit.unwrap_or(MATCHES_DEFAULT).min(MATCHES_MAX),
                stop,
                mask,
            ),
        })
    }

    fn search(&mut self, path: &str, file: &File) {
        self.found.begin(path);
        // A file that cannot be read to its end has shown what it had.
        let _ = self
            .searcher
            .search_file(&self.matcher, file, &mut self.found);
    }

    fn tell(self, end: End) -> Executed {
        let found = self.found;
        let mut text = match found.matches {
            0 => "No line fits.".to_owned(),
            _ => found.text.clone(),
        };
        if found.is_full() {
            let added = format!(
                "\n(the first {} matches; there may be more: narrow the search)",
                found.matches
            );
            text.push_str(&added);
        }
        if end == End::TooMuch {
            text.push_str("\n(the folder is too large; not all of it was looked at)");
        }
        Executed {
            metadata: Some(json!({
                "matches": found.matches,
                "files": found.files,
                "more": found.is_full() || end == End::TooMuch,
            })),
            ..said(text)
        }
    }
}

#[cfg(test)]
#[path = "grep_tests.rs"]
mod tests;
