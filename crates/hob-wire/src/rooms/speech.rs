//! `speech.*`: words spoken aloud by a service of the role `tts`.

use crate::method::{Cli, methods};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

methods! { "speech";
    /// Speaks a text. The service is started if it does not run.
    Say = "speech.say" {
        params: SayParams, result: Spoken, scope: Chat, effect: Pure,
        cli: Cli::Hidden,
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SayParams {
    /// At most `SPEECH_CHARS_MAX` letters; longer texts are spoken in pieces.
    pub text: String,
    /// A voice the service knows, such as `en`, `de` or `en-us+f3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub voice: Option<String>,
    /// How fast, in percent of the ordinary: 25 to 400.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed: Option<u16>,
    /// The service that speaks; the first that can when missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Spoken {
    /// A WAV file, in base64.
    pub wav: String,
    pub duration_ms: u64,
    /// The service that spoke.
    pub service: String,
}
