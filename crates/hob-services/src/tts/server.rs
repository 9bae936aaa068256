//! The HTTP server of the speech service: `/health`, `POST /tts`, `POST /v1/audio/speech`.
//!
//! Invariants: it listens on loopback only and accepts only requests with its own host and JSON,
//! which no web page of another origin can make a browser send; bodies, texts and processes are
//! bounded.

use crate::tts::speech_program::{SpeechProgram, SynthesisError, SynthesisRequest};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use hob_exec::Spawner;
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::SpeechSayParams;
use hob_wire::speech_request::{SPEECH_SERVER, SpeechBody, TtsBody};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, Semaphore};

const BODY_BYTES_MAX: usize = 64 * 1024;
/// Texts spoken at once, and texts that wait.
const SPEAKERS_MAX: usize = 4;
const WAITING_MAX: usize = 32;
const ORDINARY_PERCENT: u16 = 100;

/// The parts of the speech server.
#[derive(Debug)]
pub struct SpeechServerParts {
    pub port: u16,
    /// espeak-ng, or Piper.
    pub program: PathBuf,
    /// Piper's voice.
    pub voice_file: Option<PathBuf>,
    /// Paths that the program must not see.
    pub hidden: Vec<PathBuf>,
    pub spawner: Spawner,
}

#[derive(Debug)]
struct SpeechServerState {
    program: SpeechProgram,
    port: u16,
    queue: Semaphore,
    running: Semaphore,
}

/// Serves requests until the process ends.
pub async fn serve(parts: SpeechServerParts) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, parts.port));
    let listener = TcpListener::bind(address).await?;
    let state = Arc::new(SpeechServerState {
        port: listener.local_addr()?.port(),
        program: SpeechProgram {
            program: parts.program,
            voice_file: parts.voice_file,
            hidden: parts.hidden,
            spawner: parts.spawner,
            voices: OnceCell::new(),
        },
        queue: Semaphore::new(SPEAKERS_MAX + WAITING_MAX),
        running: Semaphore::new(SPEAKERS_MAX),
    });
    axum::serve(listener, router(state)).await
}

fn router(state: Arc<SpeechServerState>) -> Router {
    Router::new()
        .route(
            "/health",
            get(async || ([(header::SERVER, SPEECH_SERVER)], "ok")),
        )
        .route("/tts", post(tts))
        .route("/v1/audio/speech", post(openai))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(state)
}

/// A refused request: a status and a message.
struct SpeechRefusal(StatusCode, String);

async fn tts(
    State(state): State<Arc<SpeechServerState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request = parse_request::<TtsBody>(&state, &headers, &body);
    answer(&state, request).await
}

async fn openai(
    State(state): State<Arc<SpeechServerState>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response<Body> {
    let request = parse_request::<SpeechBody>(&state, &headers, &body);
    answer(&state, request).await
}

/// Checks the host and content type of a request and parses its body.
fn parse_request<'b, T>(
    state: &SpeechServerState,
    headers: &HeaderMap,
    body: &'b [u8],
) -> Result<SynthesisRequest, SpeechRefusal>
where
    T: Deserialize<'b> + TryInto<SpeechSayParams, Error = String>,
{
    let text_of = |name| {
        headers
            .get(name)
            .and_then(|it: &HeaderValue| it.to_str().ok())
    };
    // Against DNS rebinding: a page can resolve its own name to this address, but not fake the
    // host.
    let host = text_of(header::HOST).unwrap_or_default();
    let ours = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", state.port));
    if !ours.iter().any(|ours| ours == host) {
        let message = "This host is not served here.".to_owned();
        return Err(SpeechRefusal(StatusCode::FORBIDDEN, message));
    }
    // A browser sends JSON to another origin only after a preflight, which this server never
    // grants.
    let kind = text_of(header::CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "Send JSON, as 'Content-Type: application/json'.".to_owned();
        return Err(SpeechRefusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body: T = serde_json::from_slice(body)
        .map_err(|error| bad_request(format!("The body is not understood: {error}.")))?;
    let params: SpeechSayParams = body.try_into().map_err(bad_request)?;
    params.check(SPEECH_CHARS_MAX).map_err(bad_request)?;
    Ok(SynthesisRequest {
        text: params.text,
        voice: params.voice,
        speed: params.speed.unwrap_or(ORDINARY_PERCENT),
    })
}

async fn answer(
    state: &SpeechServerState,
    request: Result<SynthesisRequest, SpeechRefusal>,
) -> Response<Body> {
    let result = match request {
        Ok(request) => synthesize(state, &request).await,
        Err(refusal) => Err(refusal),
    };
    let (status, kind, body) = match result {
        Ok(wav) => (StatusCode::OK, "audio/wav", Body::from(wav)),
        Err(SpeechRefusal(status, message)) => {
            let body = json!({ "error": { "message": message } }).to_string();
            (status, "application/json", Body::from(body))
        }
    };
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn synthesize(
    state: &SpeechServerState,
    request: &SynthesisRequest,
) -> Result<Vec<u8>, SpeechRefusal> {
    let busy = || {
        let message = "Too many texts wait to be spoken; try again in a moment.".to_owned();
        SpeechRefusal(StatusCode::SERVICE_UNAVAILABLE, message)
    };
    // A full queue refuses at once; inside the queue a request waits for one of the processes.
    let _queue_place = state.queue.try_acquire().map_err(|_| busy())?;
    let _running_place = state.running.acquire().await.map_err(|_| busy())?;
    state
        .program
        .synthesize(request)
        .await
        .map_err(|error| match error {
            SynthesisError::Refused(why) => bad_request(why),
            SynthesisError::Failed(why) => SpeechRefusal(StatusCode::BAD_GATEWAY, why),
        })
}

fn bad_request(message: impl Into<String>) -> SpeechRefusal {
    SpeechRefusal(StatusCode::BAD_REQUEST, message.into())
}
