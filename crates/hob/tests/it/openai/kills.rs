//! A streamed answer with a tool while the daemon is killed: what the client got is the beginning of
//! what is stored, nothing twice and nothing missing.

use super::{Sim, chat_token, house_with, open, says};
use crate::support::{House, RandomKills, wait_until};
use hob_sim::Answer;
use serde_json::{Value, json};
use std::io::Read;
use std::time::Duration;

/// Kills of one test.
const KILLS: u64 = 5;
/// About as long as an answer takes.
const ANSWER_MS: u64 = 900;

/// What the client got of a stream, and whether it was whole.
fn received(mut stream: std::net::TcpStream) -> (String, bool) {
    let mut bytes = Vec::new();
    // A killed daemon ends the connection, perhaps not in order.
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let mut content = String::new();
    for line in text.split_inclusive('\n') {
        let Some(data) = line.strip_prefix("data: ").filter(|it| it.ends_with('\n')) else {
            continue;
        };
        if let Ok(chunk) = serde_json::from_str::<Value>(data.trim_end()) {
            assert!(chunk["error"].is_null(), "{chunk}");
            content += chunk["choices"][0]["delta"]["content"]
                .as_str()
                .unwrap_or_default();
        }
    }
    (content, text.contains("data: [DONE]"))
}

/// The texts of the session's answers.
fn stored(house: &House, session: &str) -> String {
    let params = json!({ "sessionKey": session }).to_string();
    let page = house
        .hob(&["--json", "rpc", "session.history", &params])
        .success();
    let page: Value = serde_json::from_str(&page).expect("JSON");
    let messages = page["messages"].as_array().expect("messages").iter();
    let answers = messages.filter(|message| message["role"] == "assistant");
    let texts = answers.flat_map(|message| match &message["content"] {
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str().map(str::to_owned))
            .collect(),
        content => vec![content.as_str().unwrap_or_default().to_owned()],
    });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[test]
fn what_a_killed_daemon_streamed_is_the_beginning_of_what_is_stored() {
    let long = (1..40).map(|number| format!("- point {number}: h\u{e9}, \u{20ac}\n"));
    let long = format!(
        "# Answer\n\n{}\n```\ncode\n```\nend",
        long.collect::<String>()
    );
    let whole = format!("Let me look.\n\n{long}");
    let sim = Sim::start(move |asked| match asked.results_of_task().first() {
        None => Answer::words("Let me look.")
            .call("time", json!({}))
            .pace(1, Duration::from_millis(20)),
        Some(_) => Answer::words(long.clone()).pace(2, Duration::from_millis(5)),
    });
    let mut house = house_with(&sim);
    let token = chat_token(&house);
    let kills = RandomKills::new(KILLS);
    for number in 0..=kills.count {
        let session = format!("killed-{number}");
        let body = json!({
            "model": "sim/one", "messages": says("what time is it?"), "stream": true,
            "metadata": { "session": session },
        });
        let client = open(&house, &token, &body);
        let reader = std::thread::spawn(move || received(client));
        // The last one is left in peace.
        let is_killed = number < kills.count;
        if is_killed {
            kills.kill(&mut house, ANSWER_MS);
        }
        let (content, is_done) = reader.join().expect("it only reads");
        if is_killed {
            house.start_daemon();
        }
        assert!(is_done || is_killed);
        let select = json!({ "sessionKey": session }).to_string();
        wait_until("the run has ended", || {
            let status = house.hob(&["--json", "rpc", "agent.status", &select]);
            // Killed before the run was accepted.
            let is_unknown = status.code != Some(0) && content.is_empty();
            let status = serde_json::from_str::<Value>(&status.stdout).unwrap_or_default();
            is_unknown || status["state"] == "done"
        });
        let text = stored_or_none(&house, &session);
        assert!(text.is_empty() || text == whole, "{text}");
        assert!(text.starts_with(&content), "{content:?} of {text:?}");
        assert!(!is_done || content == whole, "{content}");
    }
}

/// What is stored; nothing if the daemon was killed before the session was made.
fn stored_or_none(house: &House, session: &str) -> String {
    let params = json!({ "sessionKey": session }).to_string();
    let found = house.hob(&["--json", "rpc", "session.get", &params]);
    if found.code == Some(0) {
        stored(house, session)
    } else {
        String::new()
    }
}
