//! `hob session` and `hob rpc` against a daemon: what is printed, what is exported, how it fails.

use crate::support::House;
use serde_json::{Value, json};

fn document(house: &House, line: &[&str]) -> Value {
    let text = house.hob(&[&["--json"], line].concat()).success();
    assert_eq!(text.lines().count(), 1, "one document on one line: {text}");
    serde_json::from_str(&text).expect("JSON")
}

#[test]
fn a_conversation_from_its_first_word_to_its_end() {
    let house = House::start();
    let created = document(
        &house,
        &["session", "create", "chat:main", "--kind", "main"],
    );
    assert_eq!(created["created"], true);
    assert_eq!(
        document(&house, &["session", "create", "chat:main"])["created"],
        false
    );
    let sent = document(&house, &["session", "send", "chat:main", "Good morning"]);
    assert_eq!(sent["seq"], 1);
    let line = ["session", "send", "chat:main", "-", "--role", "assistant"];
    house.hob_with_input(&line, "Two\nlines\n").success();
    let history = house.hob(&["session", "history", "chat:main"]).success();
    for words in ["you", "  Good morning", "hob", "  Two\n  lines"] {
        assert!(history.contains(words), "{history}");
    }
    house
        .hob(&["session", "label", "chat:main", "Mornings"])
        .success();
    let list = house.hob(&["session", "list"]).success();
    assert!(
        list.contains("chat:main") && list.contains("Mornings"),
        "{list}"
    );
    let line = [
        "session",
        "fork",
        "chat:main",
        "--at",
        "1",
        "--new-key",
        "chat:b",
    ];
    let forked = document(&house, &line);
    assert_eq!(forked["copied"], 1);
    assert_eq!(forked["label"], "Mornings (fork)");
    let again = house.hob(&line).success();
    assert!(again.contains("chat:b is this fork already"), "{again}");
    let refused = house.hob(&["session", "fork", "chat:none"]);
    assert_eq!(refused.code, Some(5), "{}", refused.stderr);
    let line = ["session", "draft", "chat:main"];
    assert_eq!(house.hob(&line).success(), "No draft.\n");
    house
        .hob(&["session", "draft", "chat:main", "Half a"])
        .success();
    assert_eq!(house.hob(&line).success(), "Half a\n");
    house.hob(&["session", "draft", "chat:main", ""]).success();
    assert_eq!(document(&house, &line), json!({ "draft": "" }));
    let deleted = document(&house, &["session", "delete", "chat:main"]);
    assert_eq!(deleted["messages"], 2);
    let gone = house.hob(&["session", "get", "chat:main"]);
    assert_eq!(gone.code, Some(5));
    assert!(gone.stderr.contains("hob session list"), "{}", gone.stderr);
}

#[test]
fn an_export_is_every_message_on_a_line_whatever_the_page() {
    let house = House::start();
    house.hob(&["session", "create", "k"]).success();
    let parts = json!([{ "type": "text", "text": "rich" }]);
    for number in 1..=5 {
        let content = if number == 3 {
            parts.clone()
        } else {
            json!(format!("m{number}"))
        };
        let params = json!({ "sessionKey": "k", "content": content }).to_string();
        house.hob(&["rpc", "session.send", &params]).success();
    }
    let export = house
        .hob(&["session", "export", "k", "--limit", "2"])
        .success();
    let lines: Vec<Value> = export
        .lines()
        .map(|line| serde_json::from_str(line).expect("a JSON line"))
        .collect();
    assert_eq!(lines.len(), 5, "{export}");
    for (index, line) in lines.iter().enumerate() {
        let names: Vec<&String> = line.as_object().expect("an object").keys().collect();
        assert_eq!(names, ["id", "seq", "role", "content", "at"]);
        assert_eq!(line["seq"], index + 1);
    }
    assert_eq!(lines[0]["content"], "m1");
    assert_eq!(lines[2]["content"], parts);
    let rest = house
        .hob(&["session", "export", "k", "--after", "4", "--json"])
        .success();
    assert_eq!(rest.lines().count(), 1, "{rest}");
}

#[test]
fn params_come_from_the_line_from_stdin_or_from_a_file() {
    let house = House::start();
    let params = r#"{"sessionKey":"k"}"#;
    house.hob(&["rpc", "session.create", params]).success();
    house
        .hob_with_input(&["rpc", "session.get", "-"], params)
        .success();
    let file = house.home().join("params.json");
    std::fs::write(&file, params).expect("writable");
    let source = format!("@{}", file.display());
    let pretty = house.hob(&["rpc", "session.get", &source]).success();
    assert!(pretty.contains("\"sessionKey\": \"k\""), "{pretty}");
    let nonsense = house.hob(&["rpc", "session.get", "{sessionKey: k}"]);
    assert_eq!(nonsense.code, Some(2));
    let unknown = house.hob(&["rpc", "no.method"]);
    assert_eq!(unknown.code, Some(5), "{unknown:?}");
    let unfit = house.hob(&["rpc", "session.get", "{}"]);
    assert_eq!(unfit.code, Some(2), "{unfit:?}");
}

#[test]
fn a_token_without_the_scope_is_denied_and_a_wrong_one_refused() {
    let house = House::start();
    let line = ["token", "create", "--name", "eyes", "--scope", "read"];
    let token = house.hob(&line).success();
    let with_token = |token: &str, line: &[&str]| {
        let mut command = house.command(line);
        let output = command
            .env("HOB_TOKEN", token.trim())
            .output()
            .expect("hob runs");
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    assert_eq!(with_token(&token, &["session", "list"]).0, Some(0));
    let (code, said) = with_token(&token, &["session", "create", "k"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("chat"), "the missing scope is named: {said}");
    let (code, said) = with_token("hob_00000000_0", &["session", "list"]);
    assert_eq!(code, Some(3), "{said}");
    house.hob(&["token", "revoke", "eyes"]).success();
    assert_eq!(with_token(&token, &["session", "list"]).0, Some(3));
}

#[test]
fn a_daemon_elsewhere_is_reached_by_its_url() {
    let house = House::start();
    let url = format!("ws://{}/ws", house.address());
    let elsewhere = House::builder()
        .env("HOB_URL", &url)
        .env("HOB_TOKEN", &house.token())
        .build();
    elsewhere.hob(&["session", "create", "from-afar"]).success();
    let list = house.hob(&["session", "list"]).success();
    assert!(list.contains("from-afar"), "{list}");
}

#[test]
fn a_trace_shows_the_request_it_marks() {
    let house = House::start();
    house
        .hob(&["rpc", "session.list", "--trace", "morning"])
        .success();
    let trace = document(&house, &["trace", "morning"]);
    assert_eq!(trace["spans"][0]["method"], "session.list");
    let drawn = house.hob(&["gateway", "trace", "morning"]).success();
    assert!(drawn.contains("session.list"), "{drawn}");
}
