//! The WebSocket transport: one frame per text message.
//!
//! One task runs the reading and the writing half of a socket concurrently, so that a peer that
//! does not read cannot block our reading, and the other way round. The socket ends when either
//! half ends or the bus closes the link. The close code tells the reason.
//!
//! Invariants: a message over the frame limit is refused by its announced length, before it is
//! stored. A peer that misses two pings, or does not accept a write within a ping interval, is
//! closed.

use crate::http::HttpState;
use crate::http_error::HttpError;
use crate::shared::{self, ConnectionPermit, GatewayShared};
use crate::token_cache::Principal;
use crate::write_timeout::WriteTimeoutStream;
use crate::{settings, subprotocol};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hob_bus::{BusLink, BusOutlet, CloseReason};
use hob_kit::settings::Settings;
use hob_wire::{ErrorCode, WireError, limits};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::server::create_response_with_body;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Error, Message, Utf8Bytes};

/// Small, because most sockets are idle. The buffer grows when a longer message is announced.
const READ_BUFFER_BYTES: usize = 8 * 1024;
/// Time to send the close frame, and again to receive the peer's.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(400);
/// Bytes that are read and dropped while closing. Unread bytes would reset the connection before
/// the peer has read the close frame.
const CLOSE_BYTES_MAX: usize = 2 * limits::FRAME_BYTES_MAX;

pub type TcpWebSocket = WebSocketStream<TcpStream>;

/// The receiver of a socket's incoming messages.
pub trait MessageSink {
    fn receive_text(&self, text: Bytes) -> impl Future<Output = ()> + Send;
    /// Answers a binary message. No dialect uses them.
    fn receive_binary(&self) -> impl Future<Output = ()> + Send;

    /// The answer to a message over the frame limit, which is sent right before the close.
    fn oversize_answer(&self) -> Option<Bytes> {
        None
    }
}

/// The source of a socket's outgoing messages.
pub trait MessageSource {
    /// Appends the next messages to `into`. Returns the reason if no more will come. Cancel-safe.
    fn next(&mut self, into: &mut Vec<Bytes>) -> impl Future<Output = Option<CloseReason>> + Send;
}

impl MessageSink for BusLink {
    async fn receive_text(&self, text: Bytes) {
        self.receive(text).await;
    }

    async fn receive_binary(&self) {
        self.refuse(&WireError::new(
            ErrorCode::ParseError,
            "A frame is a text message; this one is binary.",
        ));
    }
}

impl MessageSource for BusOutlet {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<CloseReason> {
        BusOutlet::next(self, into).await
    }
}

/// Serves hob's own frames: `GET /ws`.
pub async fn open(
    State(state): State<Arc<HttpState>>,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let (principal, handshake) = state.authenticate_handshake(request)?;
    let (link, outlet) = state.connect(&principal, state.authenticator.surface)?;
    Ok(handshake.accept(&state.shared, link, outlet))
}

impl HttpState {
    /// Authenticates the sender of a WebSocket request and checks the handshake. A malformed request
    /// ends here, before it is connected to the bus.
    pub fn authenticate_handshake(
        &self,
        request: Request,
    ) -> Result<(Principal, WebSocketHandshake), HttpError> {
        let principal = self.authenticate_websocket(request.headers())?;
        let selected = match self.authenticator.grant() {
            // Clients of an opt-in listener do not know hob's subprotocols.
            Some(_) => None,
            None => subprotocol::read(request.headers())?.select()?,
        };
        let handshake = WebSocketHandshake::from_request(request, selected)?;
        Ok((principal, handshake))
    }
}

/// A valid WebSocket upgrade request.
#[derive(Debug)]
pub struct WebSocketHandshake {
    response: Response<Body>,
    upgrade: OnUpgrade,
    permit: Option<ConnectionPermit>,
}

impl WebSocketHandshake {
    fn from_request(
        mut request: Request,
        selected: Option<HeaderValue>,
    ) -> Result<WebSocketHandshake, HttpError> {
        let mut response = create_response_with_body(&request, Body::empty).map_err(|failure| {
            let message = format!("This path speaks WebSocket: {failure}.");
            let status = StatusCode::UPGRADE_REQUIRED;
            HttpError::new(status, ErrorCode::InvalidParams, message)
                .with_header(header::UPGRADE, HeaderValue::from_static("websocket"))
                .with_header(
                    header::SEC_WEBSOCKET_VERSION,
                    HeaderValue::from_static("13"),
                )
        })?;
        if let Some(selected) = selected {
            response
                .headers_mut()
                .insert(header::SEC_WEBSOCKET_PROTOCOL, selected);
        }
        Ok(WebSocketHandshake {
            response,
            permit: request.extensions_mut().remove(),
            upgrade: hyper::upgrade::on(&mut request),
        })
    }

