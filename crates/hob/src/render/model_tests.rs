//! Models, aliases and tests as lines.

use super::*;
use serde_json::{Value, json};

fn drawn(method: &str, result: &Value) -> String {
    crate::render::result(method, result, &ScreenStyle::plain(0)).join("\n")
}

#[test]
fn models_are_a_table_with_what_could_not_be_asked_below() {
    let result = json!({
        "models": [
            { "id": "lab/big", "provider": "lab", "name": "big", "contextTokens": 200_000,
              "price": { "input": 3_000_000, "output": 15_000_000 } },
            { "id": "lab/small", "provider": "lab", "name": "small", "contextTokens": 1_048_576,
              "price": { "input": 75_000, "output": 0 } },
            { "id": "lab/odd\u{1b}", "provider": "lab", "name": "odd" },
        ],
        "providers": [
            { "name": "lab", "kind": "openai", "url": "http://x", "ready": true },
            { "name": "dead", "kind": "openai", "url": "http://y", "ready": false,
              "message": "dead: nobody answers." },
        ],
        "aliases": [
            { "alias": "default", "models": ["lab/big", "lab/small"] },
            { "alias": "fast", "models": [] },
        ],
    });
    let lines: Vec<String> = drawn("model.list", &result)
        .lines()
        .map(str::to_owned)
        .collect();
    assert_eq!(
        lines,
        [
            "MODEL          WINDOW  $/M IN  $/M OUT  ALIAS",
            "lab/big          200k    3.00    15.00  default",
            "lab/small          1M   0.075     0.00  default",
            "lab/odd\\u{1b}       ?       ?        ?",
            "",
            "default  lab/big, then lab/small",
            "",
            "dead: nobody answers.",
        ]
    );
}

#[test]
fn without_a_provider_the_next_step_is_told() {
    let result = json!({ "models": [], "providers": [], "aliases": [] });
    assert!(drawn("model.list", &result).contains("hob model add"));
}

#[test]
fn a_test_is_one_clear_sentence() {
    let good = json!({ "model": "lab/big", "ok": true, "message": "ready",
        "firstTokenMs": 420, "totalMs": 1_250 });
    assert_eq!(
        drawn("model.test", &good),
        "lab/big answered \"ready\" in 1.2 s, the first word after 420 ms."
    );
    let bad = json!({ "model": "lab/big", "ok": false, "message": "lab: The key is wrong.",
        "firstTokenMs": null, "totalMs": 9 });
    assert_eq!(
        drawn("model.test", &bad),
        "lab/big did not answer: lab: The key is wrong."
    );
}

#[test]
fn changes_are_told_in_a_sentence() {
    let alias = json!({ "alias": "fast", "models": ["a/b", "c/d"] });
    assert_eq!(drawn("model.set", &alias), "fast is now a/b, then c/d.");
    let removed = json!({ "name": "lab" });
    assert_eq!(drawn("model.remove", &removed), "Removed lab.");
}

#[test]
fn a_local_service_says_whether_it_runs() {
    let result = json!({
        "models": [
            { "id": "llm/tiny", "provider": "llm", "name": "tiny",
              "price": { "input": 0, "output": 0 } },
        ],
        "providers": [
            { "name": "llm", "kind": "openai", "url": "", "ready": true,
              "service": { "role": "llm", "running": false, "model": "tiny", "modest": true } },
            { "name": "vlm", "kind": "openai", "url": "", "ready": true,
              "service": { "role": "vlm", "running": true, "modest": false } },
        ],
        "aliases": [{ "alias": "default", "models": ["llm/tiny"] }],
    });
    let drawn = drawn("model.list", &result);
    for line in [
        "llm is a service of this machine, a small one: it starts when it is asked.",
        "vlm is a service of this machine: it runs.",
    ] {
        assert!(drawn.lines().any(|it| it == line), "{drawn}");
    }
}
