//! A fake daemon that a test controls. It owns a home's socket and state file, and gives each
//! authenticated connection to the test.

use hob_kit::home::Home;
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

pub(crate) const TOKEN: &str = "0123456789abcdef";

/// Long enough for a busy machine; only a broken test waits that long.
const PATIENCE: Duration = Duration::from_secs(30);

/// Ends a wait that would never end.
pub(crate) async fn soon<T>(work: impl Future<Output = T>) -> T {
    let waited = tokio::time::timeout(PATIENCE, work).await;
    waited.expect("it happens within half a minute")
}

pub(crate) struct Daemon {
    _root: TempDir,
    home: Home,
    listener: Option<UnixListener>,
}

impl Daemon {
    /// A home with a listening socket and a state file that names it.
    pub(crate) fn start() -> Daemon {
        let root = tempfile::tempdir().expect("a temporary directory");
        let home = Home::at(root.path());
        home.ensure().expect("the home can be made");
        std::fs::write(home.owner_token(), format!("{TOKEN}\n")).expect("writable");
        let mut daemon = Daemon {
            _root: root,
            home,
            listener: None,
        };
        daemon.listen();
        daemon
    }

    pub(crate) fn home(&self) -> &Home {
        &self.home
    }

    /// Starts to listen, like a started daemon.
    pub(crate) fn listen(&mut self) {
        let socket = self.home.socket();
        drop(std::fs::remove_file(&socket));
        self.listener = Some(UnixListener::bind(&socket).expect("the socket binds"));
        let state = json!({
            "host": "127.0.0.1", "port": 1, "pid": 1, "startedAt": 1,
            "socket": socket, "protocol": 1, "version": "0.0.0",
        });
        std::fs::write(self.home.state_file(), state.to_string()).expect("writable");
    }

    /// Stops listening. Accepted connections stay open until their peer is dropped.
    pub(crate) fn stop(&mut self) {
        self.listener = None;
    }

    /// Returns the next connection after its authentication. Skips connections that only probe for a
    /// daemon.
    pub(crate) async fn accept(&self) -> Peer {
        let mut peer = self.accept_raw().await;
        let (id, params) = peer.expect("gateway.auth").await;
        assert_eq!(params, json!({ "token": TOKEN, "protocol": 1 }));
        peer.answer(
            &id,
            &json!({ "name": "owner", "scopes": ["admin"], "protocol": 1 }),
        )
        .await;
        peer
    }

    /// Returns the next connection before its authentication.
    pub(crate) async fn accept_raw(&self) -> Peer {
        let listener = self.listener.as_ref().expect("the daemon listens");
        let (stream, _) = soon(listener.accept()).await.expect("a connection");
        Peer {
            stream: BufReader::new(stream),
        }
    }
}

/// A connection as the daemon sees it.
pub(crate) struct Peer {
    stream: BufReader<UnixStream>,
}

impl Peer {
    /// The next frame; none when the client is gone.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        let mut line = String::new();
        match soon(self.stream.read_line(&mut line)).await {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(serde_json::from_str(&line).expect("a line is a frame")),
        }
    }

    /// The next request, which must be of `method`: its id and params.
    pub(crate) async fn expect(&mut self, method: &str) -> (String, Value) {
        let frame = self.next().await.expect("a request comes");
        assert_eq!(frame["method"], method, "{frame}");
        let id = frame["id"].as_str().expect("an id").to_owned();
        (id, frame["params"].clone())
    }

    pub(crate) async fn write(&mut self, frame: &Value) {
        let line = format!("{frame}\n");
        let written = self.stream.get_mut().write_all(line.as_bytes()).await;
        written.expect("the client reads");
    }

    pub(crate) async fn answer(&mut self, id: &str, payload: &Value) {
        let frame = json!({ "type": "res", "id": id, "ok": true, "payload": payload });
        self.write(&frame).await;
    }

    pub(crate) async fn refuse(&mut self, id: &str, code: &str, message: &str) {
        let error = json!({ "code": code, "message": message });
        let frame = json!({ "type": "res", "id": id, "ok": false, "error": error });
        self.write(&frame).await;
    }

    pub(crate) async fn logged(&mut self, seq: u64, prev: Option<u64>) {
        let frame = json!({
            "type": "event", "source": "s", "event": "a.b", "seq": seq, "prev": prev,
            "payload": { "n": seq },
        });
        self.write(&frame).await;
    }
}
