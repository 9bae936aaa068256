//! A peer on the raw wire: text messages on a WebSocket, or lines on the unix socket. It checks
//! nothing by itself except that the daemon answers before a generous deadline.

use crate::support::House;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::protocol::Message;

/// Generous: reached only when something is broken.
pub(crate) const DEADLINE: Duration = Duration::from_secs(20);

/// The transports that speak frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Surface {
    Ws,
    Unix,
}

/// Both of them, for tests that hold on each.
pub(crate) const SURFACES: [Surface; 2] = [Surface::Ws, Surface::Unix];

/// One connection.
pub(crate) struct Peer {
    pipe: Pipe,
    /// Frames that came while another one was awaited.
    kept: VecDeque<Value>,
    last_id: u64,
}

enum Pipe {
    Ws(Box<WebSocketStream<TcpStream>>),
    Unix {
        reader: BufReader<OwnedReadHalf>,
        writer: OwnedWriteHalf,
    },
}

/// What came, if not a frame: the end, with the WebSocket's close code if it sent one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ended(pub(crate) Option<u16>);

impl Peer {
    /// The owner on a WebSocket.
    pub(crate) async fn owner(house: &House) -> Peer {
        Peer::on(Surface::Ws, house, &house.token()).await
    }

    /// The holder of `token` on `surface`.
    pub(crate) async fn on(surface: Surface, house: &House, token: &str) -> Peer {
        match surface {
            Surface::Ws => Peer::ws(ws_request(house, token))
                .await
                .expect("the upgrade succeeds"),
            Surface::Unix => Peer::unix(house, token).await,
        }
    }

    /// A WebSocket by an upgrade request of the test's own making; `Err` holds the HTTP status.
    pub(crate) async fn ws(request: Request) -> Result<Peer, u16> {
        let authority = request
            .uri()
            .authority()
            .expect("the URL names a host")
            .to_string();
        let stream = TcpStream::connect(&authority)
            .await
            .expect("the port accepts");
        Peer::ws_over(stream, request).await
    }

    /// The same over a TCP stream the test prepared.
    pub(crate) async fn ws_over(stream: TcpStream, request: Request) -> Result<Peer, u16> {
        let upgraded = tokio_tungstenite::client_async(request, stream);
        match tokio::time::timeout(DEADLINE, upgraded)
            .await
            .expect("the upgrade is answered")
        {
            Ok((socket, _)) => Ok(Peer::over(Pipe::Ws(Box::new(socket)))),
            Err(tokio_tungstenite::tungstenite::Error::Http(response)) => {
                Err(response.status().as_u16())
            }
            Err(error) => panic!("the upgrade failed: {error}"),
        }
    }

    async fn unix(house: &House, token: &str) -> Peer {
        let mut peer = Peer::unix_unknown(house).await;
        peer.call("gateway.auth", json!({ "token": token })).await;
        peer
    }

    /// A connection to the unix socket that has not said who it is.
    pub(crate) async fn unix_unknown(house: &House) -> Peer {
        let stream = UnixStream::connect(house.socket())
            .await
            .expect("the socket accepts");
        let (reader, writer) = stream.into_split();
        let reader = BufReader::new(reader);
        Peer::over(Pipe::Unix { reader, writer })
    }

    fn over(pipe: Pipe) -> Peer {
        Peer {
            pipe,
            kept: VecDeque::new(),
            last_id: 0,
        }
    }

