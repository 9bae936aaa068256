//! What the speech service answers: `/health`, `POST /tts`, `POST /v1/audio/speech`.
//!
//! Invariants: on loopback only, for requests that name it as their host and send JSON, which no
//! page of another origin can make a browser do; bodies, texts and speakers are bounded.

use crate::tts::speaker::{Order, Silence, Speaker};
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use axum::routing::{get, post};
use hob_exec::Spawner;
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::SayParams;
use hob_wire::spoken::{SpeechBody, TtsBody};
use serde::Deserialize;
use serde_json::json;
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::net::TcpListener;
use tokio::sync::{OnceCell, Semaphore};

const BODY_BYTES_MAX: usize = 64 * 1024;
/// Texts spoken at once, and those that wait for it.
const SPEAKERS_MAX: usize = 4;
const WAITING_MAX: usize = 32;
const ORDINARY_PERCENT: u16 = 100;

/// What the service is made of.
#[derive(Debug)]
pub struct ServeParts {
    pub port: u16,
    /// espeak-ng, or Piper.
    pub program: PathBuf,
    /// Piper's voice.
    pub voice_file: Option<PathBuf>,
    /// What the program must not see.
    pub hidden: Vec<PathBuf>,
    pub spawner: Spawner,
}

#[derive(Debug)]
struct Desk {
    speaker: Speaker,
    port: u16,
    seats: Semaphore,
    speakers: Semaphore,
}

/// Serves until the process is ended.
pub async fn serve(parts: ServeParts) -> io::Result<()> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, parts.port));
    let listener = TcpListener::bind(address).await?;
    let desk = Arc::new(Desk {
        port: listener.local_addr()?.port(),
        speaker: Speaker {
            program: parts.program,
            voice_file: parts.voice_file,
            hidden: parts.hidden,
            spawner: parts.spawner,
            voices: OnceCell::new(),
        },
        seats: Semaphore::new(SPEAKERS_MAX + WAITING_MAX),
        speakers: Semaphore::new(SPEAKERS_MAX),
    });
    axum::serve(listener, router(desk)).await
}

fn router(desk: Arc<Desk>) -> Router {
    Router::new()
        .route("/health", get(async || "ok"))
        .route("/tts", post(tts))
        .route("/v1/audio/speech", post(openai))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
        .with_state(desk)
}

/// A refusal: a status and a sentence.
struct Refusal(StatusCode, String);

async fn tts(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let order = read::<TtsBody>(&desk, &headers, &body);
    answer(&desk, order).await
}

async fn openai(State(desk): State<Arc<Desk>>, headers: HeaderMap, body: Bytes) -> Response<Body> {
    let order = read::<SpeechBody>(&desk, &headers, &body);
    answer(&desk, order).await
}

/// Reads a body of JSON from somebody who means this server.
fn read<'b, T>(desk: &Desk, headers: &HeaderMap, body: &'b [u8]) -> Result<Order, Refusal>
where
    T: Deserialize<'b> + TryInto<SayParams, Error = String>,
{
    let text_of = |name| {
        headers
            .get(name)
            .and_then(|it: &HeaderValue| it.to_str().ok())
    };
    let host = text_of(header::HOST).unwrap_or_default();
    let ours = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{}", desk.port));
    if !ours.iter().any(|ours| ours == host) {
        let message = "This host is not served here.".to_owned();
        return Err(Refusal(StatusCode::FORBIDDEN, message));
    }
    let kind = text_of(header::CONTENT_TYPE).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "Send JSON, as 'Content-Type: application/json'.".to_owned();
        return Err(Refusal(StatusCode::UNSUPPORTED_MEDIA_TYPE, message));
    }
    let body: T = serde_json::from_slice(body)
        .map_err(|error| bad(format!("The body is not understood: {error}.")))?;
    let params: SayParams = body.try_into().map_err(bad)?;
    params.check(SPEECH_CHARS_MAX).map_err(bad)?;
    Ok(Order {
        text: params.text,
        voice: params.voice,
        speed: params.speed.unwrap_or(ORDINARY_PERCENT),
    })
}

async fn answer(desk: &Desk, order: Result<Order, Refusal>) -> Response<Body> {
    let spoken = match order {
        Ok(order) => speak(desk, &order).await,
        Err(refusal) => Err(refusal),
    };
    let (status, kind, body) = match spoken {
        Ok(wav) => (StatusCode::OK, "audio/wav", Body::from(wav)),
        Err(Refusal(status, message)) => {
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

async fn speak(desk: &Desk, order: &Order) -> Result<Vec<u8>, Refusal> {
    let busy = || {
        let message = "Too many texts wait to be spoken; try again in a moment.".to_owned();
        Refusal(StatusCode::SERVICE_UNAVAILABLE, message)
    };
    let _seat = desk.seats.try_acquire().map_err(|_| busy())?;
    let _speaker = desk.speakers.acquire().await.map_err(|_| busy())?;
    desk.speaker
        .speak(order)
        .await
        .map_err(|silence| match silence {
            Silence::Refused(why) => bad(why),
            Silence::Failed(why) => Refusal(StatusCode::BAD_GATEWAY, why),
        })
}

fn bad(message: impl Into<String>) -> Refusal {
    Refusal(StatusCode::BAD_REQUEST, message.into())
}
