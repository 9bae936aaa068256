//! `output`: lines of what a tool said at length, or a command printed, earlier in the session.

use crate::kept;
use crate::outcome::{failed, said};
use crate::read::lines::{Lines, Page};
use crate::spot::Refused;
use crate::{Entry, Ground, Running, arguments, commands};
use hob_core::permission::{Approved, Work};
use hob_kit::known_secrets::MaskedRead;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Lines of one answer, unless told.
const LINES_DEFAULT: usize = 500;
/// Lines of one answer, at the most.
const LINES_MAX: usize = 5_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run,
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
    id: String,
    line: Option<usize>,
    lines: Option<usize>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "output".to_owned(),
        aliases: Vec::new(),
        description: "Reads lines of an output that was too long to be shown whole, by the id that was told with it."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "id": {
                    "type": "string",
                    "maxLength": 32,
                    "description": "The id, such as o12.",
                },
                "line": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The first line to read, counted from 1.",
                },
                "lines": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LINES_MAX,
                    "description": format!("How many lines; {LINES_DEFAULT} when missing."),
                },
            },
            "required": ["id"],
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Effect::Pure,
        needs: Vec::new(),
        approval: "Read the output {id}".to_owned(),
        timeout_ms: None,
    }
}

fn run(call: Approved<Work>, ground: Ground) -> Running {
    Box::pin(async move {
        let read = read(call.call(), &ground).await;
        read.unwrap_or_else(commands::told)
    })
}

async fn read(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let missing = || Refused(format!("There is no output '{}' in this session.", args.id));
    let id = kept::meant(&args.id).ok_or_else(missing)?;
    let store = ground.store().ok_or_else(missing)?;
    let output = store.output(id, work.context.session_key.as_deref()).await;
    let output = output.map_err(|error| Refused(error.to_string()))?;
    let first = args.line.unwrap_or(1).max(1);
    let count = args.lines.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    // It was masked when it was kept, unless a former version of hob kept it.
    let file = MaskedRead::new(output.file, ground.mask());
    let paged = tokio::task::spawn_blocking(move || Lines::new(file).page(first, count)).await;
    let page = paged.map_err(|_| Refused("Reading was interrupted.".to_owned()))?;
    let page = page.map_err(|error| Refused(format!("It cannot be read: {error}.")))?;
    Ok(shown(&page, first, output.is_cut))
}

fn shown(page: &Page, first: usize, is_cut: bool) -> Executed {
    let end = if is_cut {
        "(there was more, which is not kept)"
    } else {
        ""
    };
    if page.lines == 0 {
        let seen = page.seen;
        return failed(format!(
            "It has {seen} lines; line {first} is beyond its end. {end}"
        ));
    }
    let last = first + page.lines - 1;
    let mut text = page.text.clone();
    if page.more {
        let next = last + 1;
        let hint = format!("(lines {first} to {last}; go on with line {next})");
        text.push_str(&hint);
    } else {
        text.push_str(end);
    }
    Executed {
        metadata: Some(json!({ "firstLine": first, "lastLine": last, "more": page.more })),
        ..said(text)
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
