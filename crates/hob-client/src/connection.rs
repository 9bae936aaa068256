//! One established connection: connected, authenticated, of the right protocol version.
//!
//! A link has exactly one owner, which reads every frame. [`Link::ask`] is for the owner's own
//! questions before its ordinary work; frames that arrive meanwhile are kept in order.

use crate::error::ClientError;
use crate::target::{Address, Target, Url};
use crate::transport::Transport;
use bytes::Bytes;
use hob_wire::frame::{self, Envelope, RequestHead};
use hob_wire::limits::FRAME_BYTES_MAX;
use hob_wire::rooms::gateway::{Auth, AuthParams};
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

/// How long connecting, authenticating and the like may take before the peer counts as absent.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);
/// Frames kept while a question of the owner's own is open.
const EARLY_FRAMES_MAX: usize = 1_024;

pub(crate) struct Link {
    transport: Transport,
    early: VecDeque<Bytes>,
    next_id: u64,
}

impl Link {
    pub(crate) async fn open(target: &Target) -> Result<Link, ClientError> {
        let opened = tokio::time::timeout(HANDSHAKE_WAIT, Link::handshake(target)).await;
        opened.unwrap_or_else(|_| {
            Err(target.unreachable(&"it accepts connections but does not answer"))
        })
    }

    async fn handshake(target: &Target) -> Result<Link, ClientError> {
        match target.address()? {
            Address::Unix { path } => Link::open_unix(target, &path).await,
            Address::Ws(url) => Link::open_web_socket(target, &url).await,
        }
    }

    async fn open_unix(target: &Target, path: &Path) -> Result<Link, ClientError> {
        let stream = UnixStream::connect(path).await.map_err(|error| {
            use io::ErrorKind::{ConnectionRefused, NotFound};
            match error.kind() {
                // What a daemon that was killed leaves behind.
                NotFound | ConnectionRefused => target.not_running(),
                _ => target.unreachable(&error),
            }
        })?;
        // The first line carries the owner's token, so it goes to a process of our own user only:
        // a daemon that was killed leaves a path that another user may be able to take.
        let ours = rustix::process::geteuid().as_raw();
        if !stream.peer_cred().is_ok_and(|peer| peer.uid() == ours) {
            let path = path.display();
            return Err(target.unreachable(&format!("another user listens on '{path}'")));
        }
        let mut link = Link::new(Transport::unix(stream));
        let params = AuthParams {
            token: target.token()?,
            protocol: Some(PROTOCOL_VERSION),
        };
        let answer = link.ask::<Auth>(&params).await;
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
        Ok(link)
    }

    async fn open_web_socket(target: &Target, url: &Url) -> Result<Link, ClientError> {
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
        // Answers are small and waited for; Nagle would hold them back.
        stream
            .set_nodelay(true)
            .map_err(|error| target.unreachable(&error))?;
        let config = WebSocketConfig::default()
            .max_message_size(Some(FRAME_BYTES_MAX))
            .max_frame_size(Some(FRAME_BYTES_MAX));
        let upgraded =
            tokio_tungstenite::client_async_with_config(request, stream, Some(config)).await;
        let (stream, response) = upgraded.map_err(|error| refused(target, error))?;
        check_subprotocol(&response)?;
        Ok(Link::new(Transport::web_socket(stream)))
    }

    fn new(transport: Transport) -> Self {
        Link {
            transport,
            early: VecDeque::new(),
            next_id: 0,
        }
    }

    /// Queues a request and returns the id its answer will carry.
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

    /// Queues a whole frame: an answer or an event.
    pub(crate) fn queue(&mut self, frame: Vec<u8>) {
        self.transport.queue(frame);
    }

