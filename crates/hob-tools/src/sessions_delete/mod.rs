//! `sessions_delete`: deletes another session with all its messages.
//!
//! Invariant: a run never deletes its own session.

use crate::outcome::succeeded;
use crate::room_calls::{answer_lines, call_room, call_room_optional, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
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
        Box::pin(async move { or_failed(delete(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionsDeleteArguments {
    session_key: String,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions_delete".to_owned(),
        aliases: Vec::new(),
        description: "Deletes another conversation (session) with everything said in it. It cannot be brought back."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "sessionKey": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 256,
                    "description": "The session; not the one you work in.",
                },
            },
            "required": ["sessionKey"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Keyed,
        needs: vec![ResourceNeed::new(NeedKind::Session, "sessionKey")],
        approval: "Delete the session {sessionKey}".to_owned(),
        timeout_ms: None,
    }
}

async fn delete(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: SessionsDeleteArguments = arguments(work)?;
    let found = |session_key: &str| {
        let session_key = session_key.to_owned();
        let params = session::SessionGetParams { session_key };
        async move { call_room_optional::<session::Get>(env, &params).await }
    };
    let Some(session) = found(&args.session_key).await? else {
        // A repeat of a call that a crash interrupted ends here.
        let line = format!("There is no session '{}' any more.", args.session_key);
        return Ok(succeeded(line));
    };
    // Compared by id, because a session has two names.
    if let Some(own) = work.context.session_key.as_deref()
        && found(own).await?.is_some_and(|own| own.id == session.id)
    {
        let message = "That is the session you work in; it cannot be deleted from within.";
        return Err(ToolRefusal(message.to_owned()));
    }
    let params = session::SessionDeleteParams {
        session_key: args.session_key,
    };
    let deleted = call_room::<session::Delete>(env, &params).await?;
    let lines = [format!("The session {} is deleted.", session.session_key)];
    Ok(answer_lines(&lines, &deleted))
}
