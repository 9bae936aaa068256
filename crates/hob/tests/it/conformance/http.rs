//! Raw HTTP/1.1, one request a connection, so that a test decides every byte of it.

use super::wire::DEADLINE;
use crate::support::House;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        let parsed = serde_json::from_str(&self.body);
        parsed.unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }
}

/// `GET PATH` with the holder's token.
pub(crate) async fn get(house: &House, path: &str, token: &str) -> Answer {
    send(
        house,
        &head(
            house,
            "GET",
            path,
            &[("Authorization", &format!("Bearer {token}"))],
        ),
        "",
    )
    .await
}

/// `POST /api/rpc/METHOD` with the holder's token; `body` is sent as it is.
pub(crate) async fn rpc(house: &House, token: &str, method: &str, body: &str) -> Answer {
    post(house, token, &format!("/api/rpc/{method}"), body).await
}

/// `POST PATH` with the holder's token; `body` is sent as it is.
pub(crate) async fn post(house: &House, token: &str, path: &str, body: &str) -> Answer {
    let length = body.len().to_string();
    let bearer = format!("Bearer {token}");
    let fields = [
        ("Authorization", bearer.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", &length),
    ];
    send(house, &head(house, "POST", path, &fields), body).await
}

/// A request head with the right `Host`.
pub(crate) fn head(house: &House, verb: &str, path: &str, fields: &[(&str, &str)]) -> String {
    let mut head = format!("{verb} {path} HTTP/1.1\r\nHost: {}\r\n", house.address());
    for (name, value) in fields {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("Connection: close\r\n\r\n");
    head
}

/// Sends a head and body as they are and reads the answer to its end.
pub(crate) async fn send(house: &House, head: &str, body: &str) -> Answer {
    parse(&send_raw(house, head, body).await)
}

/// The same, with the answer as it came.
pub(crate) async fn send_raw(house: &House, head: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(house.address())
        .await
        .expect("the port accepts");
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the head is taken");
    // A refused request may be answered before its body is read.
    let _ = stream.write_all(body.as_bytes()).await;
    let mut raw = Vec::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_end(&mut raw)).await;
    // A reset after the answer is how a server refuses the rest of a body.
    let _ = read.expect("the answer ends in time");
    String::from_utf8_lossy(&raw).into_owned()
}

fn parse(text: &str) -> Answer {
    let (head, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no head in {text:?}"));
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line
        .split(' ')
        .nth(1)
        .and_then(|code| code.parse().ok());
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let answer = Answer {
        status: status.unwrap_or_else(|| panic!("no status in {status_line:?}")),
        headers,
        body: body.to_owned(),
    };
    match answer.header("transfer-encoding") {
        Some("chunked") => Answer {
            body: join_chunks(&answer.body),
            ..answer
        },
        _ => answer,
    }
}

fn join_chunks(mut rest: &str) -> String {
    let mut body = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).expect("a chunk size");
        if size == 0 {
            break;
        }
        body.push_str(&after[..size]);
        rest = after[size..].trim_start_matches("\r\n");
    }
    body
}
