//! `POST /tts` and OpenAI's `POST /v1/audio/speech`: a text in, a WAV file out, through `speech.say`.
//!
//! Invariant: a text of any length within the bound is spoken in pieces, in their order, and comes
//! back as one file.

use crate::book::Principal;
use crate::http::{Desk, Known};
use crate::refusal::Refusal;
use crate::{rest, shared};
use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Response, header};
use axum::routing::post;
use data_encoding::BASE64;
use hob_core::speech::{self, wav};
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::speech::{Say, SayParams};
use hob_wire::spoken::{SpeechBody, TtsBody};
use hob_wire::{ErrorCode, Scope, WireError};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::sync::Arc;

/// The surface its callers come by.
const SURFACE: &str = "speech";
/// Letters of one request; some ten minutes.
const CHARS_MAX: usize = 10_000;
const WAV: HeaderValue = HeaderValue::from_static("audio/wav");

pub(crate) fn routes() -> Router<Arc<Desk>> {
    Router::new()
        .route("/tts", post(tts))
        .route("/v1/audio/speech", post(openai))
}

async fn tts(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let order = read::<TtsBody>(&principal, request).await?;
    speak(&desk, &principal, order).await
}

async fn openai(
    State(desk): State<Arc<Desk>>,
    Known(principal): Known,
    request: Request,
) -> Result<Response<Body>, Refusal> {
    let order = read::<SpeechBody>(&principal, request).await?;
    speak(&desk, &principal, order).await
}

/// Reads a body in one of the two forms.
async fn read<T>(principal: &Principal, request: Request) -> Result<SayParams, Refusal>
where
    T: DeserializeOwned + TryInto<SayParams, Error = String>,
{
    if !principal.scopes.allow(Scope::Chat) {
        return Err(Refusal::forbidden("This token lacks the scope 'chat'."));
    }
    let (parts, body) = request.into_parts();
    let body = rest::read_params(&parts.headers, body).await?;
    let body: T = serde_json::from_slice(body.as_deref().unwrap_or(b"null"))
        .map_err(|error| Refusal::bad_request(format!("The body is not understood: {error}.")))?;
    body.try_into().map_err(Refusal::bad_request)
}

async fn speak(
    desk: &Desk,
    principal: &Principal,
    order: SayParams,
) -> Result<Response<Body>, Refusal> {
    order.check(CHARS_MAX).map_err(Refusal::bad_request)?;
    let weight_max = speech::weight_max(SPEECH_CHARS_MAX, order.speed);
    let pieces = speech::split(&order.text, weight_max);
    let peer = shared::peer(principal, SURFACE);
    let caller = desk.shared.bus.caller_as(peer)?;
    let mut sounds = Vec::with_capacity(pieces.len());
    for piece in pieces {
        let params = SayParams {
            text: piece.to_owned(),
            ..order.clone()
        };
        let spoken = caller.call::<Say>(&params).await?;
        let sound = BASE64.decode(spoken.wav.as_bytes());
        sounds.push(sound.map_err(|error| broken(&error))?);
    }
    let wav = wav::join(&sounds).map_err(|error| broken(&error))?;
    let mut response = Response::new(Body::from(wav));
    response.headers_mut().insert(header::CONTENT_TYPE, WAV);
    Ok(response)
}

fn broken(why: &dyn std::error::Error) -> WireError {
    let message = format!("The sound cannot be put together: {why}.");
    WireError::new(ErrorCode::Internal, message)
}

/// These paths in the OpenAPI document.
pub(crate) fn paths() -> Vec<(String, Value)> {
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
