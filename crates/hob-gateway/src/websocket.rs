//! The WebSocket: one frame of the wire per text message.
//!
//! One task serves a socket with two halves side by side, so that a peer that does not read never
//! keeps us from reading, and the other way round. Whichever half ends, or the bus closing the
//! link, ends the socket, with a close code that says why.
//!
//! Invariants: a message over the frame limit is refused when its length is announced, before it
//! is stored; a peer that lets two pings pass or takes longer than a ping interval to accept what
//! we write is closed.

use crate::http::Desk;
use crate::patience::Patience;
use crate::refusal::Refusal;
use crate::shared::{self, Seat, Shared};
use crate::{settings, subprotocol};
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::stream::{SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use hob_bus::{Closed, Link, Outlet};
use hob_kit::settings::Settings;
use hob_wire::{ErrorCode, WireError};
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

/// Small, because most sockets are idle; a longer message gets room when it is announced.
const READ_BUFFER_BYTES: usize = 8 * 1024;
/// Time to say goodbye: the close frame, and then the peer's own.
const GOODBYE: Duration = Duration::from_millis(400);
/// Read and thrown away while saying goodbye, so that the peer's sending does not reset the
/// connection before it has read why it ends.
const GOODBYE_BYTES_MAX: usize = 1024 * 1024;

pub(crate) type Socket = WebSocketStream<TcpStream>;

/// Where the messages of a socket go.
pub(crate) trait Inlet {
    fn text(&self, text: Bytes) -> impl Future<Output = ()> + Send;
    /// A binary message, which no dialect knows.
    fn binary(&self) -> impl Future<Output = ()> + Send;
}

/// Where the messages for a socket come from.
pub(crate) trait Source {
    /// Waits for the next ones; with why there will be no more. Cancelling it loses nothing.
    fn next(&mut self, into: &mut Vec<Bytes>) -> impl Future<Output = Option<Closed>> + Send;
}

impl Inlet for Link {
    async fn text(&self, text: Bytes) {
        self.receive(text).await;
    }

    async fn binary(&self) {
        self.refuse(&WireError::new(
            ErrorCode::ParseError,
            "A frame is a text message; this one is binary.",
        ));
    }
}

impl Source for Outlet {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<Closed> {
        Outlet::next(self, into).await
    }
}

/// `GET /ws`.
pub(crate) async fn open(
    State(desk): State<Arc<Desk>>,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let principal = desk.admit_socket(request.headers())?;
    let selected = subprotocol::read(request.headers())?.select()?;
    // The handshake is checked first: a request that cannot become a socket joins nothing.
    let handshake = Handshake::of(request, selected)?;
    let (link, outlet) = desk.shared.connect(&principal, &desk.door)?;
    Ok(handshake.finish(&desk.shared, link, outlet))
}

/// A request that asks for a WebSocket in the proper form.
pub(crate) struct Handshake {
    response: Response<Body>,
    upgrade: OnUpgrade,
    seat: Option<Seat>,
}

impl Handshake {
    pub(crate) fn of(
        mut request: Request,
        selected: Option<HeaderValue>,
    ) -> Result<Handshake, Refusal> {
        let mut response = create_response_with_body(&request, Body::empty).map_err(|failure| {
            let message = format!("This path speaks WebSocket: {failure}.");
            let status = StatusCode::UPGRADE_REQUIRED;
            Refusal::new(status, ErrorCode::InvalidParams, message)
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
        Ok(Handshake {
            response,
            seat: request.extensions_mut().remove(),
            upgrade: hyper::upgrade::on(&mut request),
        })
    }

    /// Answers 101 and serves the socket in a task of its own.
    pub(crate) fn finish(self, shared: &Arc<Shared>, link: Link, outlet: Outlet) -> Response<Body> {
        let served = Arc::clone(shared);
        self.upgrade(shared, async move |socket| match socket {
            Some(socket) => serve(socket, &link, &link, outlet, &served).await,
            None => link.close(),
        })
    }

    /// Answers 101 and hands the socket on, in a task of its own; none if the peer left between
    /// our answer and its first frame.
    pub(crate) fn upgrade<F, T>(self, shared: &Arc<Shared>, serve: F) -> Response<Body>
    where
        F: FnOnce(Option<Socket>) -> T + Send + 'static,
        T: Future<Output = ()> + Send + 'static,
    {
        let Handshake {
            response,
            upgrade,
            seat,
        } = self;
        shared.tasks.spawn("websocket", async move {
            let _seat = seat;
            let socket = match upgrade.await.map(Upgraded::downcast::<HttpStream>) {
                Ok(Ok(parts)) => {
                    let stream = parts.io.into_inner().into_inner();
                    let early = parts.read_buf.to_vec();
                    let config = Some(config());
                    Some(Socket::from_partially_read(stream, early, Role::Server, config).await)
                }
                Ok(Err(_)) | Err(_) => None,
            };
            serve(socket).await;
        });
        response
    }
}

/// What the listener serves HTTP on.
type HttpStream = TokioIo<Patience<TcpStream>>;

fn config() -> WebSocketConfig {
    let max = Some(shared::frame_bytes_max());
    WebSocketConfig::default()
        .read_buffer_size(READ_BUFFER_BYTES)
        .max_frame_size(max)
        .max_message_size(max)
}

/// Why a socket ends.
enum Ending {
    /// The bus closed the link.
    Closed(Closed),
    /// The peer closed or vanished: there is nobody to tell.
    PeerLeft,
    /// The peer broke the WebSocket's rules.
    Broken(CloseCode, &'static str),
    /// The peer does not answer pings.
    Silent,
    /// The peer does not accept what we write.
    Stuck,
}

/// Serves a socket until it ends or the bus closes its link.
pub(crate) async fn serve(
    socket: Socket,
    link: &Link,
    inlet: &impl Inlet,
    source: impl Source,
    shared: &Shared,
) {
    let (mut sink, mut stream) = socket.split();
    let heard = AtomicBool::new(true);
    let ending = tokio::select! {
        ending = read(&mut stream, inlet, &heard) => ending,
        ending = write(&mut sink, source, &heard, shared) => ending,
        ending = cut(link) => ending,
    };
    link.close();
    goodbye(sink, stream, &ending).await;
}

async fn read(stream: &mut SplitStream<Socket>, inlet: &impl Inlet, heard: &AtomicBool) -> Ending {
    loop {
        let message = match stream.next().await {
            Some(Ok(message)) => message,
            Some(Err(failure)) => return ending_of(&failure),
            None => return Ending::PeerLeft,
        };
        heard.store(true, Ordering::Relaxed);
        match message {
            Message::Text(text) => inlet.text(Bytes::from(text)).await,
            Message::Binary(_) => inlet.binary().await,
            Message::Close(_) => return Ending::PeerLeft,
            // Pings are answered by the codec.
            Message::Ping(_) | Message::Pong(_) | Message::Frame(_) => {}
        }
    }
}

fn ending_of(failure: &Error) -> Ending {
    match failure {
        Error::Capacity(_) => Ending::Broken(CloseCode::Size, "a frame has at most 8 MiB"),
        Error::Utf8(_) => Ending::Broken(CloseCode::Invalid, "a frame is UTF-8"),
        Error::Protocol(_) => Ending::Broken(CloseCode::Protocol, "not a WebSocket frame"),
        _ => Ending::PeerLeft,
    }
}

async fn write(
    sink: &mut SplitSink<Socket, Message>,
    mut source: impl Source,
    heard: &AtomicBool,
    shared: &Shared,
) -> Ending {
    let mut changed = std::pin::pin!(changed(shared.settings.clone()));
    let mut interval = shared.ping_interval();
    let mut batch = Vec::new();
    let mut tick = std::pin::pin!(tokio::time::sleep(interval));
    loop {
        let closed = tokio::select! {
            closed = source.next(&mut batch) => closed,
            () = &mut tick => {
                // `heard` was cleared when the last ping went out.
                if !heard.swap(false, Ordering::Relaxed) {
                    return Ending::Silent;
                }
                interval = shared.ping_interval();
                tick.as_mut().reset(tokio::time::Instant::now() + interval);
                match timeout(interval, sink.send(Message::Ping(Bytes::new()))).await {
                    Ok(Ok(())) => continue,
                    Ok(Err(_)) => return Ending::PeerLeft,
                    Err(_) => return Ending::Stuck,
                }
            }
            settings = &mut changed => {
                let chosen = settings::ping_interval(&settings.borrow());
                if chosen != interval {
                    interval = chosen;
                    tick.as_mut().reset(tokio::time::Instant::now() + interval);
                }
                changed.set(self::changed(settings));
                continue;
            }
        };
        match timeout(interval, write_all(sink, &mut batch)).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Ending::PeerLeft,
            Err(_) => return Ending::Stuck,
        }
        if let Some(closed) = closed {
            return Ending::Closed(closed);
        }
    }
}

/// The settings once they changed. All sockets wait here, so a socket waits once and not anew
/// with each frame.
async fn changed(mut settings: watch::Receiver<Arc<Settings>>) -> watch::Receiver<Arc<Settings>> {
    match settings.changed().await {
        Ok(()) => settings,
        // Nobody is left to change them.
        Err(_) => std::future::pending().await,
    }
}

/// Feeds every frame, then flushes once: what waited together leaves together.
async fn write_all(
    sink: &mut SplitSink<Socket, Message>,
    batch: &mut Vec<Bytes>,
) -> Result<(), Error> {
    for frame in batch.drain(..) {
        let Ok(text) = Utf8Bytes::try_from(frame) else {
            tracing::error!("a frame that is not UTF-8 was left out");
            continue;
        };
        sink.feed(Message::Text(text)).await?;
    }
    sink.flush().await
}

/// Ends a while after the bus closed the link: a peer that reads has its last frames by then.
async fn cut(link: &Link) -> Ending {
    let closed = link.closed().await;
    tokio::time::sleep(shared::parting(closed)).await;
    Ending::Closed(closed)
}

async fn goodbye(
    mut sink: SplitSink<Socket, Message>,
    stream: SplitStream<Socket>,
    ending: &Ending,
) {
    let _ = timeout(GOODBYE, async {
        match close_frame(ending) {
            Some(frame) => sink.send(Message::Close(Some(frame))).await,
            // Sends the answer to the peer's own close.
            None => sink.flush().await,
        }
    })
    .await;
    let Ok(socket) = sink.reunite(stream) else {
        return;
    };
    let mut stream = socket.into_inner();
    let _ = timeout(GOODBYE, async {
        stream.shutdown().await?;
        // On the heap: every idle socket would carry its room otherwise.
        let mut thrown_away = vec![0; 4_096];
        let mut total = 0;
        while total < GOODBYE_BYTES_MAX {
            match stream.read(&mut thrown_away).await? {
                0 => break,
                count => total += count,
            }
        }
        Ok::<(), std::io::Error>(())
    })
    .await;
}

fn close_frame(ending: &Ending) -> Option<CloseFrame> {
    let (code, reason) = match ending {
        Ending::PeerLeft => return None,
        Ending::Closed(Closed::Normal) => (CloseCode::Normal, ""),
        Ending::Closed(Closed::ShuttingDown) => (CloseCode::Away, "hob is stopping"),
        Ending::Closed(Closed::Revoked) => {
            (CloseCode::Policy, "the token was revoked or has expired")
        }
        Ending::Closed(Closed::Slow) => (
            CloseCode::Policy,
            "too slow: frames no longer fit the outbox",
        ),
        Ending::Closed(Closed::Replaced) => (
            CloseCode::Policy,
            "the service registered on a newer connection",
        ),
        Ending::Broken(code, reason) => (*code, *reason),
        Ending::Silent => (CloseCode::Policy, "no answer to a ping"),
        Ending::Stuck => (CloseCode::Policy, "too slow: nothing is being read"),
    };
    Some(CloseFrame {
        code,
        reason: reason.into(),
    })
}
