//! [`DaemonConnection`]: a connection that is authenticated and has the right protocol version.
//!
//! A connection has exactly one owner, which reads every frame. [`DaemonConnection::call`] is for
//! the owner's calls during setup. Frames that arrive meanwhile are kept in order.

use crate::error::ClientError;
use crate::target::{DaemonAddress, DaemonTarget, WebSocketUrl};
use crate::transport::FrameTransport;
use bytes::Bytes;
use hob_wire::frame::{self, Envelope, RequestHead};
use hob_wire::limits::FRAME_BYTES_MAX;
use hob_wire::rooms::gateway::{Auth, GatewayAuthParams};
use hob_wire::{ErrorCode, Method, PROTOCOL_VERSION, WireError};
use serde_json::Value;
use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;
use tokio::net::{TcpStream, UnixStream};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderValue, StatusCode, header};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Error as WsError, handshake::client::Response};

/// The time limit for connecting, authenticating and each call during setup.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Frames kept during a [`DaemonConnection::call`].
const EARLY_FRAMES_MAX: usize = 1_024;

pub(crate) struct DaemonConnection {
    transport: FrameTransport,
    early_frames: VecDeque<Bytes>,
    next_id: u64,
}

impl DaemonConnection {
    pub(crate) async fn open(target: &DaemonTarget) -> Result<DaemonConnection, ClientError> {
        let opened =
            tokio::time::timeout(HANDSHAKE_TIMEOUT, DaemonConnection::handshake(target)).await;
        opened.unwrap_or_else(|_| {
            Err(target.unreachable(&"it accepts connections but does not answer"))
        })
    }

    async fn handshake(target: &DaemonTarget) -> Result<DaemonConnection, ClientError> {
        match target.address()? {
            DaemonAddress::Unix { path } => DaemonConnection::open_unix(target, &path).await,
            DaemonAddress::Ws(url) => DaemonConnection::open_web_socket(target, &url).await,
        }
    }

