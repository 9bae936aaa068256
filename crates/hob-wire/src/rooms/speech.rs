//! `speech.*`: text to speech, by a service with the role `tts`.

use crate::method::{CliExposure, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "speech";
    /// Converts a text to speech. Starts the service if needed.
    Say = "speech.say" {
        params: SpeechSayParams, result: SpeechSayResult, scope: Chat, effect: Pure,
        cli: CliExposure::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpeechSayParams {
    /// At most `SPEECH_CHARS_MAX` characters. Send longer texts in pieces.
    pub text: String,
    /// A voice the service knows, such as `en`, `de` or `en-us+f3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// The speed in percent of normal: 25 to 400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u16>,
    /// The service to use; the first suitable one when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpeechSayResult {
    /// A WAV file in base64.
    pub wav: String,
    pub duration_ms: u64,
    /// The service that was used.
    pub service: String,
}
