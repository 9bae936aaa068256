//! A client as Pryx's own: plain HTTP and a WebSocket, without a token.

use crate::faults::http::{self, Reply};
use crate::support::House;
use serde_json::{Value, json};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, HandshakeError, Message, WebSocket};

/// Generous: reached only when something is broken.
const DEADLINE: Duration = Duration::from_secs(40);

#[derive(Clone, Copy, Debug)]
pub(crate) struct Client {
    pub(crate) port: u16,
}

impl Client {
    /// On the listener that `hob status` shows.
    pub(crate) fn of(house: &House) -> Client {
        let listed = house.hob(&["--json", "status"]).success();
        let listed: Value = serde_json::from_str(&listed).expect("JSON");
        let listeners = listed["listeners"].as_array().expect("a list");
        let mut texts = listeners.iter().filter_map(Value::as_str);
        let address = texts.find_map(|line| line.strip_prefix("pryx "));
        let address = address.expect("status shows the listener");
        let port = address.strip_prefix("127.0.0.1:").expect("on loopback");
        Client {
            port: port.parse().expect("a port"),
        }
    }

    pub(crate) fn send(self, method: &str, path: &str, more: &[&str], body: &str) -> Reply {
        let request = http::request(method, self.port, path, more, body);
        http::exchange(self.port, &request).expect("an answer")
    }

    pub(crate) fn json(self, method: &str, path: &str, body: &Value) -> Reply {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        self.send(method, path, &["Content-Type: application/json"], &body)
    }

    pub(crate) fn get(self, path: &str) -> Value {
        let reply = self.send("GET", path, &[], "");
        assert_eq!(reply.status, 200, "{path}: {reply:?}");
        reply.json()
    }

    /// A change that must be taken.
    pub(crate) fn post(self, path: &str, body: &Value) -> Value {
        let reply = self.json("POST", path, body);
        assert!([200, 201].contains(&reply.status), "{path}: {reply:?}");
        reply.json()
    }

    /// A request that must be refused with this status; the sentence.
    pub(crate) fn refused(self, status: u16, method: &str, path: &str, body: &Value) -> String {
        let reply = self.json(method, path, body);
        assert_eq!(reply.status, status, "{method} {path}: {reply:?}");
        let error = &reply.json()["error"];
        assert!(error["code"].is_string(), "{reply:?}");
        assert!(error["request_id"].is_string(), "{reply:?}");
        error["message"].as_str().expect("a sentence").to_owned()
    }

    pub(crate) fn socket(self, query: &str) -> Socket {
        self.try_socket(query, &[]).expect("it is let in")
    }

    /// Opens the WebSocket, or gives back the HTTP status of the refusal.
    pub(crate) fn try_socket(self, query: &str, headers: &[(&str, &str)]) -> Result<Socket, u16> {
        let url = format!("ws://127.0.0.1:{}/ws{query}", self.port);
        let mut request = url.into_client_request().expect("a URL");
        for (name, value) in headers {
            let name: tokio_tungstenite::tungstenite::http::HeaderName =
                name.parse().expect("a header");
            request
                .headers_mut()
                .insert(name, value.parse().expect("a value"));
        }
        let stream = http::connect(self.port).expect("the port accepts");
        stream.set_read_timeout(Some(DEADLINE)).expect("a socket");
        match tokio_tungstenite::tungstenite::client(request, stream) {
            Ok((inner, _)) => Ok(Socket {
                inner,
                last_version: 0,
            }),
            Err(HandshakeError::Failure(Error::Http(response))) => Err(response.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Socket {
    inner: WebSocket<TcpStream>,
    last_version: u64,
}

impl Socket {
    pub(crate) fn send(&mut self, message: &Value) {
        self.send_text(&message.to_string());
    }

    pub(crate) fn send_text(&mut self, text: &str) {
        self.inner.send(Message::text(text)).expect("it is taken");
    }

    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        let message = Message::binary(bytes.to_vec());
        self.inner.send(message).expect("it is taken");
    }

    /// The next event, whose envelope is checked.
    pub(crate) fn next(&mut self) -> Value {
        let began = Instant::now();
        loop {
            // Pings keep the socket alive, so its own deadline would not end this.
            assert!(began.elapsed() < DEADLINE, "no event in time");
            match self.inner.read() {
                Ok(Message::Text(text)) => {
                    let event: Value = serde_json::from_str(&text).expect("JSON");
                    self.check_envelope(&event);
                    return event;
                }
                Ok(Message::Ping(_) | Message::Pong(_)) => {}
                other => panic!("no event but {other:?}"),
            }
        }
    }

    fn check_envelope(&mut self, event: &Value) {
        assert_eq!(event["type"], "event", "{event}");
        assert!(event["event"].is_string(), "{event}");
        assert!(event["payload"].is_object(), "{event}");
        let at = event["timestamp"].as_str().expect("a time");
        assert!(at.starts_with("20") && at.ends_with('Z'), "{event}");
        let version = event["version"].as_u64().expect("a number");
        assert!(version > self.last_version, "{event}");
        self.last_version = version;
    }

    /// Everything up to the first event of this name.
    pub(crate) fn until(&mut self, name: &str) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next();
            let found = event["event"] == name;
            events.push(event);
            if found {
                return events;
            }
        }
    }

    /// The first event of this name; others before it are dropped.
    pub(crate) fn event(&mut self, name: &str) -> Value {
        self.until(name).pop().expect("until ends with it")
    }

    /// Everything up to the end of a run.
    pub(crate) fn until_end(&mut self) -> Vec<Value> {
        let mut events = Vec::new();
        loop {
            let event = self.next();
            let found = event["payload"]["kind"] == "run.completed";
            events.push(event);
            if found {
                return events;
            }
        }
    }

    /// Proves that nothing else came before: the answer to this is next.
    pub(crate) fn settled(&mut self) -> Vec<Value> {
        self.send(&json!({ "event": "ping" }));
        let mut events = self.until("pong");
        events.pop();
        events
    }
}

/// The names of events, of which the same in a row are one.
pub(crate) fn names(events: &[Value]) -> Vec<&str> {
    let names = events.iter().filter_map(|event| event["event"].as_str());
    let mut names: Vec<&str> = names.collect();
    names.dedup();
    names
}

/// The pieces of an answer that came under this name, joined.
pub(crate) fn text_of(events: &[Value], name: &str) -> String {
    let pieces = events.iter().filter(|event| event["event"] == name);
    pieces
        .filter_map(|event| event["payload"]["content"].as_str())
        .collect()
}

pub(crate) fn find<'e>(events: &'e [Value], name: &str) -> &'e Value {
    let found = events.iter().find(|event| event["event"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {:?}", names(events)))
}
