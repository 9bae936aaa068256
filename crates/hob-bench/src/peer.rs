//! A WebSocket client of the raw wire: the same for hob and for the bare relay.

use anyhow::{Context, Result, bail};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

#[derive(Debug)]
pub(crate) struct BusPeer {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
}

impl BusPeer {
    /// Connects to `ws://{address}{path}`, with a token if there is one.
    pub(crate) async fn connect(url: &str, token: Option<&str>) -> Result<Self> {
        let mut request = url.into_client_request()?;
        if let Some(token) = token {
            let value = format!("Bearer {token}").parse()?;
            request.headers_mut().insert("Authorization", value);
        }
        let (socket, _) = connect_async(request)
            .await
            .with_context(|| url.to_owned())?;
        if let MaybeTlsStream::Plain(stream) = socket.get_ref() {
            stream.set_nodelay(true)?;
        }
        Ok(BusPeer { socket })
    }

    pub(crate) async fn send(&mut self, text: impl Into<Utf8Bytes>) -> Result<()> {
        Ok(self.socket.send(Message::Text(text.into())).await?)
    }

    /// Sends many with one flush.
    pub(crate) async fn send_all(&mut self, texts: impl Iterator<Item = String>) -> Result<()> {
        for text in texts {
            self.socket.feed(Message::Text(text.into())).await?;
        }
        Ok(self.socket.flush().await?)
    }

    pub(crate) async fn next(&mut self) -> Result<Utf8Bytes> {
        loop {
            match self.socket.next().await.context("the socket closed")?? {
                Message::Text(text) => return Ok(text),
                Message::Close(frame) => bail!("closed: {frame:?}"),
                _ => {}
            }
        }
    }

    /// One request and its answer's payload.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.send(request("1", method, &params)).await?;
        loop {
            let frame: Value = serde_json::from_str(&self.next().await?)?;
            if frame["type"] != "res" {
                continue;
            }
            if frame["ok"] != true {
                bail!("{method}: {}", frame["error"]);
            }
            return Ok(frame["payload"].clone());
        }
    }

    /// Answers every request with the params it came with, until the socket closes.
    pub(crate) async fn echo(mut self) -> Result<()> {
        loop {
            let text = self.next().await?;
            let frame: Value = serde_json::from_str(&text)?;
            if frame["type"] == "req" {
                let answer = json!({
                    "type": "res", "id": frame["id"], "ok": true, "payload": frame["params"],
                });
                self.send(answer.to_string()).await?;
            }
        }
    }
}

pub(crate) fn request(id: &str, method: &str, params: &Value) -> String {
    json!({ "type": "req", "id": id, "target": "", "method": method, "params": params }).to_string()
}
