//! The two forms in which speech is asked for over HTTP, AgentLoop's and OpenAI's, and what either
//! means. The gateway and the service behind it read the same.

use crate::rooms::speech::SayParams;
use serde::Deserialize;

/// In percent of the ordinary.
pub const SPEED_MIN: u16 = 25;
pub const SPEED_MAX: u16 = 400;

/// The body of `POST /tts`. What else it may hold (`temperature`, `cfg_weight`) is for services
/// that know more.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct TtsBody {
    pub text: Option<String>,
    pub input: Option<String>,
    pub voice: Option<String>,
    /// In percent of the ordinary.
    pub speed: Option<f64>,
    pub service: Option<String>,
}

/// The body of `POST /v1/audio/speech`.
#[derive(Clone, Debug, Deserialize)]
pub struct SpeechBody {
    pub input: String,
    pub voice: Option<String>,
    /// A factor, 1 being the ordinary.
    pub speed: Option<f64>,
    pub response_format: Option<String>,
}

/// An error is what is wrong, in a sentence.
impl TryFrom<TtsBody> for SayParams {
    type Error = String;

    fn try_from(body: TtsBody) -> Result<Self, String> {
        let text = body.text.or(body.input);
        Ok(SayParams {
            text: text.ok_or("Send the words as 'text'.")?,
            voice: body.voice,
            speed: body.speed.map(percent).transpose()?,
            service: body.service,
        })
    }
}

/// An error is what is wrong, in a sentence.
impl TryFrom<SpeechBody> for SayParams {
    type Error = String;

    fn try_from(body: SpeechBody) -> Result<Self, String> {
        if let Some(format) = body.response_format.filter(|format| format != "wav") {
            let format: String = format.chars().take(16).collect();
            return Err(format!(
                "The format '{format}' is not made here; ask for 'wav'."
            ));
        }
        let speed = body.speed.map(|factor| percent(factor * 100.0));
        Ok(SayParams {
            text: body.input,
            voice: body.voice,
            speed: speed.transpose()?,
            service: None,
        })
    }
}

impl SayParams {
    /// Whether it can be spoken, with a text of at most so many letters.
    pub fn check(&self, chars_max: usize) -> Result<(), String> {
        if self.text.trim().is_empty() {
            return Err("There is nothing to say: the text is empty.".to_owned());
        }
        if self.text.chars().count() > chars_max {
            return Err(format!(
                "A text has at most {chars_max} letters; send it in pieces."
            ));
        }
        self.speed
            .map_or(Ok(()), |speed| percent(f64::from(speed)).map(drop))
    }
}

fn percent(speed: f64) -> Result<u16, String> {
    if !(f64::from(SPEED_MIN)..=f64::from(SPEED_MAX)).contains(&speed) {
        return Err(format!(
            "The speed is {SPEED_MIN} to {SPEED_MAX} percent of the ordinary."
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it was checked to lie between 25 and 400"
    )]
    let percent = speed.round() as u16;
    Ok(percent)
}

#[cfg(test)]
#[path = "spoken_tests.rs"]
mod tests;
