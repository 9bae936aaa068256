//! Answers of tools, within bounds.
//!
//! Invariant: after [`bounded`] an answer fits a message and a frame with room to spare, and cut
//! text says so.

use hob_wire::content::ContentPart;
use hob_wire::rooms::tool::ToolExecuteResult;

/// Bytes of text in one answer.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of pictures in one answer, as base64.
pub const IMAGE_BYTES_MAX: usize = 3_400_000;
/// Parts of one answer.
pub const PARTS_MAX: usize = 64;
/// Bytes of an answer's metadata, as JSON.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;

/// A successful answer.
pub fn succeeded(text: impl Into<String>) -> ToolExecuteResult {
    ToolExecuteResult {
        content: vec![ContentPart::Text { text: text.into() }],
        is_error: false,
        metadata: None,
    }
}

/// A failed answer; `text` tells the model why, and what to do instead.
pub fn failed(text: impl Into<String>) -> ToolExecuteResult {
    ToolExecuteResult {
        is_error: true,
        ..succeeded(text)
    }
}

/// Appends lines to the text of an answer.
pub(crate) fn append(executed: &mut ToolExecuteResult, lines: &str) {
    match executed.content.last_mut() {
        Some(ContentPart::Text { text }) => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(lines.trim_end());
        }
        _ => executed.content.push(ContentPart::Text {
            text: lines.trim_end().to_owned(),
        }),
    }
}

/// Cuts an answer to the bounds. Parts other than text and images are left out: the answer of a
/// tool cannot hold thinking or tool calls.
pub fn bounded(mut executed: ToolExecuteResult) -> ToolExecuteResult {
    let mut text_left = TEXT_BYTES_MAX;
    let mut image_left = IMAGE_BYTES_MAX;
    let mut left_out = 0_usize;
    let mut content = Vec::new();
    for part in executed.content {
        let kept = match part {
            _ if content.len() >= PARTS_MAX => None,
            ContentPart::Text { text } => {
                let text = cut(&text, text_left);
                text_left = text_left.saturating_sub(text.len());
                Some(ContentPart::Text { text }).filter(|_| text_left > 0 || content.is_empty())
            }
            ContentPart::Image { mime_type, data } if data.len() <= image_left => {
                image_left -= data.len();
                Some(ContentPart::Image { mime_type, data })
            }
            _ => None,
        };
        match kept {
            Some(part) => content.push(part),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let text = format!(
            "({left_out} more parts of this answer were left out because it is too large.)"
        );
        content.push(ContentPart::Text { text });
    }
    executed.content = content;
    executed.metadata = executed
        .metadata
        .filter(|metadata| metadata.to_string().len() <= METADATA_BYTES_MAX);
    executed
}

/// Keeps the head and the tail of a long text, where commands print what matters.
fn cut(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let half = bytes_max / 2;
    let head = text.floor_char_boundary(half);
    let tail = text.ceil_char_boundary(text.len() - half);
    let missing = tail - head;
    format!(
        "{}\n… ({missing} bytes left out here) …\n{}",
        &text[..head],
        &text[tail..]
    )
}

#[cfg(test)]
#[path = "outcome_tests.rs"]
mod tests;
