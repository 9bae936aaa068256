//! A client of streamed chat completions on a bare socket: the same for hob and for the server
//! behind it. Tokens of a scripted server say when they were sent; those of a model just come.

use crate::measure::LatencySamples;
use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// A stream that is silent for this long has failed.
const PATIENCE: Duration = Duration::from_secs(30);
const READ_BYTES: usize = 16 * 1024;

/// The server to measure.
#[derive(Clone, Debug)]
pub(crate) struct StreamTarget {
    pub(crate) address: String,
    pub(crate) token: Option<String>,
    pub(crate) model: String,
    /// The moment from which stamps count, in microseconds since 1970.
    pub(crate) stamps_begin_us: u64,
}

/// A piece of an answer and its arrival time, in microseconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StampedPiece {
    pub(crate) at_us: u64,
    /// As it stands in the JSON.
    pub(crate) said: String,
}

/// Asks once and reads all tokens; each one's way from the scripted server to here is a sample.
pub(crate) async fn read(target: &StreamTarget) -> Result<LatencySamples> {
    let question = json!([{ "role": "user", "content": "Tell me the time, over and over." }]);
    let pieces = ask(target, json!({ "messages": question })).await?;
    travelled(&pieces, target.stamps_begin_us)
}

/// Asks once and reads the answer to its end.
pub(crate) async fn ask(target: &StreamTarget, mut body: Value) -> Result<Vec<StampedPiece>> {
    body["model"] = json!(target.model);
    body["stream"] = json!(true);
    let mut socket = TcpStream::connect(&target.address).await?;
    socket.set_nodelay(true)?;
    socket.write_all(request(target, &body).as_bytes()).await?;
    let mut answer = ChunkedAnswer::default();
    let mut buffer = vec![0; READ_BYTES];
    while !answer.ended {
        let read = tokio::time::timeout(PATIENCE, socket.read(&mut buffer)).await??;
        let now_us = wall_us();
        ensure!(read > 0, "the stream was cut: {}", answer.shown());
        answer.take(&buffer[..read], now_us)?;
    }
    Ok(answer.pieces)
}

/// The latency of each stamped token.
fn travelled(pieces: &[StampedPiece], stamps_begin_us: u64) -> Result<LatencySamples> {
    let mut samples = LatencySamples::default();
    for piece in pieces {
        let now_us = piece.at_us.saturating_sub(stamps_begin_us);
        for stamp in piece.said.split_ascii_whitespace() {
            let sent_us: u64 = stamp.parse().context("a stamp")?;
            samples.push(Duration::from_micros(now_us.saturating_sub(sent_us)));
        }
    }
    Ok(samples)
}

fn request(target: &StreamTarget, body: &Value) -> String {
    let body = body.to_string();
    let key = target.token.as_deref().unwrap_or("none");
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        target.address,
        body.len(),
    )
}

/// An answer as far as it came: its head, then chunks, in them lines.
#[derive(Debug, Default)]
struct ChunkedAnswer {
    /// Bytes that are not taken apart yet.
    raw: Vec<u8>,
    place: ChunkState,
    line: Vec<u8>,
    pieces: Vec<StampedPiece>,
    ended: bool,
}

#[derive(Clone, Copy, Debug, Default)]
enum ChunkState {
    #[default]
    Head,
    Size,
    /// Bytes left of the chunk.
    Data(usize),
    /// The line break after a chunk.
    Break,
}

impl ChunkedAnswer {
    fn take(&mut self, bytes: &[u8], now_us: u64) -> Result<()> {
        let mut raw = std::mem::take(&mut self.raw);
        raw.extend_from_slice(bytes);
        let mut at = 0;
        while !self.ended
            && let Some(taken) = self.step(&raw[at..], now_us)?
        {
            at += taken;
        }
        raw.drain(..at);
        self.raw = raw;
        Ok(())
    }

    /// Takes one piece off the front; nothing when more bytes are needed for it.
    fn step(&mut self, raw: &[u8], now_us: u64) -> Result<Option<usize>> {
        match self.place {
            ChunkState::Head => {
                let Some(end) = find(raw, b"\r\n\r\n") else {
                    return Ok(None);
                };
                let head = String::from_utf8_lossy(&raw[..end]).to_ascii_lowercase();
                let good = head.starts_with("http/1.1 200");
                if !good || !head.contains("transfer-encoding: chunked") {
                    bail!("no stream: {}", String::from_utf8_lossy(raw));
                }
                self.place = ChunkState::Size;
                Ok(Some(end + 4))
            }
            ChunkState::Size => {
                let Some(end) = find(raw, b"\r\n") else {
                    return Ok(None);
                };
                let size = std::str::from_utf8(&raw[..end])?;
                let size = usize::from_str_radix(size, 16).context("the size of a chunk")?;
                ensure!(size > 0, "the answer ended early: {}", self.shown());
                self.place = ChunkState::Data(size);
                Ok(Some(end + 2))
            }
            ChunkState::Data(left) => {
                let taken = left.min(raw.len());
                self.text(&raw[..taken], now_us)?;
                self.place = match left - taken {
                    0 => ChunkState::Break,
                    left => ChunkState::Data(left),
                };
                Ok((taken > 0).then_some(taken))
            }
            ChunkState::Break if raw.len() < 2 => Ok(None),
            ChunkState::Break => {
                self.place = ChunkState::Size;
                Ok(Some(2))
            }
        }
    }

    fn text(&mut self, mut text: &[u8], now_us: u64) -> Result<()> {
        while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
            self.line.extend_from_slice(&text[..end]);
            text = &text[end + 1..];
            let mut line = std::mem::take(&mut self.line);
            self.event(&line, now_us)?;
            line.clear();
            self.line = line;
        }
        self.line.extend_from_slice(text);
        Ok(())
    }

    fn event(&mut self, line: &[u8], now_us: u64) -> Result<()> {
        const SAID: &[u8] = b"\"content\":\"";
        let Some(data) = line.strip_prefix(b"data: ") else {
            return Ok(());
        };
        self.ended |= data.starts_with(b"[DONE]");
        let Some(at) = find(data, SAID) else {
            return Ok(());
        };
        let said = &data[at + SAID.len()..];
        let said = &said[..find(said, b"\"").unwrap_or(said.len())];
        if !said.is_empty() {
            self.pieces.push(StampedPiece {
                at_us: now_us,
                said: std::str::from_utf8(said)?.to_owned(),
            });
        }
        Ok(())
    }

    fn shown(&self) -> String {
        String::from_utf8_lossy(&self.line).into_owned()
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|at| at == wanted)
}

#[expect(
    clippy::disallowed_methods,
    reason = "the clock of the machine is the one that two processes share"
)]
pub(crate) fn wall_us() -> u64 {
    let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    wall.map_or(0, |since| {
        u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
    })
}

#[cfg(test)]
#[path = "stream_tests.rs"]
mod tests;
