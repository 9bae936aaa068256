//! `POST /tts` and OpenAI's `POST /v1/audio/speech`: a text in, a WAV file out, through
//! `speech.say`.
//!
//! Invariant: a long text is spoken in pieces, in params, and returned as one file.

use crate::http::{BearerAuth, HttpState};
use crate::http_error::HttpError;
use crate::token_cache::Principal;
use crate::{rest, shared};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::post;
use data_encoding::BASE64;
use hob_core::speech::{self, wav};
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::{Say, SpeechSayParams};
use hob_wire::speech_request::{SpeechBody, TtsBody};
use hob_wire::{ErrorCode, Scope, WireError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// The surface of these callers.
const SURFACE: &str = "speech";
/// Maximum letters of one request: about ten minutes of speech.
const CHARS_MAX: usize = 10_000;
const WAV: HeaderValue = HeaderValue::from_static("audio/wav");

pub(crate) fn routes() -> Router<Arc<HttpState>> {
    tts_routes().route("/v1/audio/speech", post(openai))
}

/// `POST /tts` alone, for the listener of a dialect.
pub fn tts_routes() -> Router<Arc<HttpState>> {
    Router::new().route("/tts", post(tts))
}

async fn tts(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let params = read_request::<TtsBody>(&principal, request).await?;
    speak(&state, &principal, params).await
}

async fn openai(
    State(state): State<Arc<HttpState>>,
    BearerAuth(principal): BearerAuth,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let params = read_request::<SpeechBody>(&principal, request).await?;
    speak(&state, &principal, params).await
}

/// Reads a body in one of the two formats.
async fn read_request<T>(
    principal: &Principal,
    request: Request,
) -> Result<SpeechSayParams, HttpError>
where
    T: DeserializeOwned + TryInto<SpeechSayParams, Error = String>,
{
    if !principal.scopes.allow(Scope::Chat) {
        return Err(HttpError::forbidden("This token lacks the scope 'chat'."));
    }
    let (parts, body) = request.into_parts();
    let body = rest::read_params(&parts.headers, body).await?;
    let body: T = serde_json::from_slice(body.as_deref().unwrap_or(b"null"))
        .map_err(|error| HttpError::bad_request(format!("The body is not understood: {error}.")))?;
    body.try_into().map_err(HttpError::bad_request)
}

async fn speak(
    state: &HttpState,
    principal: &Principal,
    params: SpeechSayParams,
) -> Result<Response<Body>, HttpError> {
    params.check(CHARS_MAX).map_err(HttpError::bad_request)?;
    // Slower speech lasts longer, so its pieces are shorter.
    let weight_max = speech::weight_max(SPEECH_CHARS_MAX, params.speed);
    let pieces = speech::split(&params.text, weight_max);
    let peer = shared::peer(principal, SURFACE);
    let caller = state.shared.bus.caller_as(peer)?;
    let mut sounds = Vec::with_capacity(pieces.len());
    // Sequential calls keep the order and give the speech service one request at a time.
    for piece in pieces {
        let params = SpeechSayParams {
            text: piece.to_owned(),
            ..params.clone()
        };
        let spoken = caller.call::<Say>(&params).await?;
        let sound = BASE64.decode(spoken.wav.as_bytes());
        sounds.push(sound.map_err(|error| wav_error(&error))?);
    }
    let wav = wav::join(&sounds).map_err(|error| wav_error(&error))?;
    let mut response = Response::new(Body::from(wav));
    response.headers_mut().insert(header::CONTENT_TYPE, WAV);
    Ok(response)
}

fn wav_error(why: &dyn std::error::Error) -> WireError {
    let message = format!("The sound cannot be put together: {why}.");
    WireError::new(ErrorCode::Internal, message)
}

/// The entries of both paths in the OpenAPI document.
pub(crate) fn openapi_paths() -> Vec<(String, Value)> {
    let text = json!({ "type": "string" });
    let tts = json!({
        "type": "object",
        "required": ["text"],
        "properties": {
            "text": { "type": "string", "maxLength": CHARS_MAX },
            "voice": text,
            "speed": { "type": "number", "minimum": 25, "maximum": 400, "description": "In percent of the ordinary." },
            "service": { "type": "string", "description": "The service that speaks; the first that can when missing." },
        },
    });
    let openai = json!({
        "type": "object",
        "required": ["input"],
        "properties": {
            "input": { "type": "string", "maxLength": CHARS_MAX },
            "voice": text,
            "speed": { "type": "number", "minimum": 0.25, "maximum": 4 },
            "response_format": { "const": "wav" },
            "model": text,
        },
    });
    vec![
        (
            "/tts".to_owned(),
            operation("speech.tts", "Speaks a text.", &tts, "Error"),
        ),
        (
            "/v1/audio/speech".to_owned(),
            operation(
                "openai.speech",
                "Speaks a text, asked for in OpenAI's form.",
                &openai,
                "OpenaiError",
            ),
        ),
    ]
}

fn operation(id: &str, summary: &str, body: &Value, error: &str) -> Value {
    json!({ "post": {
        "operationId": id,
        "tags": ["speech"],
        "summary": summary,
        "x-hob-scope": "chat",
        "requestBody": { "required": true, "content": { "application/json": { "schema": body } } },
        "responses": {
            "200": {
                "description": "The sound.",
                "content": { "audio/wav": { "schema": { "type": "string", "format": "binary" } } },
            },
            "default": {
                "description": "Refused or failed.",
                "content": { "application/json": {
                    "schema": { "$ref": format!("#/components/schemas/{error}") },
                } },
            },
        },
    } })
}
