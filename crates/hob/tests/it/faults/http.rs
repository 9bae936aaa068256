//! HTTP by hand: what a test writes is what the daemon reads, byte for byte.

use serde_json::Value;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

const ANSWER_WAIT: Duration = Duration::from_mins(1);

/// An answer: its status, its head as text, its body.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }
}

pub(crate) fn connect(port: u16) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(SocketAddr::from(([127, 0, 0, 1], port)))?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    stream.set_write_timeout(Some(ANSWER_WAIT))?;
    Ok(stream)
}

/// Writes `request` on a new connection and reads one answer.
pub(crate) fn exchange(port: u16, request: &[u8]) -> io::Result<Reply> {
    let mut stream = connect(port)?;
    // A daemon that refuses early may close before it has read everything.
    let _ = stream.write_all(request);
    read_reply(&mut stream)
}

/// A `POST` with these header lines; `Host` is right and the length is added.
pub(crate) fn post(port: u16, path: &str, headers: &[&str], body: &str) -> io::Result<Reply> {
    exchange(port, &request("POST", port, path, headers, body))
}

/// A request with a right `Host`, these header lines, and `Connection: close`.
#[rustfmt::skip]
pub(crate) fn request(method: &str, port: u16, path: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let mut text = format!("{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n");
    for header in headers {
        text.push_str(header);
        text.push_str("\r\n");
    }
    text.push_str("Content-Length: ");
    text.push_str(&body.len().to_string());
    text.push_str("\r\n\r\n");
    text.push_str(body);
    text.into_bytes()
}

/// Reads one answer: to its length if it names one, else to the end.
pub(crate) fn read_reply(stream: &mut TcpStream) -> io::Result<Reply> {
    let head = read_head(stream)?;
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("not HTTP: {head:?}")))?;
    let length = header(&head, "content-length").and_then(|length| length.parse::<u64>().ok());
    let mut body = Vec::new();
    if status != 101 {
        stream
            .take(length.unwrap_or(u64::MAX))
            .read_to_end(&mut body)?;
    }
    let body = String::from_utf8_lossy(&body).into_owned();
    Ok(Reply { status, head, body })
}

/// The value of a header in a head, by its lower-case name.
pub(crate) fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    head.lines().find_map(|line| {
        let (known, value) = line.split_once(':')?;
        known.eq_ignore_ascii_case(name).then(|| value.trim())
    })
}

/// Reads up to the empty line, byte by byte so that nothing after it is taken.
pub(crate) fn read_head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte)? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        head.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}
