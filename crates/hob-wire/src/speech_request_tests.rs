//! The conversion of each body, and refused requests.

use super::{SpeechBody, TtsBody};
use crate::rooms::speech::SpeechSayParams;
use serde_json::{Value, json};

fn tts(body: Value) -> Result<SpeechSayParams, String> {
    serde_json::from_value::<TtsBody>(body).unwrap().try_into()
}

fn speech(body: Value) -> Result<SpeechSayParams, String> {
    serde_json::from_value::<SpeechBody>(body)
        .unwrap()
        .try_into()
}

#[test]
fn both_forms_mean_the_same() {
    let theirs = tts(json!({ "input": "Hi", "voice": "de", "speed": 150, "cfg_weight": 1 }));
    let openais = speech(json!({ "input": "Hi", "voice": "de", "speed": 1.5, "model": "tts-1" }));
    for params in [theirs.unwrap(), openais.unwrap()] {
        assert_eq!((params.text.as_str(), params.speed), ("Hi", Some(150)));
        assert_eq!(params.voice.as_deref(), Some("de"));
        assert_eq!(params.check(2), Ok(()));
        assert!(
            params
                .check(1)
                .unwrap_err()
                .contains("longer than 1 characters")
        );
    }
    assert_eq!(tts(json!({ "text": "a", "input": "b" })).unwrap().text, "a");
}

#[test]
fn what_cannot_be_spoken_is_said() {
    for (refused, why) in [
        (tts(json!({})), "'text'"),
        (tts(json!({ "text": "a", "speed": 24 })), "25 to 400"),
        (speech(json!({ "input": "a", "speed": 4.1 })), "25 to 400"),
        (
            speech(json!({ "input": "a", "response_format": "mp3" })),
            "'mp3'",
        ),
    ] {
        assert!(refused.unwrap_err().contains(why), "{why}");
    }
    let empty = tts(json!({ "text": " \n" })).unwrap();
    assert!(empty.check(9).unwrap_err().contains("nothing to say"));
    let fast = SpeechSayParams {
        text: "a".to_owned(),
        speed: Some(401),
        ..SpeechSayParams::default()
    };
    assert!(fast.check(9).unwrap_err().contains("25 to 400"));
}
