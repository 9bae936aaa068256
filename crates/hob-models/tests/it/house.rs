//! A book whose only provider is the scripted server.

use hob_kit::clock::Clock;
use hob_kit::host_environment::EnvVars;
use hob_kit::mask::SecretMask;
use hob_kit::settings::{Settings, SettingsCatalog};
use hob_models::{
    EnvKeys, KEYS, ModelCandidate, ModelCatalog, ModelError, ModelReply, ModelSources, NoServices,
    Prompt, PromptMessage, ReplyDelta, ToolDefinition,
};
use hob_net::{HttpClient, HttpOptions};
use hob_sim::{Dialect, Sim};
use hob_wire::content::{ContentPart, Role, ToolCall, ToolResult};
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
pub(crate) fn book(config: &str, env: &[(&str, &str)]) -> ModelCatalog {
    let catalog = Arc::new(SettingsCatalog::new(&[KEYS]));
    let env = EnvVars::from_pairs(env.iter().copied());
    let settings = Settings::load(&catalog, "config.toml", config, &env).expect("loads");
    let http = HttpClient::new(HttpOptions::new(Clock::system())).expect("starts");
    ModelCatalog::new(
        &settings,
        ModelSources {
            http,
            keys: Arc::new(EnvKeys::new(env, SecretMask::new())),
            services: Arc::new(NoServices),
            served: Arc::default(),
        },
    )
}

/// A book with the server as the provider `sim`, and more lines for the config.
pub(crate) fn sim_book(sim: &Sim, dialect: Dialect, more: &str) -> ModelCatalog {
    let config = format!(
        "{more}\n[models.sim]\nkind = \"{}\"\nurl = \"{}\"\nkey_env = \"SIM_KEY\"\n",
        kind(dialect),
        sim.url(dialect)
    );
    book(&config, &[("SIM_KEY", CANARY)])
}

/// The server's model.
pub(crate) fn candidate(sim: &Sim, dialect: Dialect) -> ModelCandidate {
    named(sim, dialect, "sim-large", "")
}

pub(crate) fn named(sim: &Sim, dialect: Dialect, model: &str, more: &str) -> ModelCandidate {
    let book = sim_book(sim, dialect, more);
    let wanted = format!("sim/{model}");
    let mut found = book.resolve(Some(&wanted)).expect("resolves");
    found.remove(0)
}

/// Asks, and gives the pieces with the answer.
pub(crate) async fn ask(
    candidate: &ModelCandidate,
    prompt: &Prompt,
) -> (Vec<ReplyDelta>, Result<ModelReply, ModelError>) {
    let mut pieces = Vec::new();
    let mut on = |piece: ReplyDelta| pieces.push(piece);
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

pub(crate) fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.into(),
        description: format!("The tool {name}."),
        parameters: json!({
            "type": "object",
            "properties": { "path": { "type": "string" } },
        }),
    }
}

/// The prompt after an answer and the results of its calls.
pub(crate) fn after(prompt: &Prompt, reply: &ModelReply, results: &[&str]) -> Prompt {
    let mut next = prompt.clone();
    next.messages.push(PromptMessage {
        role: Role::Assistant,
        parts: reply.parts.clone(),
    });
    let calls = calls(reply);
    assert_eq!(calls.len(), results.len());
    let parts = calls.iter().zip(results).map(|(call, said)| {
        ContentPart::ToolResult(ToolResult {
            id: call.id.clone(),
            content: vec![ContentPart::Text {
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

pub(crate) fn calls(reply: &ModelReply) -> Vec<&ToolCall> {
    let parts = reply.parts.iter();
    parts
        .filter_map(|part| match part {
            ContentPart::ToolCall(call) => Some(call),
            _ => None,
        })
        .collect()
}

pub(crate) fn words(reply: &ModelReply) -> String {
    let parts = reply.parts.iter();
    parts
        .filter_map(|part| match part {
            ContentPart::Text { text } => Some(text.as_str()),
            _ => None,
        })
        .collect()
}

pub(crate) fn shown(pieces: &[ReplyDelta]) -> String {
    let texts = pieces.iter().filter_map(|piece| match piece {
        ReplyDelta::Text(text) => Some(text.as_str()),
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
