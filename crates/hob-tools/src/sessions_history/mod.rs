//! `sessions_history`: what was said in a conversation. Another one than the caller's own is asked
//! for: it may be private.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::content::{Content, Part, Role};
use hob_wire::rooms::session;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Messages of one answer, when nothing else is said and at the most.
const MESSAGES: u32 = 20;
const MESSAGES_MAX: u32 = 200;
/// Letters of one message.
const MESSAGE_CHARS_MAX: usize = 4_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(history(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    session_key: Option<String>,
    limit: Option<u32>,
    #[serde(default)]
    include_tools: bool,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions_history".to_owned(),
        aliases: Vec::new(),
        description: "Shows what was said last in a conversation (session), the oldest first."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "sessionKey": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 256,
                    "description": "The session; this one when missing.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": MESSAGES_MAX,
                    "description": "How many messages; 20 when missing.",
                },
                "includeTools": {
                    "type": "boolean",
                    "description": "Also show calls of tools and their answers.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::Session, "sessionKey")],
        approval: "Read what was said in {sessionKey}".to_owned(),
        timeout_ms: None,
    }
}

async fn history(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let own = || work.context.session_key.clone();
    let Some(session_key) = args.session_key.or_else(own) else {
        return Err(Refused("Name a session with sessionKey.".to_owned()));
    };
    let params = session::HistoryParams {
        session_key,
        limit: Some(args.limit.unwrap_or(MESSAGES).min(MESSAGES_MAX)),
        before: None,
    };
    let messages = ask::<session::History>(ground, &params).await?.messages;
    let mut lines = Vec::new();
    for message in &messages {
        let text = words(&message.content, args.include_tools);
        if !text.is_empty() {
            let role = match message.role {
                Role::User => "user",
                Role::Assistant => "assistant",
                Role::System => "system",
                Role::Tool => "tool",
            };
            lines.push(format!("[{}] {role}: {text}", message.seq));
        }
    }
    if lines.is_empty() {
        lines.push("Nothing was said there yet.".to_owned());
    }
    Ok(told(&lines, &json!({ "messages": messages.len() })))
}

fn words(content: &Content, with_tools: bool) -> String {
    let parts = match content {
        Content::Text(text) => return cut(text),
        Content::Parts(parts) => parts,
    };
    let word = |part: &Part| match part {
        Part::Text { text } => Some(cut(text)),
        Part::Image { .. } => Some("(a picture)".to_owned()),
        Part::Thinking { .. } => None,
        Part::ToolCall(call) => {
            with_tools.then(|| cut(&format!("(calls {} {})", call.name, call.args)))
        }
        Part::ToolResult(result) => {
            with_tools.then(|| words(&Content::Parts(result.content.clone()), false))
        }
    };
    parts.iter().filter_map(word).collect::<Vec<_>>().join("\n")
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(MESSAGE_CHARS_MAX) {
        None => text.to_owned(),
        Some((at, _)) => format!("{} … (cut)", &text[..at]),
    }
}
