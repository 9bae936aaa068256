//! The OpenAI surface as its clients meet it: the official libraries, raw requests, and a real
//! language model behind it.

mod clients;
mod conversations;
mod kills;
mod local_model;

use crate::support::House;
use hob_sim::{Answer, Dialect, Gate, Sim, SimRequest};
use serde_json::{Value, json};
use std::io::Read;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What a prompt with our own tools in it may believably cost.
const WITH_TOOLS_TOKENS: u64 = 2_995;

/// A model that does as the user's last words say. `endless` never ends by itself.
fn model() -> Sim {
    let never = Gate::new();
    Sim::start(move |asked: &SimRequest| match asked.last_user() {
        "weather" => weather(asked),
        "json" => Answer::words(r#"{"city":"Paris"}"#),
        "refuse" => Answer::status(401),
        "endless" => Answer::tokens(40).held_after(20, &never),
        "think" => Answer::words("Five.").thinking("Two and three."),
        _ => {
            let tokens = if asked.tools.is_empty() {
                7
            } else {
                WITH_TOOLS_TOKENS
            };
            Answer::words("Hello from the model.").usage(tokens, 5)
        }
    })
}

/// Asks for two cities at once, then says what it was told.
fn weather(asked: &SimRequest) -> Answer {
    let told = asked.results_of_task();
    if told.is_empty() {
        let city = |name: &str| json!({ "city": name });
        let calls = [("get_weather", city("Bath")), ("get_weather", city("Rome"))];
        return Answer::default().calls(calls);
    }
    let told: Vec<&str> = told.iter().map(|result| result.text.as_str()).collect();
    Answer::words(format!("It is {}.", told.join(" and ")))
}

/// A house whose default model is the scripted one.
fn house_with(sim: &Sim) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!(
        "[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
    );
    House::builder().config(&config).start()
}

fn chat_token(house: &House) -> String {
    let line = ["token", "create", "--name", "client", "--scope", "chat"];
    house.hob(&line).success().trim().to_owned()
}

/// Where `cargo xtask test` puts what the tests need.
fn tools() -> PathBuf {
    let binary = Path::new(env!("CARGO_BIN_EXE_hob"));
    let target = binary.parent().and_then(Path::parent);
    target.expect("target/PROFILE/hob").join("tools")
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test stands outside every room and starts clients as a person would"
)]
fn program(name: &str) -> Command {
    Command::new(name)
}

/// Says that something could not be tried here; in CI that is a failure.
fn not_run(why: &str) {
    eprintln!("NOT RUN: {why}");
    let environment = hob_kit::host_environment::EnvVars::capture();
    assert!(environment.text("CI") != Some("true"), "not run: {why}");
}

/// Asks at `/v1` and leaves the answer to be read.
fn open(house: &House, token: &str, body: &Value) -> TcpStream {
    house.post("/v1/chat/completions", token, body)
}

/// The status and the body of an answer.
fn ask(house: &House, token: &str, body: &Value) -> (u16, String) {
    let mut text = String::new();
    let mut stream = open(house, token, body);
    stream.read_to_string(&mut text).expect("an answer");
    let (head, body) = text.split_once("\r\n\r\n").expect("a head");
    let status = head.split(' ').nth(1).and_then(|code| code.parse().ok());
    (status.expect("a status"), body.to_owned())
}

/// What a completion that is not streamed says.
fn answer(house: &House, token: &str, body: &Value) -> String {
    let (status, text) = ask(house, token, body);
    assert_eq!(status, 200, "{text}");
    let completion: Value = serde_json::from_str(&text).expect("JSON");
    let content = &completion["choices"][0]["message"]["content"];
    content.as_str().expect("words").to_owned()
}

fn says(words: &str) -> Value {
    json!([{ "role": "user", "content": words }])
}
