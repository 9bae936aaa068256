//! The three kinds of frames.
//!
//! Only the envelope is read here. Params, payloads and errors stay raw bytes, so a frame inside a
//! payload is only data.
//!
//! - `{"type":"req","id","target"?,"method","params"?,"trace"?}`
//! - `{"type":"res","id","ok","payload"?,"error"?}`
//! - `{"type":"event","source","event","payload"?,"seq","prev"}`, or `"sub"` instead of `"prev"`
//!   when the event is volatile

use crate::limits::NAME_BYTES_MAX;
use serde::{Deserialize, Deserializer, de};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;

/// The id of an answer to a frame whose id could not be read.
pub const UNKNOWN_ID: &str = "unknown";

/// A received frame. The envelope is parsed; the rest is borrowed.
#[derive(Debug)]
pub enum Envelope<'a> {
    Request(RequestEnvelope<'a>),
    Response(ResponseEnvelope<'a>),
    Event(EventEnvelope<'a>),
}

#[derive(Debug)]
pub struct RequestEnvelope<'a> {
    pub id: Cow<'a, str>,
    /// The owning service; empty if the router should find it.
    pub target: Cow<'a, str>,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
    pub trace: Option<Cow<'a, str>>,
}

#[derive(Debug)]
pub struct ResponseEnvelope<'a> {
    pub id: Cow<'a, str>,
    /// `Ok` holds the payload, `Err` the error object. Neither is parsed.
    pub outcome: Result<Option<&'a RawValue>, &'a RawValue>,
}

#[derive(Debug)]
pub struct EventEnvelope<'a> {
    pub source: Cow<'a, str>,
    pub event: Cow<'a, str>,
    pub payload: Option<&'a RawValue>,
    pub seq: Option<u64>,
    pub prev: Option<u64>,
    pub sub: Option<u64>,
}

/// The reason why a text is not a frame. `id` is the id of the frame, if it could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MalformedFrame {
    pub id: Option<String>,
    pub message: String,
}

impl fmt::Display for MalformedFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for MalformedFrame {}

/// Parses the envelope of a frame. The caller has already checked its size and depth.
pub fn read(text: &str) -> Result<Envelope<'_>, MalformedFrame> {
    let fields: FrameFields<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return Err(malformed(find_id(text), error.to_string())),
    };
    let id = fields.id.as_ref().map(|id| id.0.to_string());
    fields
        .into_envelope()
        .map_err(|what| malformed(id, what.to_owned()))
}

