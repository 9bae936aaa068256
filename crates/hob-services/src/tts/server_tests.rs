//! Requests for speech in both forms, and refusals.

use super::{Refusal, SpeechBody, TtsBody};
use crate::tts::speaker::Order;
use serde_json::{Value, json};

fn tts(body: Value) -> Result<Order, String> {
    let body: TtsBody = serde_json::from_value(body).map_err(|error| error.to_string())?;
    body.order().map_err(|Refusal(_, why)| why)
}

fn openai(body: Value) -> Result<Order, String> {
    let body: SpeechBody = serde_json::from_value(body).map_err(|error| error.to_string())?;
    body.order().map_err(|Refusal(_, why)| why)
}

#[test]
fn both_forms_say_the_same() {
    let order = Order {
        text: "Hi".to_owned(),
        voice: Some("de".to_owned()),
        speed: 150,
    };
    let told =
        json!({ "text": "Hi", "voice": "de", "speed": 150, "exaggeration": 0.5, "model": "m" });
    assert_eq!(tts(told), Ok(order.clone()));
    assert_eq!(
        tts(json!({ "input": "Hi", "voice": "de", "speed": 150 })),
        Ok(order.clone())
    );
    let told = json!({ "input": "Hi", "voice": "de", "speed": 1.5, "response_format": "wav", "model": "m" });
    assert_eq!(openai(told), Ok(order));
    assert_eq!(openai(json!({ "input": "Hi" })).unwrap().speed, 100);
}

#[test]
fn what_is_wrong_is_said() {
    let long = "x".repeat(1_001);
    for (body, why) in [
        (json!({}), "'text'"),
        (json!({ "text": " \n" }), "empty"),
        (json!({ "text": long }), "1000"),
        (json!({ "text": "x", "speed": 24 }), "25 to 400"),
        (json!({ "text": "x", "speed": 1e9 }), "25 to 400"),
    ] {
        let refused = tts(body).unwrap_err();
        assert!(refused.contains(why), "{refused}");
    }
    let refused = openai(json!({ "input": "x", "response_format": "mp3" })).unwrap_err();
    assert!(
        refused.contains("'mp3'") && refused.contains("wav"),
        "{refused}"
    );
    assert!(openai(json!({ "input": "x", "speed": 0.1 })).is_err());
}
