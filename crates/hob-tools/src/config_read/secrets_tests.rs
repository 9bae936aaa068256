//! A table of settings and their redacted values.

use super::{HIDDEN, redact};
use hob_kit::mask::SecretMask;
use serde_json::{Value, json};

fn told(name: &str, value: &Value) -> Value {
    let mask = SecretMask::new();
    mask.add("canary-1");
    redact(name, value, &mask)
}

#[test]
fn a_name_that_speaks_of_a_secret_hides_the_value() {
    for name in [
        "models.lab.key",
        "models.lab.api_key",
        "models.lab.APIKEY",
        "channel.telegram.token",
        "mail.password",
        "mail.passwd",
        "hook.secret",
        "hook.auth",
        "cloud.credentials",
        "sync.keys",
    ] {
        assert_eq!(told(name, &json!("x")), HIDDEN, "{name}");
        assert_eq!(told(name, &json!(["x"])), HIDDEN, "{name}");
    }
}

#[test]
fn what_only_sounds_like_one_is_told() {
    let plain = [
        ("agent.tokens", json!(1_000_000)),
        ("models.lab.context_tokens", json!(8_192)),
        ("models.lab.key_env", json!("LAB_KEY")),
        ("keyboard.layout", json!("de")),
        ("model.default", json!(["lab/small", "lab/large"])),
        ("models.lab.url", json!("http://127.0.0.1:8080/v1")),
    ];
    for (name, value) in plain {
        assert_eq!(told(name, &value), value, "{name}");
    }
}

#[test]
fn a_key_in_the_wrong_place_is_not_told() {
    assert_eq!(told("models.lab.key_env", &json!("abcDEF-123")), HIDDEN);
    assert_eq!(
        told("model.default", &json!(["lab/canary-1"])),
        json!(["lab/[masked]"])
    );
    assert_eq!(told("any.table", &json!({ "a": "b" })), HIDDEN);
}

#[test]
fn an_address_is_told_without_its_credentials() {
    for (address, expected) in [
        ("http://me:pw@host/v1", "http://[masked]@host/v1"),
        ("http://me:p@w@host/v1", "http://[masked]@host/v1"),
        ("http://me:p/w@host/v1", "http://[masked]@host/v1"),
        ("http://host/v1?k=pw", "http://host/v1?[masked]"),
        ("http://host/v1?k=p@w", "http://host/v1?[masked]"),
    ] {
        assert_eq!(told("models.lab.url", &json!(address)), expected);
    }
}
