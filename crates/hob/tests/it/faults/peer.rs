//! A client of the unix socket written from the wire's description alone: frames as lines.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// Longer than any answer may take on a busy machine.
const ANSWER_WAIT: Duration = Duration::from_mins(1);

/// What a request was answered: its payload, or its error object.
pub(crate) type Answer = Result<Value, Value>;

/// One connection to the unix socket.
pub(crate) struct Peer {
    reader: BufReader<UnixStream>,
    next_id: u64,
}

impl Peer {
    /// Connects and presents nothing.
    pub(crate) fn open(socket: &Path) -> io::Result<Peer> {
        let stream = UnixStream::connect(socket)?;
        stream.set_read_timeout(Some(ANSWER_WAIT))?;
        stream.set_write_timeout(Some(ANSWER_WAIT))?;
        Ok(Peer {
            reader: BufReader::new(stream),
            next_id: 0,
        })
    }

    /// Connects and presents `token`.
    pub(crate) fn authenticated(socket: &Path, token: &str) -> io::Result<Peer> {
        let mut peer = Peer::open(socket)?;
        match peer.call("gateway.auth", &json!({ "token": token }))? {
            Ok(_) => Ok(peer),
            Err(error) => Err(io::Error::other(error.to_string())),
        }
    }

    pub(crate) fn stream(&self) -> &UnixStream {
        self.reader.get_ref()
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// Sends a request and returns its id.
    pub(crate) fn send(&mut self, method: &str, params: &Value) -> io::Result<String> {
        self.next_id += 1;
        let id = format!("r{}", self.next_id);
        let frame =
            json!({ "type": "req", "id": id, "target": "", "method": method, "params": params });
        self.write(format!("{frame}\n").as_bytes())?;
        Ok(id)
    }

    /// The next frame, whatever it is. An ended connection is `UnexpectedEof`.
    pub(crate) fn frame(&mut self) -> io::Result<Value> {
        let mut line = String::new();
        if self.reader.read_line(&mut line)? == 0 || !line.ends_with('\n') {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        serde_json::from_str(&line).map_err(io::Error::other)
    }

    /// Everything up to the end of the connection.
    pub(crate) fn rest(&mut self, into: &mut Vec<u8>) -> io::Result<usize> {
        self.reader.read_to_end(into)
    }

    /// Sends a request and waits for its answer, passing over everything else.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> io::Result<Answer> {
        let id = self.send(method, params)?;
        loop {
            let frame = self.frame()?;
            if frame["type"] == "res" && frame["id"] == id.as_str() {
                return Ok(answer(&frame));
            }
        }
    }

    /// Calls what must succeed.
    pub(crate) fn must(&mut self, method: &str, params: &Value) -> Value {
        match self.call(method, params) {
            Ok(Ok(payload)) => payload,
            Ok(Err(error)) => panic!("{method} was refused: {error}"),
            Err(error) => panic!("{method} was not answered: {error}"),
        }
    }

    /// Calls what must be refused, and returns the error object.
    pub(crate) fn refused(&mut self, method: &str, params: &Value) -> Value {
        match self.call(method, params) {
            Ok(Err(error)) => error,
            Ok(Ok(payload)) => panic!("{method} was not refused: {payload}"),
            Err(error) => panic!("{method} was not answered: {error}"),
        }
    }

    /// Every message of a session, read forward page by page.
    pub(crate) fn export(&mut self, session: &str) -> Vec<Value> {
        let mut messages = Vec::new();
        let mut after = 0;
        loop {
            let page = self.must(
                "session.export",
                &json!({ "sessionKey": session, "after": after }),
            );
            messages.extend(page["messages"].as_array().expect("a list").iter().cloned());
            match page["next"].as_u64() {
                Some(next) => after = next,
                None => return messages,
            }
        }
    }
}

/// Splits a response frame into payload or error.
pub(crate) fn answer(frame: &Value) -> Answer {
    if frame["ok"] == true {
        Ok(frame["payload"].clone())
    } else {
        Err(frame["error"].clone())
    }
}