    async fn open_unix(
        target: &DaemonTarget,
        path: &Path,
    ) -> Result<DaemonConnection, ClientError> {
        let stream = UnixStream::connect(path).await.map_err(|error| {
            use io::ErrorKind::{ConnectionRefused, NotFound};
            match error.kind() {
                // A killed daemon leaves its socket file and state file behind.
                NotFound | ConnectionRefused => target.not_running(),
                _ => target.unreachable(&error),
            }
        })?;
        // Security: the first line contains the owner's token, so it is sent only to a process of
        // our own user. A killed daemon leaves a path that another user may be able to take over.
        let ours = rustix::process::geteuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == ours) {
            let path = path.display();
            return Err(target.unreachable(&format!("another user listens on '{path}'")));
        }
        let mut connection = DaemonConnection::new(FrameTransport::unix(stream));
        let params = GatewayAuthParams {
            token: target.token()?,
            protocol: Some(PROTOCOL_VERSION),
        };
        let answer = connection.call::<Auth>(&params).await;
        let answer = answer.map_err(|error| match error {
            ClientError::ConnectionLost { .. } => target.unreachable(&"it closed the connection"),
            ClientError::Wire(error) => match skew_in(error.details.as_ref()) {
                Some(skew) => skew,
                None => ClientError::Wire(error),
            },
            other => other,
        })?;
        if answer.protocol != PROTOCOL_VERSION {
            return Err(skew(answer.protocol, "unknown version"));
        }
        Ok(connection)
    }

    async fn open_web_socket(
        target: &DaemonTarget,
        url: &WebSocketUrl,
    ) -> Result<DaemonConnection, ClientError> {
        let bad = |error: &dyn std::fmt::Display| ClientError::BadTarget {
            reason: format!("'{}' cannot be used: {error}", url.text),
        };
        let mut request = url
            .text
            .as_str()
            .into_client_request()
            .map_err(|e| bad(&e))?;
        let bearer = format!("Bearer {}", target.token()?);
        let mut bearer = HeaderValue::from_str(&bearer)
            .map_err(|_| bad(&"the token holds characters no token has"))?;
        // Keeps the token out of debug output.
        bearer.set_sensitive(true);
        let headers = request.headers_mut();
        headers.insert(header::AUTHORIZATION, bearer);
        headers.insert(
            header::SEC_WEBSOCKET_PROTOCOL,
            HeaderValue::from_static(SUBPROTOCOL),
        );
        let stream = TcpStream::connect(&url.authority)
            .await
            .map_err(|error| target.unreachable(&error))?;
        // Frames are small and latency matters; Nagle's algorithm would delay them.
        stream
            .set_nodelay(true)
            .map_err(|error| target.unreachable(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(FRAME_BYTES_MAX))
            .max_frame_size(Some(FRAME_BYTES_MAX));
        let upgraded =
            tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        let (stream, response) = upgraded.map_err(|error| handshake_error(target, error))?;
        check_subprotocol(&response)?;
        Ok(DaemonConnection::new(FrameTransport::web_socket(stream)))
    }

    fn new(transport: FrameTransport) -> Self {
        DaemonConnection {
            transport,
            early_frames: VecDeque::new(),
            next_id: 0,
        }
    }

    /// Queues a request and returns the id of its response.
    pub(crate) fn request(
        &mut self,
        method: &str,
        params: Option<&[u8]>,
        trace: Option<&str>,
    ) -> Result<u64, ClientError> {
        self.next_id += 1;
        let id = self.next_id;
        let head = RequestHead {
            id: &id.to_string(),
            target: "",
            method,
            trace,
        };
        let mut out = Vec::with_capacity(128 + params.map_or(0, <[u8]>::len));
        frame::write_request(&mut out, &head, params);
        if out.len() > FRAME_BYTES_MAX {
            return Err(ClientError::TooLarge {
                method: method.to_owned(),
                bytes: out.len(),
                max: FRAME_BYTES_MAX,
            });
        }
        self.transport.queue(out);
        Ok(id)
    }

    /// Queues a complete frame: a response or an event.
    pub(crate) fn queue(&mut self, frame: Vec<u8>) {
        self.transport.queue(frame);
    }

    /// Returns the number of queued bytes.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.transport.queued_bytes()
    }

    /// Returns the next frame. Writes queued frames meanwhile. Cancel safe.
    pub(crate) async fn next(&mut self) -> io::Result<Bytes> {
        match self.early_frames.pop_front() {
            Some(frame) => Ok(frame),
            None => self.transport.next().await,
        }
    }

    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.transport.flush().await
    }

    /// Makes a call and waits for its response, at most [`HANDSHAKE_TIMEOUT`].
    pub(crate) async fn call<M: Method>(
        &mut self,
        params: &M::Params,
    ) -> Result<M::Result, ClientError> {
        let method = M::SPEC.name;
        let lost = |_: io::Error| ClientError::ConnectionLost {
            method: method.to_owned(),
            repeatable: true,
        };
        let params = encode(method, params)?;
        let id = self.request(method, Some(&params), None)?.to_string();
        let answered = async {
            loop {
                let frame = self.transport.next().await.map_err(lost)?;
                if let Some(answer) = response_to(&id, &frame) {
                    return decode(method, answer?.as_deref());
                }
                // Frames beyond the limit are dropped. An event stream notices that by `prev`.
                if self.early_frames.len() < EARLY_FRAMES_MAX {
                    self.early_frames.push_back(frame);
                }
            }
        };
        let waited = tokio::time::timeout(HANDSHAKE_TIMEOUT, answered).await;
        waited.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                method: method.to_owned(),
                after_ms: u64::try_from(HANDSHAKE_TIMEOUT.as_millis()).unwrap_or(u64::MAX),
                repeatable: true,
            })
        })
    }
}

/// Returns the outcome of request `id` if the frame is its response.
fn response_to(id: &str, frame: &Bytes) -> Option<Result<Option<Bytes>, ClientError>> {
    let text = std::str::from_utf8(frame).ok()?;
    let Ok(Envelope::Response(response)) = frame::read(text) else {
        return None;
    };
    (response.id == id).then(|| outcome(frame, response.outcome))
}