    /// Sends a frame.
    pub(crate) async fn send(&mut self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    /// Sends a text exactly as it is; on the unix socket a line break ends it.
    pub(crate) async fn send_text(&mut self, text: &str) {
        assert!(
            self.try_send_text(text).await,
            "the connection takes what is written"
        );
    }

    /// The same where the daemon may have hung up already: false if it did.
    pub(crate) async fn try_send_text(&mut self, text: &str) -> bool {
        match &mut self.pipe {
            Pipe::Ws(socket) => socket.send(Message::text(text)).await.is_ok(),
            Pipe::Unix { writer, .. } => {
                writer.write_all(text.as_bytes()).await.is_ok()
                    && writer.write_all(b"\n").await.is_ok()
            }
        }
    }

    /// Sends bytes as a binary WebSocket message, or raw on the unix socket.
    pub(crate) async fn send_bytes(&mut self, bytes: &[u8]) -> bool {
        match &mut self.pipe {
            Pipe::Ws(socket) => socket.send(Message::binary(bytes.to_vec())).await.is_ok(),
            Pipe::Unix { writer, .. } => writer.write_all(bytes).await.is_ok(),
        }
    }

    /// The next frame's text, or how the connection ended.
    pub(crate) async fn arrival(&mut self) -> Result<String, Ended> {
        tokio::time::timeout(DEADLINE, self.read())
            .await
            .expect("something arrives in time")
    }

    async fn read(&mut self) -> Result<String, Ended> {
        match &mut self.pipe {
            Pipe::Ws(socket) => loop {
                match socket.next().await {
                    Some(Ok(Message::Text(text))) => return Ok(text.as_str().to_owned()),
                    Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                    Some(Ok(Message::Close(close))) => {
                        return Err(Ended(close.map(|close| close.code.into())));
                    }
                    Some(Ok(other)) => panic!("only text messages carry frames, not {other:?}"),
                    Some(Err(_)) | None => return Err(Ended(None)),
                }
            },
            Pipe::Unix { reader, .. } => {
                let mut line = String::new();
                match reader.read_line(&mut line).await {
                    Ok(length) if length > 0 && line.ends_with('\n') => {
                        line.pop();
                        Ok(line)
                    }
                    _ => Err(Ended(None)),
                }
            }
        }
    }

    /// The next frame.
    pub(crate) async fn frame(&mut self) -> Value {
        match self.kept.pop_front() {
            Some(frame) => frame,
            None => self.fresh_frame().await,
        }
    }

    async fn fresh_frame(&mut self) -> Value {
        let text = self.arrival().await.expect("the connection is open");
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The next frame of `kind`; others are kept for later, in order.
    async fn frame_where(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.kept.iter().position(&wanted) {
            return self.kept.remove(at).expect("just found");
        }
        loop {
            let frame = self.fresh_frame().await;
            if wanted(&frame) {
                return frame;
            }
            self.kept.push_back(frame);
        }
    }

    /// The response to `id`.
    pub(crate) async fn answer(&mut self, id: &str) -> Value {
        self.frame_where(|frame| frame["type"] == "res" && frame["id"] == id)
            .await
    }

    /// The next event of any topic.
    pub(crate) async fn event(&mut self) -> Value {
        self.frame_where(|frame| frame["type"] == "event").await
    }

    /// The next event of `topic`.
    pub(crate) async fn event_of(&mut self, topic: &str) -> Value {
        self.frame_where(|frame| frame["type"] == "event" && frame["event"] == topic)
            .await
    }

    /// The next request: this peer is a service.
    pub(crate) async fn request(&mut self) -> Value {
        self.frame_where(|frame| frame["type"] == "req").await
    }

    /// Sends a request without waiting and returns its id.
    pub(crate) async fn post(&mut self, method: &str, params: Value) -> String {
        self.last_id += 1;
        let id = format!("judge-{}", self.last_id);
        self.send(request(&id, method, params)).await;
        id
    }

    /// Asks and returns the payload or the error.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.post(method, params).await;
        outcome(&self.answer(&id).await)
    }

    /// Asks what must succeed.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.ask(method, params).await;
        answer.unwrap_or_else(|error| panic!("{method} failed: {error}"))
    }

    /// Asks what must fail with `code`; returns the error's message.
    pub(crate) async fn refused(&mut self, code: &str, method: &str, params: Value) -> String {
        let answer = self.ask(method, params).await;
        let error = answer.expect_err("this must be refused");
        assert_eq!(error["code"], code, "{method}: {error}");
        let message = error["message"].as_str().expect("an error has a message");
        assert!(!message.is_empty());
        message.to_owned()
    }

    /// Everything that came before the answer to a request sent now.
    pub(crate) async fn settled(&mut self) -> Vec<Value> {
        self.call("gateway.stats", json!({})).await;
        self.kept.drain(..).collect()
    }

    /// Fails if an event came that was not awaited.
    pub(crate) async fn assert_silent(&mut self) {
        let came = self.settled().await;
        assert!(came.is_empty(), "this peer was sent {came:?}");
    }

