//! HTTP by hand: what was sent is what is seen, cut chunks included.

use hob_sim::{Dialect, Sim};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Longer than anything here takes on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// An answer as it came.
pub(crate) struct Heard {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    /// Without the marks between chunks.
    pub(crate) body: Vec<u8>,
    /// Whether the body came to the end its head promised.
    pub(crate) whole: bool,
}

impl Heard {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("a JSON body")
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).expect("UTF-8")
    }
}

/// The path a dialect is asked at.
pub(crate) fn path(dialect: Dialect, stream: bool) -> &'static str {
    match (dialect, stream) {
        (Dialect::OpenaiChat, _) => "/v1/chat/completions",
        (Dialect::OpenaiResponses, _) => "/v1/responses",
        (Dialect::Anthropic, _) => "/v1/messages",
        (Dialect::Gemini, true) => "/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse",
        (Dialect::Gemini, false) => "/v1beta/models/gemini-3-pro:generateContent",
    }
}

/// The least a request can say.
pub(crate) fn simple(dialect: Dialect, stream: bool) -> Value {
    let talk = json!([{ "role": "user", "content": "hello" }]);
    match dialect {
        Dialect::OpenaiChat if stream => json!({
            "model": "m", "stream": true, "messages": talk,
            "stream_options": { "include_usage": true },
        }),
        Dialect::OpenaiChat => json!({ "model": "m", "messages": talk }),
        Dialect::OpenaiResponses => json!({ "model": "m", "stream": stream, "input": talk }),
        Dialect::Anthropic => json!({
            "model": "m", "stream": stream, "max_tokens": 100, "messages": talk,
        }),
        Dialect::Gemini => json!({
            "contents": [{ "role": "user", "parts": [{ "text": "hello" }] }],
        }),
    }
}

/// Asks and hears the answer to its end, whatever end that is.
pub(crate) fn ask(sim: &Sim, dialect: Dialect, stream: bool) -> Heard {
    post(sim, path(dialect, stream), &simple(dialect, stream))
}

pub(crate) fn post(sim: &Sim, path: &str, body: &Value) -> Heard {
    hear(send(sim, "POST", path, &body.to_string()))
}

pub(crate) fn get(sim: &Sim, path: &str, header: &str) -> Heard {
    let mut stream = connect(sim);
    let head = format!("GET {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n{header}\r\n");
    stream.write_all(head.as_bytes()).expect("sent");
    hear(stream)
}

/// Sends a request and leaves the answer to be read.
pub(crate) fn send(sim: &Sim, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = connect(sim);
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\n\
         anthropic-version: 2023-06-01\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).expect("sent");
    stream.write_all(body.as_bytes()).expect("sent");
    stream
}

pub(crate) fn begin(sim: &Sim, dialect: Dialect) -> TcpStream {
    let body = simple(dialect, true).to_string();
    send(sim, "POST", path(dialect, true), &body)
}

fn connect(sim: &Sim) -> TcpStream {
    let stream = TcpStream::connect(sim.address()).expect("it listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("set");
    stream
}

/// Reads to the end of the connection.
pub(crate) fn hear(mut stream: TcpStream) -> Heard {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).expect("it ends by itself");
    parse(&bytes)
}

/// Reads until what came holds this.
pub(crate) fn hear_until(stream: &mut TcpStream, wanted: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut block = [0; 4_096];
    while !String::from_utf8_lossy(&bytes).contains(wanted) {
        let got = stream.read(&mut block).expect("it comes");
        assert!(got > 0, "it ended without {wanted}");
        bytes.extend_from_slice(&block[..got]);
    }
    bytes
}

pub(crate) fn parse(bytes: &[u8]) -> Heard {
    let end = bytes.windows(4).position(|seen| seen == b"\r\n\r\n");
    let Some(end) = end else {
        return Heard {
            status: 0,
            headers: Vec::new(),
            body: bytes.to_vec(),
            whole: false,
        };
    };
    let head = std::str::from_utf8(&bytes[..end]).expect("a head is text");
    let mut lines = head.split("\r\n");
    let status = lines.next().and_then(|line| line.split(' ').nth(1));
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let rest = &bytes[end + 4..];
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let (body, whole) = match length {
        Some((_, length)) => (rest.to_vec(), length == &rest.len().to_string()),
        None => unchunked(rest),
    };
    Heard {
        status: status.and_then(|code| code.parse().ok()).expect("a status"),
        headers,
        body,
        whole,
    }
}

/// What the chunks hold, up to where they stop.
fn unchunked(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    loop {
        let Some(end) = rest.windows(2).position(|seen| seen == b"\r\n") else {
            return (body, false);
        };
        let size = std::str::from_utf8(&rest[..end]).expect("a size is text");
        let size = usize::from_str_radix(size, 16).expect("a size is hex");
        if size == 0 {
            return (body, true);
        }
        let data = &rest[end + 2..];
        if data.len() < size + 2 {
            body.extend_from_slice(&data[..size.min(data.len())]);
            return (body, false);
        }
        body.extend_from_slice(&data[..size]);
        rest = &data[size + 2..];
    }
}

/// Waits until something is so.
pub(crate) fn until(what: &str, so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !so() {
        assert!(begun.elapsed() < PATIENCE, "it never came to be: {what}");
        std::thread::sleep(Duration::from_millis(2));
    }
}
