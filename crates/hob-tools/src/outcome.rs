//! What a tool answers, within bounds.
//!
//! Invariant: after [`bounded`] an answer fits a message and a frame with room to spare, and text
//! that was cut says so.

use hob_wire::content::Part;
use hob_wire::rooms::tool::Executed;

/// Bytes of text in one answer.
pub const TEXT_BYTES_MAX: usize = 256 * 1024;
/// Bytes of pictures in one answer, as base64.
pub const IMAGE_BYTES_MAX: usize = 3_400_000;
/// Parts of one answer.
pub const PARTS_MAX: usize = 64;
/// Bytes of an answer's metadata, as JSON.
pub const METADATA_BYTES_MAX: usize = 64 * 1024;

/// The tool did what it was asked.
pub fn said(text: impl Into<String>) -> Executed {
    Executed {
        content: vec![Part::Text { text: text.into() }],
        is_error: false,
        metadata: None,
    }
}

/// The tool could not; `text` tells the model why and what to do instead.
pub fn failed(text: impl Into<String>) -> Executed {
    Executed {
        is_error: true,
        ..said(text)
    }
}

/// Adds lines to the words of an answer.
pub(crate) fn append(executed: &mut Executed, lines: &str) {
    match executed.content.last_mut() {
        Some(Part::Text { text }) => {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
            text.push_str(lines.trim_end());
        }
        _ => executed.content.push(Part::Text {
            text: lines.trim_end().to_owned(),
        }),
    }
}

/// `executed` cut to the bounds. Parts that are no words and no picture are left out: a tool has
/// no business thinking aloud or calling tools in its answer.
pub fn bounded(mut executed: Executed) -> Executed {
    let mut text_left = TEXT_BYTES_MAX;
    let mut image_left = IMAGE_BYTES_MAX;
    let mut left_out = 0_usize;
    let mut content = Vec::new();
    for part in executed.content {
        let kept = match part {
            _ if content.len() >= PARTS_MAX => None,
            Part::Text { text } => {
                let text = cut(&text, text_left);
                text_left = text_left.saturating_sub(text.len());
                Some(Part::Text { text }).filter(|_| text_left > 0 || content.is_empty())
            }
            Part::Image { mime_type, data } if data.len() <= image_left => {
                image_left -= data.len();
                Some(Part::Image { mime_type, data })
            }
            _ => None,
        };
        match kept {
            Some(part) => content.push(part),
            None => left_out += 1,
        }
    }
    if left_out > 0 {
        let text =
            format!("({left_out} more parts of this answer were left out: it is too large.)");
        content.push(Part::Text { text });
    }
    executed.content = content;
    executed.metadata = executed
        .metadata
        .filter(|metadata| metadata.to_string().len() <= METADATA_BYTES_MAX);
    executed
}

/// The head and the tail of a text that is too long, which is where commands say what matters.
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
