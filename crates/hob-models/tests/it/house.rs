//! A book whose only provider is the scripted server.

use hob_kit::clock::Clock;
use hob_kit::mask::Mask;
use hob_kit::settings::{Catalog, Settings};
use hob_kit::world::Env;
use hob_models::{
    Book, Candidate, EnvKeys, KEYS, ModelError, NoServices, Piece, Prompt, PromptMessage, Reply,
    Sources, ToolWord,
};
use hob_net::{Http, NetParts};
use hob_sim::{Dialect, Sim};
use hob_wire::content::{Part, Role, ToolCall, ToolResult};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;

/// A key that must appear nowhere.
pub(crate) const CANARY: &str = "canary-key-9f8e7d6c5b4a";

/// Longer than anything here should take, on any machine.
pub(crate) const LONG: Duration = Duration::from_mins(2);

pub(crate) fn kind(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::OpenaiChat => "openai",
        Dialect::OpenaiResponses => "openai-responses",
        Dialect::Anthropic => "anthropic",
        Dialect::Gemini => "gemini",
    }
}

/// The book of a config file.
pub(crate) fn book(config: &str, env: &[(&str, &str)]) -> Book {
    let catalog = Arc::new(Catalog::new(&[KEYS]));
    let env = Env::from_pairs(env.iter().copied());
    let settings = Settings::load(&catalog, "config.toml", config, &env).expect("loads");
    let http = Http::new(NetParts::new(Clock::system())).expect("starts");
    Book::new(
        &settings,
        Sources {
            http,
            keys: Arc::new(EnvKeys::new(env, Mask::new())),
            services: Arc::new(NoServices),
            served: Arc::default(),
        },
    )
}

/// A book with the server as the provider `sim`, and more lines for the config.
pub(crate) fn sim_book(sim: &Sim, dialect: Dialect, more: &str) -> Book {
    let config = format!(
        "{more}\n[models.sim]\nkind = \"{}\"\nurl = \"{}\"\nkey_env = \"SIM_KEY\"\n",
        kind(dialect),
        sim.url(dialect)
    );
    book(&config, &[("SIM_KEY", CANARY)])
}

/// The server's model.
pub(crate) fn candidate(sim: &Sim, dialect: Dialect) -> Candidate {
    named(sim, dialect, "sim-large", "")
}

pub(crate) fn named(sim: &Sim, dialect: Dialect, model: &str, more: &str) -> Candidate {
    let book = sim_book(sim, dialect, more);
    let wanted = format!("sim/{model}");
    let mut found = book.resolve(Some(&wanted)).expect("resolves");
    found.remove(0)
}

/// Asks, and gives the pieces with the answer.
pub(crate) async fn ask(
    candidate: &Candidate,
    prompt: &Prompt,
) -> (Vec<Piece>, Result<Reply, ModelError>) {
    let mut pieces = Vec::new();
    let mut on = |piece: Piece| pieces.push(piece);
    let asked = candidate.ask(prompt, &mut on);
    let answered = tokio::time::timeout(LONG, asked).await;
    (pieces, answered.expect("ends in time"))
}

pub(crate) fn user(text: &str) -> Prompt {
    Prompt {
        system: vec!["You are hob.".into()],
        messages: vec![PromptMessage::text(Role::User, text)],
        tools: vec![tool("read"), tool("time")],
        ..Prompt::default()
    }
}

pub(crate) fn tool(name: &str) -> ToolWord {
    ToolWord {
        name: name.into(),
        description: format!("The tool {name}."),
        parameters: json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
        }),
    }
}

/// The prompt after an answer and the results of its calls.
pub(crate) fn after(prompt: &Prompt, reply: &Reply, results: &[&str]) -> Prompt {
    let mut next = prompt.clone();
    next.messages.push(PromptMessage {
        role: Role::Assistant,
        parts: reply.parts.clone(),
    });
    let calls = calls(reply);
    assert_eq!(calls.len(), results.len());
    let parts = calls.iter().zip(results).map(|(call, said)| {
        Part::ToolResult(ToolResult {
            id: call.id.clone(),
            content: vec![Part::Text {
                text: (*said).into(),
            }],
            is_error: false,
        })
    });
    next.messages.push(PromptMessage {
        role: Role::Tool,
        parts: parts.collect(),
    });
    next
}

pub(crate) fn calls(reply: &Reply) -> Vec<&ToolCall> {
    let parts = reply.parts.iter();
    parts
        .filter_map(|part| match part {
            Part::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect()
}

pub(crate) fn words(reply: &Reply) -> String {
    let parts = reply.parts.iter();
    parts
        .filter_map(|part| match part {
            Part::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

pub(crate) fn shown(pieces: &[Piece]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

pub(crate) fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "answer": { "type": "string" } },
        "required": ["answer"],
        "additionalProperties": false,
    })
}