    /// Bytes that wait to be written.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.transport.queued_bytes()
    }

    /// The next frame; writes what is queued meanwhile. May be dropped at any await.
    pub(crate) async fn next(&mut self) -> io::Result<Bytes> {
        match self.early.pop_front() {
            Some(frame) => Ok(frame),
            None => self.transport.next().await,
        }
    }

    pub(crate) async fn flush(&mut self) -> io::Result<()> {
        self.transport.flush().await
    }

    /// Asks and waits for the answer, within the time a handshake may take.
    pub(crate) async fn ask<M: Method>(
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
                if let Some(answer) = answer_to(&id, &frame) {
                    return decode(method, answer?.as_deref());
                }
                if self.early.len() < EARLY_FRAMES_MAX {
                    self.early.push_back(frame);
                }
            }
        };
        let waited = tokio::time::timeout(HANDSHAKE_WAIT, answered).await;
        waited.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                method: method.to_owned(),
                after_ms: u64::try_from(HANDSHAKE_WAIT.as_millis()).unwrap_or(u64::MAX),
                repeatable: true,
            })
        })
    }
}

/// What a frame answers to request `id`, if it is that answer.
fn answer_to(id: &str, frame: &Bytes) -> Option<Result<Option<Bytes>, ClientError>> {
    let text = std::str::from_utf8(frame).ok()?;
    let Ok(Envelope::Response(response)) = frame::read(text) else {
        return None;
    };
    (response.id == id).then(|| outcome(frame, response.outcome))
}

/// The payload or the error of a response, as a caller wants it.
pub(crate) fn outcome(
    frame: &Bytes,
    outcome: Result<Option<&serde_json::value::RawValue>, &serde_json::value::RawValue>,
) -> Result<Option<Bytes>, ClientError> {
    match outcome {
        Ok(payload) => Ok(payload.map(|raw| frame.slice_ref(raw.get().as_bytes()))),
        Err(error) => Err(read_error(error.get())),
    }
}

/// A code of a newer daemon's is still an error with a sentence.
fn read_error(text: &str) -> ClientError {
    #[derive(serde::Deserialize)]
    struct Loose {
        code: Option<String>,
        message: Option<String>,
    }
    if let Ok(error) = serde_json::from_str::<WireError>(text) {
        return error.into();
    }
    let loose: Option<Loose> = serde_json::from_str(text).ok();
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

/// The subprotocol that names the wire's version.
const SUBPROTOCOL: &str = "hob.v1";

fn check_subprotocol(response: &Response) -> Result<(), ClientError> {
    let chosen = response.headers().get(header::SEC_WEBSOCKET_PROTOCOL);
    let chosen = chosen.and_then(|value| value.to_str().ok()).unwrap_or("");
    match chosen
        .strip_prefix("hob.v")
        .and_then(|text| text.parse().ok())
    {
        Some(theirs) if theirs != PROTOCOL_VERSION => Err(skew(theirs, "unknown version")),
        // A proxy in between may drop the header; the frames then speak for themselves.
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

/// The skew that a refusal names: `details.supported` holds the other side's version.
fn skew_in(details: Option<&Value>) -> Option<ClientError> {
    let theirs = details?.get("supported")?.get(0)?;
    let theirs = match theirs {
        Value::String(text) => text.strip_prefix("hob.v")?.parse().ok()?,
        number => u32::try_from(number.as_u64()?).ok()?,
    };
    (theirs != PROTOCOL_VERSION).then(|| skew(theirs, "unknown version"))
}

fn refused(target: &Target, error: WsError) -> ClientError {
    let WsError::Http(response) = error else {
        return target.unreachable(&error);
    };
    let body = response.body().as_deref().unwrap_or_default();
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let error = &body["error"];
    if let Some(skew) = skew_in(error.get("details")) {
        return skew;
    }
    let said = error["message"].as_str().map(str::to_owned);
    match response.status() {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ClientError::RefusedToken {
            message: said.unwrap_or_else(|| {
                "make one with `hob token create` on the daemon's machine.".to_owned()
            }),
        },
        status => {
            let reason = said.unwrap_or_else(|| format!("it answered HTTP {status}"));
            target.unreachable(&reason)
        }
    }
}
