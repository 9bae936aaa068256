//! `sessions_send`: adds a message to another session, marked with its origin.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
use hob_wire::content::MessageContent;
use hob_wire::rooms::session;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    traits: ToolTraits {
        closed_to_children: true,
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, |call, env| {
        Box::pin(async move { or_failed(send(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionsSendArguments {
    session_key: String,
    message: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions_send".to_owned(),
        aliases: Vec::new(),
        description: "Adds a message to another conversation (session); it is marked with the session it comes from. It is read when that session goes on."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "sessionKey": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 256,
                    "description": "The session.",
                },
                "message": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 32768,
                    "description": "What to say.",
                },
            },
            "required": ["sessionKey", "message"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Keyed,
        needs: vec![ResourceNeed::new(NeedKind::Session, "sessionKey")],
        approval: "Say in {sessionKey}: {message}".to_owned(),
        timeout_ms: None,
    }
}

async fn send(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: SessionsSendArguments = arguments(work)?;
    let from = work.context.session_key.as_deref().unwrap_or("a person");
    let params = session::SessionSendParams {
        session_key: args.session_key.clone(),
        content: MessageContent::Text(format!("[{from}] {}", args.message)),
        role: None,
        // The key keeps a repeated call from adding the message twice.
        idempotency_key: work.context.key.clone(),
    };
    let sent = call_room::<session::Send>(env, &params).await?;
    let lines = [format!(
        "It is message {} of {}.",
        sent.seq, args.session_key
    )];
    Ok(answer_lines(&lines, &sent))
}
