//! `output`: reads lines of a long output that was stored earlier in the session.

use crate::outcome::{failed, succeeded};
use crate::read::lines::{LinePage, PageReader};
use crate::stored_output;
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, ToolFuture, arguments, commands};
use hob_core::permission::{Approved, PreparedCall};
use hob_kit::known_secrets::MaskedRead;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Default number of lines in an answer.
const LINES_DEFAULT: usize = 500;
/// Most lines in an answer.
const LINES_MAX: usize = 5_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, run);

#[derive(Debug, Deserialize)]
struct OutputArguments {
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
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "Read the output {id}".to_owned(),
        timeout_ms: None,
    }
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move {
        let read = read(call.call(), &env).await;
        read.unwrap_or_else(commands::refusal_answer)
    })
}

async fn read(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: OutputArguments = arguments(work)?;
    let missing = || ToolRefusal(format!("There is no output '{}' in this session.", args.id));
    let id = stored_output::parse_output_id(&args.id).ok_or_else(missing)?;
    let store = env.store().ok_or_else(missing)?;
    let output = store.output(id, work.context.session_key.as_deref()).await;
    let output = output.map_err(|error| ToolRefusal(error.to_string()))?;
    let first = args.line.unwrap_or(1).max(1);
    let count = args.lines.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    // Masked again: an older version of hob stored outputs unmasked.
    let file = MaskedRead::new(output.file, env.mask());
    let paged = tokio::task::spawn_blocking(move || PageReader::new(file).page(first, count)).await;
    let page = paged.map_err(|_| ToolRefusal("Reading was interrupted.".to_owned()))?;
    let page = page.map_err(|error| ToolRefusal(format!("It cannot be read: {error}.")))?;
    Ok(page_answer(&page, first, output.is_cut))
}

fn page_answer(page: &LinePage, first: usize, is_cut: bool) -> ToolExecuteResult {
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
    ToolExecuteResult {
        metadata: Some(json!({ "firstLine": first, "lastLine": last, "more": page.more })),
        ..succeeded(text)
    }
}

#[cfg(test)]
#[path = "output_tests.rs"]
mod tests;
