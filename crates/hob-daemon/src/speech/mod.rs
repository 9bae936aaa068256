//! `speech.say`: speaks a text through a service of the role `tts`.
//!
//! Invariants: a service is started only through `service.reach`; the answer is a WAV file that
//! fits into a frame and was parsed here, or an error.

mod service_choice;

use crate::RoomContext;
use data_encoding::BASE64;
use hob_bus::{Caller, Room};
use hob_core::speech::wav::WavFile;
use hob_models::{ServiceEndpoint, ServiceResolver};
use hob_net::HttpRequest;
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::service;
use hob_wire::rooms::speech::{Say, SpeechSayParams, SpeechSayResult};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use service_choice::{ServiceChoice, choose, error_message};
use std::sync::Arc;
use std::time::Duration;

/// Texts spoken at once.
const CONCURRENCY: usize = 8;
/// The largest answer of a service. In base64 it still fits into a frame.
const WAV_BYTES_MAX: usize = 5 * 1024 * 1024 + 512 * 1024;
/// Time until a service begins to answer, and between two pieces of its answer.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// Attempts to speak. A service that crashes is restarted and asked again, and it takes a moment
/// until its crash is noticed.
const ATTEMPTS: u32 = 8;
const AGAIN_AFTER: Duration = Duration::from_millis(300);

struct SpeechContext {
    deps: RoomContext,
    caller: Caller,
    services: Arc<dyn ServiceResolver>,
}

/// Serves the room `speech`.
pub fn serve(context: &RoomContext, services: Arc<dyn ServiceResolver>) -> Result<(), WireError> {
    let speech = SpeechContext {
        deps: context.clone(),
        caller: context.bus.caller("speech"),
        services,
    };
    let room = Room::new("speech")
        .concurrency(CONCURRENCY)
        .state(Arc::new(speech))
        .method(Say, SpeechContext::say);
    context.bus.serve(room)
}

/// The failure of one attempt to speak.
enum SpeechFailure {
    /// The service was not reached or the connection broke: another attempt may succeed.
    Retryable(String),
    /// Another attempt would fail too.
    Refused(WireError),
}

impl SpeechContext {
    async fn say(&self, params: SpeechSayParams) -> Result<SpeechSayResult, WireError> {
        let refused = |why| WireError::new(ErrorCode::InvalidParams, why);
        params.check(SPEECH_CHARS_MAX).map_err(refused)?;
        let service = self.choose(params.service.as_deref()).await?;
        let mut broken = String::new();
        for attempt in 0..ATTEMPTS {
            if attempt > 0 {
                tokio::time::sleep(AGAIN_AFTER).await;
            }
            match self.ask(&service, &params).await {
                Ok(spoken) => return Ok(spoken),
                Err(SpeechFailure::Refused(error)) => return Err(error),
                Err(SpeechFailure::Retryable(why)) => broken = why,
            }
        }
        let message = format!("The service '{service}' broke off: {broken}");
        Err(WireError::new(ErrorCode::ServiceUnavailable, message))
    }

    async fn choose(&self, named: Option<&str>) -> Result<String, WireError> {
        let all = service::ServiceListParams::default();
        let listed = self.caller.call::<service::List>(&all).await?;
        match choose(&listed.services, named) {
            ServiceChoice::Service(name) => Ok(name),
            ServiceChoice::NotFound(why) => Err(WireError::new(ErrorCode::NotFound, why)),
            ServiceChoice::Missing(why) => Err(WireError::new(ErrorCode::ServiceUnavailable, why)),
        }
    }

    async fn ask(
        &self,
        service: &str,
        params: &SpeechSayParams,
    ) -> Result<SpeechSayResult, SpeechFailure> {
        let unavailable =
            |why| SpeechFailure::Refused(WireError::new(ErrorCode::ServiceUnavailable, why));
        // Reached anew for each attempt, because a restarted service may have another port.
        let reached = self.services.reach(service).await.map_err(unavailable)?;
        let broken = |error: hob_net::NetError| SpeechFailure::Retryable(error.to_string());
        let ours = self.post(&reached, "/tts", tts_body(params)).await;
        let (mut status, mut body) = ours.map_err(broken)?;
        if matches!(status, 404 | 405) {
            // Without hob's own path the service may speak OpenAI's protocol.
            let theirs = self
                .post(&reached, "/v1/audio/speech", openai_body(params))
                .await;
            (status, body) = theirs.map_err(broken)?;
        }
        if status != 200 {
            let code = if (400..500).contains(&status) {
                ErrorCode::InvalidParams
            } else {
                ErrorCode::ServiceUnavailable
            };
            let why = error_message(service, status, &body);
            return Err(SpeechFailure::Refused(WireError::new(code, why)));
        }
        if body.len() > WAV_BYTES_MAX {
            let why = "This text takes too long to say at once; send it in pieces.";
            let error = WireError::new(ErrorCode::InvalidParams, why);
            return Err(SpeechFailure::Refused(error));
        }
        // Written again, because a streaming service leaves the lengths in the header open.
        let wav = WavFile::parse(&body).and_then(|wav| Ok((wav.duration_ms(), wav.to_bytes()?)));
        let (duration_ms, wav) = wav.map_err(|why| {
            let why = format!("The service '{service}' did not answer with a WAV file: {why}.");
            SpeechFailure::Refused(WireError::new(ErrorCode::ServiceUnavailable, why))
        })?;
        Ok(SpeechSayResult {
            wav: BASE64.encode(&wav),
            duration_ms,
            service: service.to_owned(),
        })
    }

    /// Returns the status and the body. A body beyond the limit is cut one byte after it.
    async fn post(
        &self,
        reached: &ServiceEndpoint,
        path: &str,
        body: Value,
    ) -> Result<(u16, Vec<u8>), hob_net::NetError> {
        let request = HttpRequest::post(format!("{}{path}", reached.url), body.to_string())
            .header("content-type", "application/json")
            .head_timeout(HEAD_TIMEOUT);
        let answer = self.deps.http.send(request).await?;
        let status = answer.status();
        let (body, _) = answer.bytes(IDLE_TIMEOUT, WAV_BYTES_MAX + 1).await?;
        Ok((status, body))
    }
}

fn tts_body(params: &SpeechSayParams) -> Value {
    let mut body = json!({ "text": params.text });
    if let Some(voice) = &params.voice {
        body["voice"] = json!(voice);
    }
    if let Some(speed) = params.speed {
        body["speed"] = json!(speed);
    }
    body
}

fn openai_body(params: &SpeechSayParams) -> Value {
    let mut body = json!({ "model": "tts-1", "input": params.text, "response_format": "wav" });
    // OpenAI requires a voice, so a default one is named.
    body["voice"] = json!(params.voice.as_deref().unwrap_or("alloy"));
    if let Some(speed) = params.speed {
        body["speed"] = json!(f64::from(speed) / 100.0);
    }
    body
}