    /// Answers 101 and serves the socket in its own task.
    fn accept(
        self,
        shared: &Arc<GatewayShared>,
        link: BusLink,
        outlet: BusOutlet,
    ) -> Response<Body> {
        let served = Arc::clone(shared);
        self.upgrade(shared, async move |socket| match socket {
            Some(socket) => serve(socket, &link, &link, outlet, &served).await,
            None => link.close(),
        })
    }

    /// Answers 101 and passes the socket to `serve` in its own task. The socket is `None` if the
    /// peer left before the upgrade finished.
    pub fn upgrade<F, T>(self, shared: &Arc<GatewayShared>, serve: F) -> Response<Body>
    where
        F: FnOnce(Option<TcpWebSocket>) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let WebSocketHandshake {
            response,
            upgrade,
            permit,
        } = self;
        shared.tasks.spawn("websocket", async move {
            // Held as long as the socket is open.
            let _permit = permit;
            let socket = match upgrade.await.map(Upgraded::downcast::<HttpStream>) {
                Ok(Ok(parts)) => {
                    // The write timeout is removed: the socket has its own, measured by the ping
                    // interval.
                    let stream = parts.io.into_inner().into_inner();
                    let early = parts.read_buf.to_vec();
                    // hyper may have read beyond the request's head; these bytes belong to the
                    // first frames.
                    let config = Some(config());
                    Some(
                        TcpWebSocket::from_partially_read(stream, early, Role::Server, config)
                            .await,
                    )
                }
                Ok(Err(_)) | Err(_) => None,
            };
            serve(socket).await;
        });
        response
    }
}

/// The stream type that the TCP listener passes to hyper.
type HttpStream = TokioIo<WriteTimeoutStream<TcpStream>>;

fn config() -> WebSocketConfig {
    let max = Some(limits::FRAME_BYTES_MAX);
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_frame_size(max)
        // A message may come in several frames, so the sum is limited as well.
        .max_message_size(max)
}

/// The reason why a socket ends.
enum WebSocketEnd {
    /// The bus closed the link.
    Closed(CloseReason),
    /// The peer closed or vanished, so no close frame is sent.
    PeerLeft,
    /// The peer violated the WebSocket protocol.
    Broken(CloseCode, &'static str),
    /// The peer does not answer pings.
    Silent,
    /// The peer does not accept what we write.
    Stuck,
}

/// Serves a socket until it ends or the bus closes its link.
pub async fn serve(
    socket: TcpWebSocket,
    link: &BusLink,
    receiver: &impl MessageSink,
    source: impl MessageSource,
    shared: &GatewayShared,
) {
    let (mut sink, mut stream) = socket.split();
    // Atomic only because both halves borrow it: they run in one task.
    let is_alive = AtomicBool::new(true);
    let ending = tokio::select! {
        ending = read(&mut stream, receiver, &is_alive) => ending,
        ending = write(&mut sink, source, &is_alive, shared) => ending,
        ending = wait_drained(link) => ending,
    };
    // Closed before the close frame is sent: no frame is routed to a socket that is going away.
    link.close();
    if let WebSocketEnd::Broken(CloseCode::Size, _) = ending
        && let Some(answer) = receiver.oversize_answer()
    {
        let _ = timeout(CLOSE_TIMEOUT, write_all(&mut sink, &mut vec![answer])).await;
    }
    close_socket(sink, stream, &ending).await;
}

async fn read(
    stream: &mut SplitStream<TcpWebSocket>,
    receiver: &impl MessageSink,
    is_alive: &AtomicBool,
) -> WebSocketEnd {
    loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(failure)) => return end_for_error(&failure),
            None => return WebSocketEnd::PeerLeft,
        };
        // Any message proves that the peer is alive, not only a pong.
        is_alive.store(true, Ordering::Relaxed);
        match message {
            Message::Text(text) => receiver.receive_text(Bytes::from(text)).await,
            Message::Binary(_) => receiver.receive_binary().await,
            Message::Close(_) => return WebSocketEnd::PeerLeft,
            // The codec answers pings itself.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

fn end_for_error(failure: &Error) -> WebSocketEnd {
    match failure {
        // A frame's announced length, or the sum of a message's fragments, is over the limit.
        Error::Capacity(_) => WebSocketEnd::Broken(CloseCode::Size, "a frame has at most 8 MiB"),
        Error::Utf8(_) => WebSocketEnd::Broken(CloseCode::Invalid, "a frame is UTF-8"),
        Error::Protocol(_) => WebSocketEnd::Broken(CloseCode::Protocol, "not a WebSocket frame"),
        _ => WebSocketEnd::PeerLeft,
    }
}

async fn write(
    sink: &mut SplitSink<TcpWebSocket, Message>,
    mut source: impl MessageSource,
    is_alive: &AtomicBool,
    shared: &GatewayShared,
) -> WebSocketEnd {
    let mut changed = std::pin::pin!(settings_changed(shared.settings.clone()));
    let mut interval = shared.ping_interval();
    let mut batch = Vec::new();
    // One timer for the whole socket; a new one per frame would be costly with many idle sockets.
    let mut tick = std::pin::pin!(tokio::time::sleep(interval));
    loop {
        let closed = tokio::select! {
            closed = source.next(&mut batch) => closed,
            () = &mut tick => {
                // The flag was cleared at the last ping: still false means that nothing came since.
                if !is_alive.swap(false, Ordering::Relaxed) {
                    return WebSocketEnd::Silent;
                }
                interval = shared.ping_interval();
                tick.as_mut().reset(tokio::time::Instant::now() + interval);
                match timeout(interval, sink.send(Message::Ping(Bytes::new()))).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => return WebSocketEnd::PeerLeft,
                    Err(_) => return WebSocketEnd::Stuck,
                }
            }
            settings = &mut changed => {
                let chosen = settings::ping_interval(&settings.borrow());
                if chosen != interval {
                    interval = chosen;
                    tick.as_mut().reset(tokio::time::Instant::now() + interval);
                }
                changed.set(self::settings_changed(settings));
                continue;
            }
        };
        match timeout(interval, write_all(sink, &mut batch)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return WebSocketEnd::PeerLeft,
            Err(_) => return WebSocketEnd::Stuck,
        }
        if let Some(closed) = closed {
            return WebSocketEnd::Closed(closed);
        }
    }
}

