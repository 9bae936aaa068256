//! The three frames. The envelope is read here and nothing else: params, payloads and errors stay
//! the bytes they came as, so a frame inside a payload is only data.
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

/// The id of an answer to a frame whose own id could not be read.
pub const UNKNOWN_ID: &str = "unknown";

/// A frame as it arrives: its envelope read, the rest borrowed.
#[derive(Debug)]
pub enum Envelope<'a> {
    Request(RequestEnvelope<'a>),
    Response(ResponseEnvelope<'a>),
    Event(EventEnvelope<'a>),
}

#[derive(Debug)]
pub struct RequestEnvelope<'a> {
    pub id: Cow<'a, str>,
    /// Empty when the caller leaves the owner to the router.
    pub target: Cow<'a, str>,
    pub method: Cow<'a, str>,
    pub params: Option<&'a RawValue>,
    pub trace: Option<Cow<'a, str>>,
}

#[derive(Debug)]
pub struct ResponseEnvelope<'a> {
    pub id: Cow<'a, str>,
    /// `Ok` holds the payload, `Err` the error object, both unread.
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

/// Why a text is not a frame. `id` is the request's, if that much could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed {
    pub id: Option<String>,
    pub message: String,
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Malformed {}

/// Reads the envelope of a frame. The caller has already checked its size and depth.
pub fn read(text: &str) -> Result<Envelope<'_>, Malformed> {
    let fields: Fields<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        Err(error) => return Err(malformed(find_id(text), error.to_string())),
    };
    let id = fields.id.as_ref().map(|id| id.0.to_string());
    fields
        .into_envelope()
        .map_err(|what| malformed(id, what.to_owned()))
}

/// Whether arrays and objects in `text` nest at most `max` deep. Counts brackets outside strings;
/// whether they match is the parser's question.
pub fn depth_within(text: &str, max: usize) -> bool {
    // Few brackets cannot nest deep, and counting them is much faster than following strings.
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

/// Makes a frame one line. Raw line breaks can only stand between JSON tokens, so a space says
/// the same.
pub fn flatten_line_breaks(frame: &mut [u8]) {
    for byte in frame {
        if matches!(byte, b'\n' | b'\r') {
            *byte = b' ';
        }
    }
}

/// Writes a request frame; `params` is JSON already.
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

/// What stands before a request's params.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    pub id: &'a str,
    pub target: &'a str,
    pub method: &'a str,
    pub trace: Option<&'a str>,
}

/// Writes a response frame; payload and error are JSON already.
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

/// Where an event stands in the order of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A logged event and the one before it on this connection.
    Logged { seq: u64, prev: Option<u64> },
    /// A volatile event: the `sub`th after logged event `seq`.
    Volatile { seq: u64, sub: u64 },
}

/// Writes an event frame; `payload` is JSON already. The payload comes last, so that only the
/// short head differs between subscribers.
pub fn write_event(out: &mut Vec<u8>, head: EventHead<'_>, payload: Option<&[u8]>) {
    out.extend_from_slice(br#"{"type":"event","source":"#);
    write_string(out, head.source);
    out.extend_from_slice(br#","event":"#);
    write_string(out, head.event);
    match head.place {
        Some(Place::Logged { seq, prev }) => {
            write_number(out, b"seq", seq);
            match prev {
                Some(prev) => write_number(out, b"prev", prev),
                None => out.extend_from_slice(br#","prev":null"#),
            }
        }
        Some(Place::Volatile { seq, sub }) => {
            write_number(out, b"seq", seq);
            write_number(out, b"sub", sub);
        }
        None => {}
    }
    write_member(out, b"payload", payload);
    out.push(b'}');
}

/// What stands before an event's payload. A service that emits leaves `place` to the router.
#[derive(Clone, Copy, Debug)]
pub struct EventHead<'a> {
    pub source: &'a str,
    pub event: &'a str,
    pub place: Option<Place>,
}

/// Every field any frame may have. Others are ignored: a newer peer may add some.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow, rename = "type")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    target: Option<Text<'a>>,
    #[serde(borrow)]
    method: Option<Text<'a>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow)]
    trace: Option<Text<'a>>,
    ok: Option<bool>,
    #[serde(borrow, default, deserialize_with = "present")]
    payload: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    source: Option<Text<'a>>,
    #[serde(borrow)]
    event: Option<Text<'a>>,
    seq: Option<u64>,
    prev: Option<u64>,
    sub: Option<u64>,
}

impl<'a> Fields<'a> {
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

fn name<'a>(text: Option<Text<'a>>, otherwise: &'static str) -> Result<Cow<'a, str>, &'static str> {
    match text {
        Some(Text(text)) if !text.is_empty() && text.len() <= NAME_BYTES_MAX => Ok(text),
        _ => Err(otherwise),
    }
}

fn optional_name<'a>(
    text: Option<Text<'a>>,
    otherwise: &'static str,
) -> Result<Option<Cow<'a, str>>, &'static str> {
    match text {
        Some(Text(text)) if text.len() > NAME_BYTES_MAX => Err(otherwise),
        other => Ok(other.map(|text| text.0)),
    }
}

/// A body that is there, even if it is `null`: what a peer wrote is passed on.
fn present<'de: 'a, 'a, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<&'a RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

fn malformed(id: Option<String>, message: String) -> Malformed {
    Malformed { id, message }
}

/// The id of a frame whose other fields have the wrong types.
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

/// A string borrowed from the frame whenever it holds no escapes. (Serde would copy every
/// `Option<Cow<str>>`, which the router's hot path cannot afford.)
struct Text<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Text<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Text<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }
            fn visit_borrowed_str<E: de::Error>(self, text: &'de str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text<'de>, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

#[cfg(test)]
#[path = "frame_tests.rs"]
mod tests;
