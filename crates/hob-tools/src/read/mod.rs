//! `read`: reads lines of a workspace file, or an image.
//!
//! Invariants: the answer stays within the bounds below for every file; a file that is neither text
//! nor an image is described, not shown; secrets are masked before long lines are cut.

use crate::outcome::{failed, succeeded};
use crate::workspace_dir::{self, WorkspaceFile};
use crate::{ToolEntry, ToolEnv, ToolFuture};
use data_encoding::BASE64;
use hob_core::image_type;
use hob_core::permission::{Approved, PreparedCall};
use hob_kit::known_secrets::MaskedRead;
use hob_kit::mask::SecretMask;
use hob_wire::content::ContentPart;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use lines::{LinePage, PageReader};
use serde::Deserialize;
use serde_json::json;
use std::io::{self, Read, Seek};

pub(crate) mod lines;

/// Default number of lines in an answer.
const LINES_DEFAULT: usize = 1_000;
/// Most lines in an answer.
const LINES_MAX: usize = 5_000;
/// Bytes of the largest image: its base64 must fit a message.
const IMAGE_BYTES_MAX: u64 = 2_500_000;
/// Bytes examined to detect the type of a file.
const HEAD_BYTES: usize = 8_192;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, run);

#[derive(Debug, Deserialize)]
struct ReadArguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "read".to_owned(),
        aliases: vec!["fs.read".to_owned()],
        description:
            "Reads a file of the workspace: lines of a text, or a picture (PNG, JPEG, GIF, WebP)."
                .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace.",
                },
                "offset": {
                    "type": "integer",
                    "minimum": 1,
                    "description": "The first line to read, counted from 1.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": LINES_MAX,
                    "description": format!("How many lines; {LINES_DEFAULT} when missing."),
                },
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Read {path}".to_owned(),
        timeout_ms: None,
    }
}

fn run(call: Approved<PreparedCall>, env: ToolEnv) -> ToolFuture {
    Box::pin(async move {
        // A file system may be slow or hang; only this thread waits for it.
        let read = tokio::task::spawn_blocking(move || read(call.call(), &env));
        read.await
            .unwrap_or_else(|_| failed("Reading was interrupted. Try again."))
    })
}

fn read(work: &PreparedCall, env: &ToolEnv) -> ToolExecuteResult {
    let args = match ReadArguments::deserialize(&work.args) {
        Ok(args) => args,
        Err(error) => return failed(format!("The arguments do not fit: {error}.")),
    };
    let workspace = work.context.workspace.as_deref();
    let opened = match workspace_dir::open_file(workspace, &args.path, env.hidden()) {
        Ok(opened) => opened,
        Err(refusal) => return failed(refusal.to_string()),
    };
    show(opened, &args, env.mask())
        .unwrap_or_else(|error| failed(format!("'{}' cannot be read: {error}.", args.path)))
}

fn show(
    mut opened: WorkspaceFile,
    args: &ReadArguments,
    mask: &SecretMask,
) -> io::Result<ToolExecuteResult> {
    let mut head = Vec::with_capacity(HEAD_BYTES);
    let limit = HEAD_BYTES as u64;
    (&mut opened.file).take(limit).read_to_end(&mut head)?;
    opened.file.rewind()?;
    if let Some(mime_type) = image_type::mime_type(&head) {
        return show_picture(opened, mime_type, args);
    }
    // A NUL byte near the beginning marks a binary file, as in git and grep.
    if head.contains(&0) {
        return Ok(failed(format!(
            "'{}' is no text and no picture that can be shown ({} bytes).",
            args.path, opened.bytes
        )));
    }
    let first = args.offset.unwrap_or(1).max(1);
    let count = args.limit.unwrap_or(LINES_DEFAULT).clamp(1, LINES_MAX);
    let page = PageReader::new(MaskedRead::new(opened.file, mask)).page(first, count)?;
    Ok(show_page(&page, first, &args.path))
}

fn show_picture(
    mut opened: WorkspaceFile,
    mime_type: &str,
    args: &ReadArguments,
) -> io::Result<ToolExecuteResult> {
    let mut bytes = Vec::new();
    let within = (&mut opened.file).take(IMAGE_BYTES_MAX + 1);
    let count = { within }.read_to_end(&mut bytes)?;
    if count as u64 > IMAGE_BYTES_MAX {
        return Ok(failed(format!(
            "'{}' is a picture of {} bytes; {IMAGE_BYTES_MAX} can be shown at the most. Make it smaller first.",
            args.path, opened.bytes
        )));
    }
    let data = BASE64.encode(&bytes);
    Ok(ToolExecuteResult {
        content: vec![ContentPart::Image {
            mime_type: mime_type.to_owned(),
            data,
        }],
        is_error: false,
        metadata: Some(json!({ "bytes": count, "mimeType": mime_type })),
    })
}

fn show_page(page: &LinePage, first: usize, path: &str) -> ToolExecuteResult {
    if page.lines == 0 && page.seen == 0 {
        return succeeded(format!("'{path}' is empty."));
    }
    if page.lines == 0 {
        let reached = page.seen;
        return failed(format!(
            "'{path}' has {reached} lines; line {first} is beyond its end. Ask for an offset up to {reached}."
        ));
    }
    let last = first + page.lines - 1;
    let mut text = page.text.clone();
    if page.more {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let next = last + 1;
        let hint = format!("(lines {first} to {last}; more follow: go on with offset {next})");
        text.push_str(&hint);
    }
    ToolExecuteResult {
        metadata: Some(json!({ "firstLine": first, "lastLine": last, "more": page.more })),
        ..succeeded(text)
    }
}

#[cfg(test)]
#[path = "read_tests.rs"]
mod tests;
