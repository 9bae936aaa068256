//! Archy's socket, with fake terminals and a fake desktop.

mod actions;
mod desktop;
mod place;
mod rooms;
mod talk;
mod wrong;

use crate::house::House;
use rooms::Rooms;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

/// Longer than what the socket itself has patience for.
const DEADLINE: Duration = Duration::from_secs(90);

/// A house with the socket open.
struct Stage {
    house: House,
    rooms: Arc<Rooms>,
    socket: PathBuf,
    _folder: TempDir,
}

impl Stage {
    async fn new() -> Stage {
        Stage::with("").await
    }

    async fn with(config: &str) -> Stage {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("archy.sock");
        let house = House::with(&listening(&socket, config), Some("127.0.0.1:0")).await;
        let house = house.unwrap();
        let rooms = Rooms::move_in(&house);
        Stage {
            house,
            rooms,
            socket,
            _folder: folder,
        }
    }

    /// One request as Archy's own bridge sends it: alone on its connection, read until the end.
    async fn ask(&self, action: &str, data: Value) -> Value {
        ask(&self.socket, action, data).await
    }

    /// Sends exactly these bytes, and no more; what comes until the end.
    async fn send(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        // The other side may answer and close before it has read everything.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        read_all(&mut stream).await
    }

    async fn connect(&self) -> UnixStream {
        UnixStream::connect(&self.socket).await.unwrap()
    }
}

fn listening(socket: &Path, config: &str) -> String {
    format!("listen.archy = \"{}\"\n{config}", socket.display())
}

async fn ask(socket: &Path, action: &str, data: Value) -> Value {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let request = json!({ "action": action, "data": data }).to_string();
    stream.write_all(request.as_bytes()).await.unwrap();
    let text = read_all(&mut stream).await;
    serde_json::from_str(&text).unwrap_or_else(|_| panic!("one document: {text:?}"))
}

async fn read_all(stream: &mut UnixStream) -> String {
    let mut text = String::new();
    let read = tokio::time::timeout(DEADLINE, stream.read_to_string(&mut text)).await;
    read.expect("it is closed in time").expect("no reset");
    text
}

/// The plain answer.
fn plain<T: Into<Option<bool>>>(
    success: bool,
    texts: (Option<&str>, Option<&str>),
    exists: T,
) -> Value {
    let (output, error) = texts;
    json!({ "success": success, "output": output, "error": error, "exists": exists.into() })
}

fn said(output: &str) -> Value {
    plain(true, (Some(output), None), None)
}

fn failed(error: &str) -> Value {
    plain(false, (None, Some(error)), None)
}
