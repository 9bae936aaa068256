//! `sessions_list`: lists the sessions without their messages.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
use hob_wire::rooms::session;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Sessions in an answer: default and maximum.
const SESSIONS: u32 = 20;
const SESSIONS_MAX: u32 = 100;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    traits: ToolTraits {
        closed_to_children: true,
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, |call, env| {
        Box::pin(async move { or_failed(list(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
struct SessionsListArguments {
    kind: Option<String>,
    limit: Option<u32>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions_list".to_owned(),
        aliases: Vec::new(),
        description: "Lists conversations (sessions), the most recently used first: key, kind, label, number of messages."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "kind": {
                    "type": "string",
                    "maxLength": 64,
                    "description": "Only sessions of this kind, such as main or cron.",
                },
                "limit": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": SESSIONS_MAX,
                    "description": "How many; 20 when missing.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::House, "kind")],
        approval: "List the sessions".to_owned(),
        timeout_ms: None,
    }
}

async fn list(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: SessionsListArguments = arguments(work)?;
    let params = session::SessionListParams {
        kind: args.kind,
        limit: Some(args.limit.unwrap_or(SESSIONS).min(SESSIONS_MAX)),
        ..session::SessionListParams::default()
    };
    let sessions = call_room::<session::List>(env, &params).await?.sessions;
    let mut lines = Vec::new();
    let mut all = Vec::new();
    for one in &sessions {
        let label = one.label.as_deref().unwrap_or_default();
        let is_own = work.context.session_key.as_ref() == Some(&one.session_key);
        let own = if is_own { " (this one)" } else { "" };
        lines.push(format!(
            "{}\t{}\t{} messages\t{label}{own}",
            one.session_key, one.kind, one.messages
        ));
        all.push(json!({
            "sessionKey": one.session_key, "kind": one.kind, "label": one.label,
            "messages": one.messages, "updatedAt": one.updated_at,
        }));
    }
    if lines.is_empty() {
        lines.push("There are no such sessions.".to_owned());
    }
    Ok(answer_lines(&lines, &json!({ "sessions": all })))
}
