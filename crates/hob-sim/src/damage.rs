//! Corrupts frames, and groups tokens into writes.

use crate::draft::StreamFrame;
use crate::fault::{Fault, GarbageKind};
use crate::request::{Dialect, SimRequest};
use crate::{anthropic, chat, gemini, responses};
use bytes::{Bytes, BytesMut};
use serde_json::Value;

/// Bytes of an endless line that are sent at a time.
const LINE_BLOCK_BYTES: usize = 64 * 1_024;
/// Bytes that are no UTF-8, no line and no event, zero and escape among them.
const BINARY: &[u8] = b"\x00\xff\xfe\x80\x1b[2J\xc3\x28\xf0\x9f\x92\x0a\x00\x01\x02data\x00: \xed\xa0\x80\n\n\xff\xff";
/// The page of a captive portal or proxy.
pub(crate) const HTML: &str = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body>Please sign in.</body></html>\n";

/// Puts `tokens` of them in each write.
pub(crate) fn grouped(frames: Vec<StreamFrame>, tokens: usize) -> Vec<StreamFrame> {
    if tokens <= 1 {
        return frames;
    }
    let mut grouped: Vec<StreamFrame> = Vec::new();
    let mut filled = 0;
    for frame in frames {
        match grouped.last_mut() {
            Some(last) if frame.token && last.token && filled < tokens => {
                let mut bytes = BytesMut::from(last.bytes.as_ref());
                bytes.extend_from_slice(&frame.bytes);
                last.bytes = bytes.freeze();
                filled += 1;
            }
            _ => {
                filled = 1;
                grouped.push(frame);
            }
        }
    }
    grouped
}

/// Applies the faults of content to the frames of a stream.
pub(crate) fn damaged(
    asked: &SimRequest,
    mut frames: Vec<StreamFrame>,
    fault: Option<&Fault>,
) -> Vec<StreamFrame> {
    match fault {
        Some(Fault::Garbage(garbage)) => garbled(frames, *garbage),
        Some(Fault::ErrorAfter(tokens)) => {
            let mut seen = 0;
            let end = frames.iter().position(|frame| {
                let enough = frame.token && seen >= *tokens;
                seen += usize::from(frame.token);
                enough
            });
            let last = frames.iter().rposition(|frame| frame.token);
            let end = end.or(last.map(|last| last + 1));
            frames.truncate(end.unwrap_or_default());
            frames.extend(error_frames(asked));
            frames
        }
        Some(Fault::Endless) => {
            let first = frames.iter().position(|frame| frame.token).unwrap_or(0);
            let run = frames.iter().skip(first).take_while(|frame| frame.token);
            let end = first + run.count();
            frames.truncate(end);
            frames
        }
        Some(Fault::NoEnd) => {
            let last = frames.iter().rposition(|frame| frame.token);
            frames.truncate(last.map_or(0, |last| last + 1));
            frames
        }
        _ => frames,
    }
}

/// An answer in one piece, garbled.
pub(crate) fn whole(body: String, fault: Option<&Fault>) -> Vec<u8> {
    match fault {
        Some(Fault::Garbage(GarbageKind::Html)) => HTML.into(),
        Some(Fault::Garbage(GarbageKind::BadJson)) => {
            let mut bytes = body.into_bytes();
            bytes.pop();
            bytes
        }
        Some(Fault::Garbage(_)) => BINARY.into(),
        _ => body.into_bytes(),
    }
}

/// An answer in one piece that never comes to its end, or a very long line of it.
pub(crate) fn endless_whole(body: &Value, fault: Option<&Fault>) -> Option<Vec<StreamFrame>> {
    let body = body.to_string();
    let opening = body.get(..body.len().saturating_sub(1)).unwrap_or_default();
    match fault {
        Some(Fault::Endless) => Some(vec![
            StreamFrame::around(opening.to_owned()),
            StreamFrame::token(" ".repeat(LINE_BLOCK_BYTES / 64)),
        ]),
        Some(Fault::Garbage(GarbageKind::EndlessLine { bytes })) => Some(endless_line(
            vec![StreamFrame::around(opening.to_owned())],
            *bytes,
        )),
        _ => None,
    }
}

/// The error frames of a provider inside a stream.
fn error_frames(asked: &SimRequest) -> Vec<StreamFrame> {
    match asked.dialect {
        Dialect::OpenaiChat => chat::error_frames(asked.flavour),
        Dialect::OpenaiResponses => responses::error_frames(),
        Dialect::Anthropic => anthropic::error_frames(),
        Dialect::Gemini => gemini::error_frames(),
    }
}

fn garbled(mut frames: Vec<StreamFrame>, garbage: GarbageKind) -> Vec<StreamFrame> {
    match garbage {
        GarbageKind::Binary => {
            let middle = frames.len() / 2;
            frames.insert(middle, StreamFrame::around(BINARY));
            frames
        }
        GarbageKind::EndlessLine { bytes } => endless_line(frames, bytes),
        GarbageKind::WrongOrder => {
            frames.reverse();
            frames
        }
        GarbageKind::DuplicateIds => frames
            .into_iter()
            .flat_map(|frame| [frame.clone(), frame])
            .collect(),
        GarbageKind::CrlfMix => frames.into_iter().enumerate().map(crlf).collect(),
        GarbageKind::BadJson => {
            let last = frames.iter().rposition(|frame| frame.token);
            if let Some(frame) = last.and_then(|last| frames.get_mut(last)) {
                // Without its last two brackets it is an event all the same.
                let kept = frame.bytes.trim_ascii_end();
                let kept = kept.get(..kept.len().saturating_sub(2)).unwrap_or_default();
                let mut bytes = BytesMut::from(kept);
                bytes.extend_from_slice(b"\n\n");
                frame.bytes = bytes.freeze();
            }
            frames
        }
        GarbageKind::Html => vec![StreamFrame::around(HTML)],
    }
}

/// The frames up to the first token, then a line without end.
fn endless_line(mut frames: Vec<StreamFrame>, bytes: usize) -> Vec<StreamFrame> {
    let first = frames.iter().position(|frame| frame.token);
    frames.truncate(first.unwrap_or(1));
    frames.push(StreamFrame::around("data: "));
    let block = Bytes::from(vec![b'a'; LINE_BLOCK_BYTES]);
    let blocks = std::iter::repeat_n(block.clone(), bytes / LINE_BLOCK_BYTES);
    frames.extend(blocks.map(StreamFrame::around));
    frames.push(StreamFrame::around(block.slice(..bytes % LINE_BLOCK_BYTES)));
    frames
}

/// The frame with another end of line: each third frame has each kind.
fn crlf((at, mut frame): (usize, StreamFrame)) -> StreamFrame {
    let end: &[u8] = match at % 3 {
        0 => b"\r\n",
        1 => b"\n",
        _ => b"\r",
    };
    let mut bytes = BytesMut::new();
    for byte in &frame.bytes {
        match *byte {
            b'\n' => bytes.extend_from_slice(end),
            b'\r' => {}
            byte => bytes.extend_from_slice(&[byte]),
        }
    }
    frame.bytes = bytes.freeze();
    frame.stamp = None;
    frame
}
