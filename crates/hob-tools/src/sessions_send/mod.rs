//! `sessions_send`: a message into another conversation, marked with where it comes from.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::content::Content;
use hob_wire::rooms::session;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(send(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
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
        effect: Effect::Keyed,
        needs: vec![Need::new(NeedKind::Session, "sessionKey")],
        approval: "Say in {sessionKey}: {message}".to_owned(),
        timeout_ms: None,
    }
}

async fn send(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let from = work.context.session_key.as_deref().unwrap_or("a person");
    let params = session::SendParams {
        session_key: args.session_key.clone(),
        content: Content::Text(format!("[{from}] {}", args.message)),
        role: None,
        idempotency_key: work.context.key.clone(),
    };
    let sent = ask::<session::Send>(ground, &params).await?;
    let lines = [format!(
        "It is message {} of {}.",
        sent.seq, args.session_key
    )];
    Ok(told(&lines, &sent))
}