    /// Registers this peer as a service offering `methods`.
    pub(crate) async fn register(&mut self, service: &str, methods: &[&str]) -> Value {
        let params = json!({ "service": service, "version": "1", "methods": methods });
        self.call("gateway.register", params).await
    }

    /// Answers a request this peer got as a service.
    pub(crate) async fn reply(&mut self, request: &Value, payload: Value) {
        self.send(json!({ "type": "res", "id": request["id"], "ok": true, "payload": payload }))
            .await;
    }

    /// Answers it with an error.
    pub(crate) async fn fail(&mut self, request: &Value, error: Value) {
        self.send(json!({ "type": "res", "id": request["id"], "ok": false, "error": error }))
            .await;
    }

    /// Emits an event as a service.
    pub(crate) async fn emit(&mut self, topic: &str, payload: Value) {
        self.send(json!({ "type": "event", "source": "", "event": topic, "payload": payload }))
            .await;
    }

    /// Subscribes and returns the `seq` after which events follow.
    pub(crate) async fn subscribe(&mut self, events: &[&str]) -> u64 {
        let answer = self
            .call("gateway.subscribe", json!({ "events": events }))
            .await;
        number(&answer, "seq")
    }

    /// Subscribes to what was logged after `since`.
    pub(crate) async fn subscribe_since(&mut self, events: &[&str], since: u64) -> u64 {
        let params = json!({ "events": events, "since": since });
        number(&self.call("gateway.subscribe", params).await, "seq")
    }

    /// Reads until the daemon closes the connection: the frames that still came, and the end.
    pub(crate) async fn until_closed(&mut self) -> (Vec<Value>, Ended) {
        let mut frames: Vec<Value> = self.kept.drain(..).collect();
        loop {
            match self.arrival().await {
                Ok(text) => frames.push(serde_json::from_str(&text).expect("frames are JSON")),
                Err(end) => return (frames, end),
            }
        }
    }
}

/// Runs `peer` as a service that answers each request with what `answer` makes of it.
#[expect(clippy::disallowed_methods, reason = "the judge uses no door of ours")]
pub(crate) fn serve(
    mut peer: Peer,
    answer: impl Fn(&Value) -> Value + Send + 'static,
) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        while let Ok(text) = peer.read().await {
            let frame: Value = serde_json::from_str(&text).expect("frames are JSON");
            if frame["type"] == "req" {
                let payload = answer(&frame);
                peer.reply(&frame, payload).await;
            }
        }
    })
}

/// A request frame.
pub(crate) fn request(id: &str, method: &str, params: Value) -> Value {
    json!({ "type": "req", "id": id, "target": "", "method": method, "params": params })
}

/// The payload of a response, or its error.
pub(crate) fn outcome(response: &Value) -> Result<Value, Value> {
    match response["ok"].as_bool() {
        Some(true) => Ok(response["payload"].clone()),
        Some(false) => Err(response["error"].clone()),
        None => panic!("not a response: {response}"),
    }
}

/// The upgrade request of the holder of `token`.
pub(crate) fn ws_request(house: &House, token: &str) -> Request {
    let mut request = ws_request_bare(house);
    let bearer = format!("Bearer {token}")
        .parse()
        .expect("a token fits a header");
    request.headers_mut().insert("authorization", bearer);
    request
}

/// The upgrade request of nobody.
pub(crate) fn ws_request_bare(house: &House) -> Request {
    ws_request_to(&format!("ws://{}/ws", house.address()))
}

pub(crate) fn ws_request_to(url: &str) -> Request {
    url.into_client_request().expect("the URL is well formed")
}

/// The unsigned number `field` of `value`.
pub(crate) fn number(value: &Value, field: &str) -> u64 {
    value[field]
        .as_u64()
        .unwrap_or_else(|| panic!("`{field}` is a number in {value}"))
}

/// The string `field` of `value`.
pub(crate) fn text(value: &Value, field: &str) -> String {
    let found = value[field].as_str();
    found
        .unwrap_or_else(|| panic!("`{field}` is a string in {value}"))
        .to_owned()
}

/// The strings in the list `field` of `value`.
pub(crate) fn texts(value: &Value, field: &str) -> Vec<String> {
    let list = value[field]
        .as_array()
        .unwrap_or_else(|| panic!("`{field}` is a list in {value}"));
    list.iter()
        .map(|item| item.as_str().expect("a string").to_owned())
        .collect()
}
