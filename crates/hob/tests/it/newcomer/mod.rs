//! A newcomer: an empty home, a terminal, and the choice of a first model. The provider is scripted,
//! and so is the model server of the same user.

mod branches;
mod interrupts;
mod keys;
mod pull;
mod terminal_ui;
mod unasked;

use crate::services::without_model;
use crate::support::{House, HouseBuilder};
use hob_sim::{Answer, Dialect, Sim, SimParts};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// The only key that the scripted provider takes.
const KEY: &str = "right-key-0123456789";
/// A key that it refuses.
const WRONG_KEY: &str = "wrong-key-9876543210";

/// A provider that takes one key.
fn provider() -> Sim {
    let parts = SimParts {
        key: Some(KEY.to_owned()),
        ..SimParts::default()
    };
    Sim::with(parts, |_| Answer::words("Good morning to you.")).expect("a port")
}

/// An empty home that looks for model servers only at these addresses, and where `anthropic` is the
/// scripted provider. Its Python can plan the demo and not fetch it.
fn newcomer(sim: &Sim, servers: &[String]) -> (tempfile::TempDir, House) {
    let url = sim.url(Dialect::Anthropic);
    let text = format!(
        "[llm]\nservers = {servers:?}\n[models.anthropic]\nurl = \"{url}\"\nkey_env = \"ANTHROPIC_API_KEY\"\n"
    );
    let (bin, builder) = python();
    (bin, builder.config(&text).start())
}

/// A builder whose Python has a pip that fails.
fn python() -> (tempfile::TempDir, HouseBuilder) {
    without_model("echo 'ERROR: no network' >&2; exit 1")
}

/// The answer to `onboard.options`.
fn options(house: &House) -> Value {
    let text = house.hob(&["onboard", "--json"]).success();
    serde_json::from_str(&text).expect("one document")
}

/// The ids of the options.
fn ids(house: &House) -> Vec<String> {
    let found = options(house);
    let options = found["options"].as_array().expect("a list");
    let ids = options.iter().map(|it| it["id"].as_str().expect("an id"));
    ids.map(str::to_owned).collect()
}

/// The key that chooses an option. Which local models are offered depends on the machine.
pub(crate) fn number_of(house: &House, id: &str) -> String {
    let ids = ids(house);
    let at = ids.iter().position(|it| it == id);
    let at = at.unwrap_or_else(|| panic!("no {id} in {ids:?}"));
    (at + 1).to_string()
}

/// Nothing was chosen, kept or changed.
fn assert_untouched(house: &House) {
    let found = options(house);
    assert_eq!(found["offer"], true, "{found}");
    assert!(!house.home().join("keys").exists());
    let config = std::fs::read_to_string(house.home().join("config.toml")).expect("a config");
    assert!(!config.contains("onboard"), "{config}");
    assert!(!house.home().join("services/llm/installed").exists());
}

/// A model server that says what it is as Ollama does, and answers every question with `answer`. It
/// ends with the test.
fn ollama(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound").to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(stream, answer));
        }
    });
    address
}

fn serve(mut stream: TcpStream, answer: &str) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let mut first = String::new();
    let _ = reader.read_line(&mut first);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) <= 2 {
            break;
        }
        if let Some(value) = line.to_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    let _ = reader.read_exact(&mut body);
    let body = match first.split_whitespace().nth(1) {
        Some("/v1/models") => {
            r#"{"data":[{"id":"llama3:8b","owned_by":"library"},{"id":"qwen3:4b","owned_by":"library"}]}"#
                .to_owned()
        }
        Some("/api/version") => r#"{"version":"0.12.0"}"#.to_owned(),
        Some("/v1/chat/completions") => completion(answer),
        _ => "{}".to_owned(),
    };
    let kind = if body.starts_with("data:") {
        "text/event-stream"
    } else {
        "application/json"
    };
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

/// The answer as a stream of chat completions, a few letters each.
fn completion(answer: &str) -> String {
    let letters: Vec<char> = answer.chars().collect();
    let pieces = letters.chunks(7).map(|piece| {
        let text: String = piece.iter().collect();
        let choice = serde_json::json!({ "index": 0, "delta": { "content": text } });
        format!("data: {}\n\n", serde_json::json!({ "choices": [choice] }))
    });
    let mut body: String = pieces.collect();
    body.push_str(
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n",
    );
    body.push_str("data: [DONE]\n\n");
    body
}
