//! `sessions_list`: which conversations there are, without what was said in them.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::rooms::session;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Sessions of one answer, when nothing else is said and at the most.
const SESSIONS: u32 = 20;
const SESSIONS_MAX: u32 = 100;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(list(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
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
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::House, "kind")],
        approval: "List the sessions".to_owned(),
        timeout_ms: None,
    }
}

async fn list(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let params = session::ListParams {
        kind: args.kind,
        limit: Some(args.limit.unwrap_or(SESSIONS).min(SESSIONS_MAX)),
        before: None,
    };
    let sessions = ask::<session::List>(ground, &params).await?.sessions;
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
    Ok(told(&lines, &json!({ "sessions": all })))
}
