//! Lists of models, keys, and paths nobody serves.

use crate::wire::{get, post, simple};
use hob_sim::{Answer, Dialect, Sim, SimParts};

#[test]
fn each_dialect_lists_its_models() {
    let sim = Sim::start(|_| Answer::words("hi"));
    let openai = get(&sim, "/v1/models", "").json();
    assert_eq!(openai["object"], "list");
    assert_eq!(openai["data"][0]["id"], "sim-small");
    assert_eq!(openai["data"][1]["id"], "sim-large");
    let anthropic = get(&sim, "/v1/models", "anthropic-version: 2023-06-01\r\n").json();
    assert_eq!(anthropic["data"][1]["type"], "model");
    assert_eq!(anthropic["last_id"], "sim-large");
    let gemini = get(&sim, "/v1beta/models", "").json();
    assert_eq!(gemini["models"][0]["name"], "models/sim-small");
    assert_eq!(
        get(&sim, "/v1/models/sim-large", "").json()["id"],
        "sim-large"
    );
    assert_eq!(get(&sim, "/v1/models/nobody", "").status, 404);
    assert_eq!(get(&sim, "/v2/models", "").status, 404);
    let gemini = get(&sim, "/v1/models", "x-goog-api-key: k\r\n").json();
    assert_eq!(gemini["models"][1]["name"], "models/sim-large");
    let body = simple(Dialect::Gemini, false);
    let either = ["v1", "v1beta"].map(|version| {
        let path = format!("/{version}/models/g:generateContent");
        post(&sim, &path, &body).json()
    });
    assert_eq!(either[0], either[1]);
    assert!(either[0]["candidates"].is_array());
}

#[test]
fn a_wrong_key_is_refused() {
    let parts = SimParts {
        key: Some("right".to_owned()),
        ..SimParts::default()
    };
    let sim = Sim::with(parts, |_| Answer::words("hi")).expect("started");
    let none = post(
        &sim,
        "/v1/chat/completions",
        &simple(Dialect::OpenaiChat, true),
    );
    assert_eq!(none.status, 401);
    assert_eq!(none.json()["error"]["code"], "invalid_api_key");
    let bearer = |key: &str| format!("authorization: Bearer {key}\r\n");
    assert_eq!(get(&sim, "/v1/models", &bearer("wrong")).status, 401);
    assert_eq!(get(&sim, "/v1/models", &bearer("right")).status, 200);
    let anthropic = |key: &str| format!("anthropic-version: 1\r\nx-api-key: {key}\r\n");
    let refused = get(&sim, "/v1/models", &anthropic("wrong"));
    assert_eq!(refused.json()["error"]["type"], "authentication_error");
    assert_eq!(get(&sim, "/v1/models", &anthropic("right")).status, 200);
    assert_eq!(
        get(&sim, "/v1beta/models", "x-goog-api-key: wrong\r\n").status,
        400
    );
    assert_eq!(
        get(&sim, "/v1beta/models", "x-goog-api-key: right\r\n").status,
        200
    );
    assert_eq!(get(&sim, "/v1beta/models?key=right", "").status, 200);
}