/// Converts the outcome of a response to a payload or a [`ClientError`].
pub(crate) fn outcome(
    frame: &Bytes,
    outcome: Result<Option<&serde_json::value::RawValue>, &serde_json::value::RawValue>,
) -> Result<Option<Bytes>, ClientError> {
    match outcome {
        Ok(payload) => Ok(payload.map(|raw| frame.slice_ref(raw.get().as_bytes()))),
        Err(error) => Err(parse_error(error.get())),
    }
}

/// Parses the error of a response. An unknown code of a newer daemon keeps its message.
fn parse_error(text: &str) -> ClientError {
    #[derive(serde::Deserialize)]
    struct LooseError {
        code: Option<String>,
        message: Option<String>,
    }
    if let Ok(error) = serde_json::from_str::<WireError>(text) {
        return error.into();
    }
    let loose: Option<LooseError> = serde_json::from_str(text).ok();
    let (code, message) = loose.map_or((None, None), |loose| (loose.code, loose.message));
    let code = code.unwrap_or_else(|| "unknown".to_owned());
    let message = message.unwrap_or_else(|| "The other side failed without a reason.".to_owned());
    ClientError::Wire(WireError::new(
        ErrorCode::MethodError,
        format!("{message} ({code})"),
    ))
}

pub(crate) fn encode<T: serde::Serialize>(method: &str, value: &T) -> Result<Vec<u8>, ClientError> {
    serde_json::to_vec(value).map_err(|error| ClientError::BadTarget {
        reason: format!("The params of `{method}` cannot be written as JSON: {error}"),
    })
}

pub(crate) fn decode<T: serde::de::DeserializeOwned>(
    method: &str,
    payload: Option<&[u8]>,
) -> Result<T, ClientError> {
    serde_json::from_slice(payload.unwrap_or(b"null")).map_err(|error| ClientError::Unreadable {
        method: method.to_owned(),
        reason: error.to_string(),
    })
}

/// The WebSocket subprotocol, which names the protocol version.
const SUBPROTOCOL: &str = "hob.v1";

fn check_subprotocol(response: &Response) -> Result<(), ClientError> {
    let chosen = response.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let chosen = chosen.and_then(|value| value.to_str().ok()).unwrap_or("");
    match chosen
        .strip_prefix("hob.v")
        .and_then(|text| text.parse().ok())
    {
        Some(theirs) if theirs != PROTOCOL_VERSION => Err(skew(theirs, "unknown version")),
        // A proxy may drop the header. A different protocol then fails at the first frame.
        _ => Ok(()),
    }
}

fn skew(theirs: u32, daemon: &str) -> ClientError {
    ClientError::ProtocolSkew {
        ours: PROTOCOL_VERSION,
        theirs,
        daemon: daemon.to_owned(),
    }
}

/// Returns the protocol skew of a refusal. `details.supported` has the daemon's version.
fn skew_in(details: Option<&Value>) -> Option<ClientError> {
    let theirs = details?.get("supported")?.get(0)?;
    let theirs = match theirs {
        Value::String(text) => text.strip_prefix("hob.v")?.parse().ok()?,
        number => u32::try_from(number.as_u64()?).ok()?,
    };
    (theirs != PROTOCOL_VERSION).then(|| skew(theirs, "unknown version"))
}

fn handshake_error(target: &DaemonTarget, error: WsError) -> ClientError {
    let WsError::Http(response) = error else {
        return target.unreachable(&error);
    };
    let body = response.body().as_deref().unwrap_or_default();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    if let Some(skew) = skew_in(error.get("details")) {
        return skew;
    }
    let message = error["message"].as_str().map(str::to_owned);
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ClientError::RefusedToken {
            message: message.unwrap_or_else(|| {
                "make one with `hob token create` on the daemon's machine.".to_owned()
            }),
        },
        status => {
            let reason = message.unwrap_or_else(|| format!("it answered HTTP {status}"));
            target.unreachable(&reason)
        }
    }
}
