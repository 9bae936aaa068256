//! `sessions_history`: shows the messages of a session. Reading another session than the caller's
//! own needs permission, because it may be private.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
use hob_wire::content::{ContentPart, MessageContent, Role};
use hob_wire::rooms::session;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Messages in an answer: default and maximum.
const MESSAGES: u32 = 20;
const MESSAGES_MAX: u32 = 200;
/// Characters of one message.
const MESSAGE_CHARS_MAX: usize = 4_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    traits: ToolTraits {
        closed_to_children: true,
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, |call, env| {
        Box::pin(async move { or_failed(history(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionsHistoryArguments {
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
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::Session, "sessionKey")],
        approval: "Read what was said in {sessionKey}".to_owned(),
        timeout_ms: None,
    }
}

async fn history(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: SessionsHistoryArguments = arguments(work)?;
    let own = || work.context.session_key.clone();
    let Some(session_key) = args.session_key.or_else(own) else {
        return Err(ToolRefusal("Name a session with sessionKey.".to_owned()));
    };
    let params = session::SessionHistoryParams {
        session_key,
        limit: Some(args.limit.unwrap_or(MESSAGES).min(MESSAGES_MAX)),
        before: None,
    };
    let messages = call_room::<session::History>(env, &params).await?.messages;
    let mut lines = Vec::new();
    for message in &messages {
        let text = message_text(&message.content, args.include_tools);
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
        lines.push("There are no messages yet.".to_owned());
    }
    Ok(answer_lines(&lines, &json!({ "messages": messages.len() })))
}

fn message_text(content: &MessageContent, with_tools: bool) -> String {
    let parts = match content {
        MessageContent::Text(text) => return cut(text),
        MessageContent::Parts(parts) => parts,
    };
    let word = |part: &ContentPart| match part {
        ContentPart::Text { text } => Some(cut(text)),
        ContentPart::Image { .. } => Some("(a picture)".to_owned()),
        ContentPart::Thinking { .. } => None,
        ContentPart::ToolCall(call) => {
            with_tools.then(|| cut(&format!("(calls {} {})", call.name, call.args)))
        }
        ContentPart::ToolResult(result) => {
            with_tools.then(|| message_text(&MessageContent::Parts(result.content.clone()), false))
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
