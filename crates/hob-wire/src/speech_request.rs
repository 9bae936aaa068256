//! The HTTP bodies of text-to-speech requests, in the simple form and in OpenAI's, and their
//! conversion to [`SpeechSayParams`]. The gateway and the speech service both use them.

use crate::rooms::speech::SpeechSayParams;
use serde::Deserialize;

/// The slowest speed, in percent of normal.
pub const SPEED_MIN: u16 = 25;
/// The fastest speed, in percent of normal.
pub const SPEED_MAX: u16 = 400;

/// The `Server` header with which hob's own speech endpoints answer `GET /health`, so that hob does
/// not take one of them for another program.
pub const SPEECH_SERVER: &str = "hob";

/// The body of `POST /tts`. Other fields (`temperature`, `cfg_weight`) are for other services and
/// are ignored.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct TtsBody {
    pub text: Option<String>,
    pub input: Option<String>,
    pub voice: Option<String>,
    /// The speed in percent of normal.
    pub speed: Option<f64>,
    pub service: Option<String>,
}

/// The body of `POST /v1/audio/speech`.
#[derive(Clone, Debug, Deserialize)]
pub struct SpeechBody {
    pub input: String,
    pub voice: Option<String>,
    /// The speed as a factor; 1 is normal.
    pub speed: Option<f64>,
    pub response_format: Option<String>,
}

/// The error is a sentence for people.
impl TryFrom<TtsBody> for SpeechSayParams {
    type Error = String;

    fn try_from(body: TtsBody) -> Result<Self, String> {
        let text = body.text.or(body.input);
        Ok(SpeechSayParams {
            text: text.ok_or("Send the text to speak as 'text'.")?,
            voice: body.voice,
            speed: body.speed.map(percent).transpose()?,
            service: body.service,
        })
    }
}

/// The error is a sentence for people.
impl TryFrom<SpeechBody> for SpeechSayParams {
    type Error = String;

    fn try_from(body: SpeechBody) -> Result<Self, String> {
        if let Some(format) = body.response_format.filter(|format| format != "wav") {
            let format: String = format.chars().take(16).collect();
            return Err(format!(
                "The format '{format}' is not supported; use 'wav'."
            ));
        }
        let speed = body.speed.map(|factor| percent(factor * 100.0));
        Ok(SpeechSayParams {
            text: body.input,
            voice: body.voice,
            speed: speed.transpose()?,
            service: None,
        })
    }
}

impl SpeechSayParams {
    /// Checks the text, which may have at most `chars_max` characters, and the speed.
    pub fn check(&self, chars_max: usize) -> Result<(), String> {
        if self.text.trim().is_empty() {
            return Err("There is nothing to say: the text is empty.".to_owned());
        }
        if self.text.chars().count() > chars_max {
            return Err(format!(
                "The text is longer than {chars_max} characters; send it in pieces."
            ));
        }
        self.speed
            .map_or(Ok(()), |speed| percent(f64::from(speed)).map(drop))
    }
}

fn percent(speed: f64) -> Result<u16, String> {
    if !(f64::from(SPEED_MIN)..=f64::from(SPEED_MAX)).contains(&speed) {
        return Err(format!(
            "The speed must be {SPEED_MIN} to {SPEED_MAX} percent of normal."
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range 25 to 400 is checked above"
    )]
    let percent = speed.round() as u16;
    Ok(percent)
}

#[cfg(test)]
#[path = "speech_request_tests.rs"]
mod tests;
