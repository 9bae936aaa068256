//! A client as Loop Runner's own: plain requests and server-sent events, byte by byte.

use crate::faults::http::{self, Reply};
use crate::support::House;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

/// Where a client speaks, and as whom.
#[derive(Clone, Debug)]
pub(crate) struct Client {
    pub(crate) port: u16,
    token: Option<String>,
}

impl Client {
    /// On the listener of its own, without a token.
    pub(crate) fn granted(house: &House) -> Client {
        let listed = house.hob(&["--json", "status"]).success();
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        let listeners = listed["listeners"].as_array().expect("a list");
        let mut texts = listeners.iter().filter_map(Value::as_str);
        let address = texts.find_map(|line| line.strip_prefix("looprunner "));
        Client {
            port: port_of(address.expect("status shows the listener")),
            token: None,
        }
    }

    /// On the main port, as the owner.
    pub(crate) fn owner(house: &House) -> Client {
        Client {
            port: port_of(house.address()),
            token: Some(house.token()),
        }
    }

    fn headers(&self) -> Vec<String> {
        let token = self.token.iter();
        token
            .map(|token| format!("Authorization: Bearer {token}"))
            .collect()
    }

    pub(crate) fn send(&self, method: &str, path: &str, more: &[&str], body: &str) -> Reply {
        let headers = self.headers();
        let mut lines: Vec<&str> = headers.iter().map(String::as_str).collect();
        lines.extend(more);
        let request = http::request(method, self.port, path, &lines, body);
        http::exchange(self.port, &request).expect("an answer")
    }

    pub(crate) fn get(&self, path: &str) -> Value {
        let reply = self.send("GET", path, &[], "");
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// A change that must be taken.
    pub(crate) fn post(&self, path: &str, body: &Value) -> Value {
        let reply = self.try_post(path, body);
        assert!([200, 201].contains(&reply.status), "{path}: {reply:?}");
        reply.json()
    }

    pub(crate) fn try_post(&self, path: &str, body: &Value) -> Reply {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.send("POST", path, &["Content-Type: application/json"], &body)
    }

    /// What happens, from now on or after an event.
    pub(crate) fn events(&self, path: &str, after: Option<u64>) -> Events {
        let mut lines = self.headers();
        lines.push(format!("Host: 127.0.0.1:{}", self.port));
        lines.extend(after.map(|id| format!("Last-Event-ID: {id}")));
        let mut stream = http::connect(self.port).expect("the daemon listens");
        // Version 1.0, so that the stream comes as it is.
        let request = format!("GET {path} HTTP/1.0\r\n{}\r\n\r\n", lines.join("\r\n"));
        stream.write_all(request.as_bytes()).expect("it is taken");
        let mut lines = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).expect("a head") > 0, "{head}");
        }
        assert!(head.starts_with("HTTP/1.0 200"), "{head}");
        Events { lines }
    }
}

fn port_of(address: &str) -> u16 {
    let port = address.rsplit(':').next();
    port.and_then(|port| port.parse().ok()).expect("a port")
}

/// One message: its id, if it has one, and its data.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Message {
    pub(crate) id: Option<u64>,
    pub(crate) data: Value,
}

impl Message {
    pub(crate) fn kind(&self) -> &str {
        self.data["type"].as_str().expect("a type")
    }
}

#[derive(Debug)]
pub(crate) struct Events {
    lines: BufReader<TcpStream>,
}

impl Events {
    /// The next message; none at the end.
    pub(crate) fn next(&mut self) -> Option<Message> {
        let mut id = None;
        loop {
            let mut line = String::new();
            // A daemon that was killed may end a stream in the middle of a line.
            let read = self.lines.read_line(&mut line).unwrap_or(0);
            if read == 0 || !line.ends_with('\n') {
                return None;
            }
            if let Some(number) = line.strip_prefix("id: ") {
                id = Some(number.trim().parse().expect("a number"));
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let data = serde_json::from_str(data).expect("JSON");
                return Some(Message { id, data });
            }
        }
    }

    /// Messages up to the first that is like this.
    pub(crate) fn until(&mut self, found: impl Fn(&Message) -> bool) -> Vec<Message> {
        let mut seen = Vec::new();
        loop {
            let next = self.next();
            let message = next.unwrap_or_else(|| panic!("the stream ended after {seen:#?}"));
            let is_last = found(&message);
            seen.push(message);
            if is_last {
                return seen;
            }
        }
    }

    /// Messages up to the end of an iteration.
    pub(crate) fn until_state_of(&mut self, iteration: u64) -> Vec<Message> {
        let mut seen = self.until(|message| {
            let is_end = ["response", "error"].contains(&message.kind());
            is_end && message.data["iteration"] == iteration
        });
        seen.extend(self.until(|message| message.kind() == "state"));
        seen
    }
}
