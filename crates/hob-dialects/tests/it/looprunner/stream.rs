//! A client of server-sent events that reads raw bytes.

use crate::house::{Answer, PATIENCE, parse};
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ_BYTES: usize = 256 * 1024;

/// One message: its id, if it has one, and its data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Message {
    pub(crate) fn kind(&self) -> &str {
        self.data["type"].as_str().unwrap()
    }
}

#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) inner: TcpStream,
    pub(crate) head: Answer,
    text: String,
}

impl Stream {
    /// Opens a stream, or answers why not. Version 1.0, so that the body comes as it is.
    pub(crate) async fn open(host: &str, path: &str, headers: &[&str]) -> Result<Stream, Answer> {
        let mut inner = TcpStream::connect(host).await.unwrap();
        let mut lines = vec![format!("Host: {host}")];
        lines.extend(headers.iter().map(|&line| line.to_owned()));
        let head = lines.join("\r\n");
        let request = format!("GET {path} HTTP/1.0\r\n{head}\r\n\r\n");
        inner.write_all(request.as_bytes()).await.unwrap();
        let mut bytes = Vec::new();
        let end = loop {
            if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
                break end + 4;
            }
            assert!(read(&mut inner, &mut bytes).await > 0, "{bytes:?}");
        };
        let mut head = parse(&bytes[..end]);
        if head.status != 200 {
            while read(&mut inner, &mut bytes).await > 0 {}
            head.body = bytes[end..].to_vec();
            return Err(head);
        }
        let text = String::from_utf8(bytes[end..].to_vec()).unwrap();
        Ok(Stream { inner, head, text })
    }

    /// The next message; none at the end.
    pub(crate) async fn next(&mut self) -> Option<Message> {
        loop {
            if let Some(message) = message(&self.block().await?) {
                return Some(message);
            }
        }
    }

    /// The next lines up to an empty one, be they a message or not.
    pub(crate) async fn block(&mut self) -> Option<String> {
        loop {
            if let Some((block, rest)) = self.text.split_once("\n\n") {
                let block = block.to_owned();
                self.text = rest.to_owned();
                return Some(block);
            }
            let mut bytes = Vec::with_capacity(READ_BYTES);
            if read(&mut self.inner, &mut bytes).await == 0 {
                assert_eq!(self.text, "", "a message was cut");
                return None;
            }
            // Texts of these tests are ASCII, so no read ends inside a letter.
            self.text.push_str(&String::from_utf8(bytes).unwrap());
        }
    }

    /// Messages up to the first of this kind.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Message> {
        let mut seen = Vec::new();
        loop {
            let message = self.next().await.expect("the stream goes on");
            let found = message.kind() == kind;
            seen.push(message);
            if found {
                return seen;
            }
        }
    }
}

pub(crate) fn kinds(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(Message::kind).collect()
}

fn message(block: &str) -> Option<Message> {
    let field = |name: &str| block.lines().find_map(|line| line.strip_prefix(name));
    let data = field("data: ")?;
    Some(Message {
        id: field("id: ").map(|id| id.parse().unwrap()),
        data: serde_json::from_str(data).unwrap(),
    })
}

async fn read(inner: &mut TcpStream, bytes: &mut Vec<u8>) -> usize {
    let read = tokio::time::timeout(PATIENCE, inner.read_buf(bytes)).await;
    read.expect("something comes in time").unwrap()
}
