//! `speech.say`: words spoken by a service of the role `tts`, whichever the home has.
//!
//! Invariants: a service is started only through `service.reach`; what it answers is a WAV file
//! that fits a frame, measured here, or a sentence why not.

mod words;

use crate::door::Door;
use data_encoding::BASE64;
use hob_bus::{Bus, Caller, Room};
use hob_core::speech::wav::Wav;
use hob_models::{Reach, ServiceDoor};
use hob_net::{Http, Request};
use hob_wire::limits::SPEECH_CHARS_MAX;
use hob_wire::rooms::service;
use hob_wire::rooms::speech::{Say, SayParams, Spoken};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use words::{Choice, choose, complaint};

/// Texts spoken at once.
const CONCURRENCY: usize = 8;
/// The most of a service's answer: in base64 it stays below a frame.
const WAV_BYTES_MAX: usize = 5 * 1024 * 1024 + 512 * 1024;
/// Until a service begins to answer, and between two pieces of its answer.
const HEAD_TIMEOUT: Duration = Duration::from_mins(2);
const IDLE_TIMEOUT: Duration = Duration::from_secs(30);
/// A service that dies while it speaks is started again and asked again. It may take a moment
/// until its end is noticed.
const ATTEMPTS: u32 = 8;
const AGAIN_AFTER: Duration = Duration::from_millis(300);

/// What the room is made of.
#[derive(Debug)]
pub struct Parts {
    pub bus: Bus,
    pub http: Http,
    pub services: Arc<Door>,
}

#[derive(Debug)]
struct Desk {
    caller: Caller,
    http: Http,
    services: Arc<Door>,
}

/// The service `speech`.
pub fn room(parts: Parts) -> Room {
    let desk = Arc::new(Desk {
        caller: parts.bus.caller("speech"),
        http: parts.http,
        services: parts.services,
    });
    Room::new("speech")
        .concurrency(CONCURRENCY)
        .method::<Say, _, _>(move |_, params| {
            let desk = Arc::clone(&desk);
            async move { desk.say(params).await }
        })
}

/// Why a service did not speak.
enum Failure {
    /// It was not reached, or broke off: another attempt may go better.
    Broken(String),
    Told(WireError),
}

impl Desk {
    async fn say(&self, params: SayParams) -> Result<Spoken, WireError> {
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
                Err(Failure::Told(error)) => return Err(error),
                Err(Failure::Broken(why)) => broken = why,
            }
        }
        let message = format!("The service '{service}' broke off: {broken}");
        Err(WireError::new(ErrorCode::ServiceUnavailable, message))
    }

    async fn choose(&self, named: Option<&str>) -> Result<String, WireError> {
        let all = service::ListParams::default();
        let listed = self.caller.call::<service::List>(&all).await?;
        match choose(&listed.services, named) {
            Choice::Service(name) => Ok(name),
            Choice::NotFound(why) => Err(WireError::new(ErrorCode::NotFound, why)),
            Choice::Missing(why) => Err(WireError::new(ErrorCode::ServiceUnavailable, why)),
        }
    }

    async fn ask(&self, service: &str, params: &SayParams) -> Result<Spoken, Failure> {
        let unavailable = |why| Failure::Told(WireError::new(ErrorCode::ServiceUnavailable, why));
        let reached = self.services.reach(service).await.map_err(unavailable)?;
        let broken = |error: hob_net::NetError| Failure::Broken(error.to_string());
        let ours = self.post(&reached, "/tts", tts_body(params)).await;
        let (mut status, mut body) = ours.map_err(broken)?;
        if matches!(status, 404 | 405) {
            // A service made for clients of OpenAI.
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
            let why = complaint(service, status, &body);
            return Err(Failure::Told(WireError::new(code, why)));
        }
        if body.len() > WAV_BYTES_MAX {
            let why = "This text takes too long to say at once; send it in pieces.";
            let error = WireError::new(ErrorCode::InvalidParams, why);
            return Err(Failure::Told(error));
        }
        // Lengths that were left open are mended on the way.
        let wav = Wav::read(&body).and_then(|wav| Ok((wav.duration_ms(), wav.write()?)));
        let (duration_ms, wav) = wav.map_err(|why| {
            let why = format!("The service '{service}' answered no sound: {why}.");
            Failure::Told(WireError::new(ErrorCode::ServiceUnavailable, why))
        })?;
        Ok(Spoken {
            wav: BASE64.encode(&wav),
            duration_ms,
            service: service.to_owned(),
        })
    }

    /// The status and the body, one byte beyond the bound if there was more.
    async fn post(
        &self,
        reached: &Reach,
        path: &str,
        body: Value,
    ) -> Result<(u16, Vec<u8>), hob_net::NetError> {
        let request = Request::post(format!("{}{path}", reached.url), body.to_string())
            .header("content-type", "application/json")
            .head_timeout(HEAD_TIMEOUT);
        let answer = self.http.send(request).await?;
        let status = answer.status();
        let (body, _) = answer.bytes(IDLE_TIMEOUT, WAV_BYTES_MAX + 1).await?;
        Ok((status, body))
    }
}

fn tts_body(params: &SayParams) -> Value {
    let mut body = json!({ "text": params.text });
    if let Some(voice) = &params.voice {
        body["voice"] = json!(voice);
    }
    if let Some(speed) = params.speed {
        body["speed"] = json!(speed);
    }
    body
}

fn openai_body(params: &SayParams) -> Value {
    let mut body = json!({ "model": "tts-1", "input": params.text, "response_format": "wav" });
    // The field is required there.
    body["voice"] = json!(params.voice.as_deref().unwrap_or("alloy"));
    if let Some(speed) = params.speed {
        body["speed"] = json!(f64::from(speed) / 100.0);
    }
    body
}
