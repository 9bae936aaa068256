//! A WebSocket client by hand, able to lie about lengths, fragments and encodings.

use super::http::{self, Reply};
use super::peer::{Answer, answer};
use serde_json::{Value, json};
use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;

pub(crate) const CONTINUATION: u8 = 0;
pub(crate) const TEXT: u8 = 1;
pub(crate) const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;
const MASKED: u8 = 0x80;
/// Short lengths that say where the real one stands.
const LENGTH_IN_TWO: u8 = 0x7e;
const LENGTH_IN_EIGHT: u8 = 0x7f;

/// The WebSocket handshake's fixed header lines.
pub(crate) const UPGRADE: [&str; 4] = [
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
];

/// An open WebSocket.
pub(crate) struct Socket {
    stream: TcpStream,
    next_id: u64,
}

/// What the other side said.
#[derive(Debug, PartialEq)]
pub(crate) enum Heard {
    Text(String),
    /// A close frame and its code, 1005 when it had none.
    Close(u16),
}

impl Socket {
    /// Opens `/ws` with these header lines; a refusal is the HTTP answer.
    pub(crate) fn open(port: u16, headers: &[&str]) -> io::Result<Result<Socket, Reply>> {
        Ok(Socket::open_with_head(port, headers)?.map(|(socket, _)| socket))
    }

    /// Opens `/ws` and also returns the head of the answer.
    pub(crate) fn open_with_head(
        port: u16,
        headers: &[&str],
    ) -> io::Result<Result<(Socket, String), Reply>> {
        let host = format!("Host: 127.0.0.1:{port}");
        let lines = [&[host.as_str()], UPGRADE.as_slice(), headers].concat();
        let head = format!("GET /ws HTTP/1.1\r\n{}\r\n\r\n", lines.join("\r\n"));
        let mut stream = http::connect(port)?;
        stream.write_all(head.as_bytes())?;
        let reply = http::read_reply(&mut stream)?;
        Ok(if reply.status == 101 {
            Ok((Socket { stream, next_id: 0 }, reply.head))
        } else {
            Err(reply)
        })
    }

    /// Opens `/ws` with a token that must be right.
    pub(crate) fn authenticated(port: u16, token: &str) -> Socket {
        let bearer = format!("Authorization: Bearer {token}");
        match Socket::open(port, &[&bearer]) {
            Ok(Ok(socket)) => socket,
            Ok(Err(reply)) => panic!("the WebSocket was refused: {reply:?}"),
            Err(error) => panic!("the WebSocket was not answered: {error}"),
        }
    }

    pub(crate) fn stream(&mut self) -> &mut TcpStream {
        &mut self.stream
    }

    /// Writes the head of a frame that claims `length` bytes, masked with zeros so that the
    /// payload travels as it is.
    pub(crate) fn send_head(&mut self, last: bool, opcode: u8, length: u64) -> io::Result<()> {
        self.stream.write_all(&head(last, opcode, length))
    }

    pub(crate) fn send_frame(&mut self, last: bool, opcode: u8, payload: &[u8]) -> io::Result<()> {
        let mut bytes = head(last, opcode, payload.len() as u64);
        bytes.extend_from_slice(payload);
        self.stream.write_all(&bytes)
    }

    pub(crate) fn send_text(&mut self, text: &str) -> io::Result<()> {
        self.send_frame(true, TEXT, text.as_bytes())
    }

    /// The next message; pings are answered. An ended connection is an error.
    pub(crate) fn hear(&mut self) -> io::Result<Heard> {
        loop {
            let mut start = [0; 2];
            self.stream.read_exact(&mut start)?;
            let length = match start[1] & 0x7f {
                LENGTH_IN_TWO => {
                    let mut bytes = [0; 2];
                    self.stream.read_exact(&mut bytes)?;
                    u64::from(u16::from_be_bytes(bytes))
                }
                LENGTH_IN_EIGHT => {
                    let mut bytes = [0; 8];
                    self.stream.read_exact(&mut bytes)?;
                    u64::from_be_bytes(bytes)
                }
                short => u64::from(short),
            };
            let mut payload = Vec::new();
            (&mut self.stream).take(length).read_to_end(&mut payload)?;
            if payload.len() as u64 != length {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            match start[0] & 0x0f {
                TEXT => {
                    return String::from_utf8(payload)
                        .map(Heard::Text)
                        .map_err(io::Error::other);
                }
                CLOSE => {
                    let code = payload
                        .get(..2)
                        .map_or(1005, |code| u16::from_be_bytes([code[0], code[1]]));
                    return Ok(Heard::Close(code));
                }
                PING => self.send_frame(true, PONG, &payload)?,
                _ => {}
            }
        }
    }

    /// The next frame of the wire; a close is `UnexpectedEof`.
    pub(crate) fn frame(&mut self) -> io::Result<Value> {
        match self.hear()? {
            Heard::Text(text) => serde_json::from_str(&text).map_err(io::Error::other),
            Heard::Close(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Sends a request and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> io::Result<Answer> {
        self.next_id += 1;
        let id = format!("w{}", self.next_id);
        let frame =
            json!({ "type": "req", "id": id, "target": "", "method": method, "params": params });
        self.send_text(&frame.to_string())?;
        loop {
            let frame = self.frame()?;
            if frame["type"] == "res" && frame["id"] == id.as_str() {
                return Ok(answer(&frame));
            }
        }
    }
}

fn head(last: bool, opcode: u8, length: u64) -> Vec<u8> {
    let mut bytes = vec![u8::from(last) << 7 | opcode];
    match (u8::try_from(length), u16::try_from(length)) {
        (Ok(short), _) if short < LENGTH_IN_TWO => bytes.push(MASKED | short),
        (_, Ok(middle)) => {
            bytes.push(MASKED | LENGTH_IN_TWO);
            bytes.extend_from_slice(&middle.to_be_bytes());
        }
        _ => {
            bytes.push(MASKED | LENGTH_IN_EIGHT);
            bytes.extend_from_slice(&length.to_be_bytes());
        }
    }
    bytes.extend_from_slice(&[0; 4]);
    bytes
}