/// Returns true if arrays and objects in `text` nest at most `max` levels deep. Counts brackets
/// outside strings. The parser checks later that they match.
pub fn is_depth_within(text: &str, max: usize) -> bool {
    // Few brackets cannot nest deep, and counting them is much faster than tracking strings.
    let opening = |byte: &&u8| matches!(byte, b'[' | b'{');
    if text.as_bytes().iter().filter(opening).count() <= max {
        return true;
    }
    let mut depth = 0_usize;
    let mut in_string = false;
    let mut escaped = false;
    for byte in text.bytes() {
        if in_string {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'[' | b'{' => {
                depth += 1;
                if depth > max {
                    return false;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    true
}

/// Makes a frame one line. Raw line breaks occur only between JSON tokens, so a space is
/// equivalent.
pub fn flatten_line_breaks(frame: &mut [u8]) {
    for byte in frame {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Writes a request frame. `params` is JSON text.
pub fn write_request(out: &mut Vec<u8>, request: &RequestHead<'_>, params: Option<&[u8]>) {
    out.extend_from_slice(br#"{"type":"req","id":"#);
    write_string(out, request.id);
    out.extend_from_slice(br#","target":"#);
    write_string(out, request.target);
    out.extend_from_slice(br#","method":"#);
    write_string(out, request.method);
    if let Some(trace) = request.trace {
        out.extend_from_slice(br#","trace":"#);
        write_string(out, trace);
    }
    write_member(out, b"params", params);
    out.push(b'}');
}

/// The fields of a request before its params.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub id: &'a str,
    pub target: &'a str,
    pub method: &'a str,
    pub trace: Option<&'a str>,
}

/// Writes a response frame. Payload and error are JSON text.
pub fn write_response(out: &mut Vec<u8>, id: &str, outcome: Result<Option<&[u8]>, &[u8]>) {
    out.extend_from_slice(br#"{"type":"res","id":"#);
    write_string(out, id);
    match outcome {
        Ok(payload) => {
            out.extend_from_slice(br#","ok":true"#);
            write_member(out, b"payload", payload);
        }
        Err(error) => {
            out.extend_from_slice(br#","ok":false"#);
            write_member(out, b"error", Some(error));
        }
    }
    out.push(b'}');
}

/// The position of an event in the event order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventPosition {
    /// A logged event, and the previous logged event on this connection.
    Logged { seq: u64, prev: Option<u64> },
    /// A volatile event: the `sub`th after logged event `seq`.
    Volatile { seq: u64, sub: u64 },
}

/// Writes an event frame. `payload` is JSON text. It comes last, so that only the short head
/// differs between subscribers.
pub fn write_event(out: &mut Vec<u8>, head: EventHead<'_>, payload: Option<&[u8]>) {
    out.extend_from_slice(br#"{"type":"event","source":"#);
    write_string(out, head.source);
    out.extend_from_slice(br#","event":"#);
    write_string(out, head.event);
    match head.position {
        Some(EventPosition::Logged { seq, prev }) => {
            write_number(out, b"seq", seq);
            match prev {
                Some(prev) => write_number(out, b"prev", prev),
                None => out.extend_from_slice(br#","prev":null"#),
            }
        }
        Some(EventPosition::Volatile { seq, sub }) => {
            write_number(out, b"seq", seq);
            write_number(out, b"sub", sub);
        }
        None => {}
    }
    write_member(out, b"payload", payload);
    out.push(b'}');
}

/// The fields of an event before its payload. An emitting service leaves `position` empty; the
/// router sets it.
#[derive(Clone, Copy, Debug)]
pub struct EventHead<'a> {
    pub source: &'a str,
    pub event: &'a str,
    pub position: Option<EventPosition>,
}

/// All fields of all frames. Unknown fields are ignored, because a newer peer may add some.
#[derive(Deserialize)]
struct FrameFields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    id: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    target: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    method: Option<BorrowedText<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    trace: Option<BorrowedText<'a>>,
    ok: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<BorrowedText<'a>>,
    #[serde(borrow)]
    event: Option<BorrowedText<'a>>,
    seq: Option<u64>,
    prev: Option<u64>,
    sub: Option<u64>,
}

impl<'a> FrameFields<'a> {
    fn into_envelope(self) -> Result<Envelope<'a>, &'static str> {
        match self.kind.as_ref().map(|kind| &*kind.0) {
            Some("req") => Ok(Envelope::Request(RequestEnvelope {
                id: name(self.id, "a request needs an `id` of 1 to 256 bytes")?,
                target: optional_name(self.target, "`target` is longer than 256 bytes")?
                    .unwrap_or_default(),
                method: name(self.method, "a request needs a `method` of 1 to 256 bytes")?,
                params: self.params,
                trace: optional_name(self.trace, "`trace` is longer than 256 bytes")?,
            })),
            Some("res") => Ok(Envelope::Response(ResponseEnvelope {
                id: name(self.id, "a response needs an `id` of 1 to 256 bytes")?,
                outcome: match (self.ok, self.error) {
                    (Some(true), _) => Ok(self.payload),
                    (Some(false), Some(error)) => Err(error),
                    (Some(false), None) => return Err("a failed response needs an `error`"),
                    (None, _) => return Err("a response needs `ok`"),
                },
            })),
            Some("event") => Ok(Envelope::Event(EventEnvelope {
                source: self.source.map(|source| source.0).unwrap_or_default(),
                event: name(self.event, "an event needs an `event` of 1 to 256 bytes")?,
                payload: self.payload,
                seq: self.seq,
                prev: self.prev,
                sub: self.sub,
            })),
            Some(_) => Err("`type` must be \"req\", \"res\" or \"event\""),
            None => Err("a frame needs a `type`: \"req\", \"res\" or \"event\""),
        }
    }
}

fn name<'a>(
    text: Option<BorrowedText<'a>>,
    otherwise: &'static str,
) -> Result<Cow<'a, str>, &'static str> {
    match text {
        Some(BorrowedText(text)) if !text.is_empty() && text.len() <= NAME_BYTES_MAX => Ok(text),
        _ => Err(otherwise),
    }
}

fn optional_name<'a>(
    text: Option<BorrowedText<'a>>,
    otherwise: &'static str,
) -> Result<Option<Cow<'a, str>>, &'static str> {
    match text {
        Some(BorrowedText(text)) if text.len() > NAME_BYTES_MAX => Err(otherwise),
        other => Ok(other.map(|text| text.0)),
    }
}

/// Keeps a body that is `null`, so that it is forwarded as the peer wrote it.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn malformed(id: Option<String>, message: String) -> MalformedFrame {
    MalformedFrame { id, message }
}

/// Reads the id of a frame whose other fields have wrong types.
fn find_id(text: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct OnlyId {
        id: String,
    }
    let found: OnlyId = serde_json::from_str(text).ok()?;
    (!found.id.is_empty() && found.id.len() <= NAME_BYTES_MAX).then_some(found.id)
}

fn write_member(out: &mut Vec<u8>, key: &[u8], value: Option<&[u8]>) {
    if let Some(value) = value {
        out.extend_from_slice(b",\"");
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    }
}

fn write_number(out: &mut Vec<u8>, key: &[u8], value: u64) {
    write_member(out, key, Some(value.to_string().as_bytes()));
}

fn write_string(out: &mut Vec<u8>, text: &str) {
    let plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(plain) {
        out.push(b'"');
        out.extend_from_slice(text.as_bytes());
        out.push(b'"');
    } else {
        let quoted = serde_json::Value::from(text).to_string();
        out.extend_from_slice(quoted.as_bytes());
    }
}

/// A string that is borrowed from the frame unless it contains escapes. Serde would copy every
/// `Option<Cow<str>>`, which is too slow for the router's hot path.
struct BorrowedText<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for BorrowedText<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct BorrowedTextVisitor;
        impl<'de> de::Visitor<'de> for BorrowedTextVisitor {
            type Value = BorrowedText<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(
                self,
                text: &'de str,
            ) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<BorrowedText<'de>, E> {
                Ok(BorrowedText(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(BorrowedTextVisitor)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