/// Waits for changed settings. The future is kept over frames: registering anew for each frame
/// would contend on the watch channel that all sockets share.
async fn settings_changed(
    mut settings: watch::Receiver<Arc<Settings>>,
) -> watch::Receiver<Arc<Settings>> {
    match settings.changed().await {
        Ok(()) => settings,
        // The sender is gone, so no change will ever come.
        Err(_) => std::future::pending().await,
    }
}

/// Feeds all frames, then flushes once.
async fn write_all(
    sink: &mut SplitSink<TcpWebSocket, Message>,
    batch: &mut Vec<Bytes>,
) -> Result<(), Error> {
    for frame in batch.drain(..) {
        // The bus queues only JSON, so this is a bug; one bad frame must not end the socket.
        let Ok(text) = Utf8Bytes::try_from(frame) else {
            tracing::error!("dropped a frame that is not UTF-8");
            continue;
        };
        sink.feed(Message::Text(text)).await?;
    }
    sink.flush().await
}

/// Waits until the bus closed the link and its queued frames had time to leave.
async fn wait_drained(link: &BusLink) -> WebSocketEnd {
    let closed = link.closed().await;
    tokio::time::sleep(shared::drain_timeout(closed)).await;
    WebSocketEnd::Closed(closed)
}

/// Sends the close frame, then reads until the peer closes or the limits are reached.
async fn close_socket(
    mut sink: SplitSink<TcpWebSocket, Message>,
    stream: SplitStream<TcpWebSocket>,
    ending: &WebSocketEnd,
) {
    let _ = timeout(CLOSE_TIMEOUT, async {
        match close_frame(ending) {
            Some(frame) => sink.send(Message::Close(Some(frame))).await,
            // The codec has queued the answer to the peer's close frame.
            None => sink.flush().await,
        }
    })
    .await;
    let Ok(socket) = sink.reunite(stream) else {
        return;
    };
    let mut stream = socket.into_inner();
    let _ = timeout(CLOSE_TIMEOUT, async {
        // The sending side is shut down first, so that the peer sees the end of the stream.
        stream.shutdown().await?;
        // On the heap, because a local array would enlarge the future of every idle socket.
        let mut discarded = vec![0; 4_096];
        let mut total = 0;
        while total < CLOSE_BYTES_MAX {
            match stream.read(&mut discarded).await? {
                0 => break,
                count => total += count,
            }
        }
        Ok::<(), std::io::Error>(())
    })
    .await;
}

fn close_frame(ending: &WebSocketEnd) -> Option<CloseFrame> {
    let (code, reason) = match ending {
        WebSocketEnd::PeerLeft => return None,
        WebSocketEnd::Closed(CloseReason::Normal) => (CloseCode::Normal, ""),
        WebSocketEnd::Closed(CloseReason::ShuttingDown) => (CloseCode::Away, "hob is stopping"),
        WebSocketEnd::Closed(CloseReason::Revoked) => {
            (CloseCode::Policy, "the token was revoked or has expired")
        }
        WebSocketEnd::Closed(CloseReason::Slow) => (
            CloseCode::Policy,
            "too slow: frames no longer fit the outbox",
        ),
        WebSocketEnd::Closed(CloseReason::Replaced) => (
            CloseCode::Policy,
            "the service registered on a newer connection",
        ),
        WebSocketEnd::Broken(code, reason) => (*code, *reason),
        WebSocketEnd::Silent => (CloseCode::Policy, "no answer to a ping"),
        WebSocketEnd::Stuck => (CloseCode::Policy, "too slow: nothing is being read"),
    };
    Some(CloseFrame {
        code,
        reason: reason.into(),
    })
}
