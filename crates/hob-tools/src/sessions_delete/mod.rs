//! `sessions_delete`: another conversation goes, with all that was said in it.
//!
//! Invariant: a run never deletes the conversation it works in.

use crate::outcome::said;
use crate::rooms::{ask, ask_if_there, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::rooms::session;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(delete(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
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
        effect: Effect::Keyed,
        needs: vec![Need::new(NeedKind::Session, "sessionKey")],
        approval: "Delete the session {sessionKey}".to_owned(),
        timeout_ms: None,
    }
}

async fn delete(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let found = |session_key: &str| {
        let session_key = session_key.to_owned();
        let params = session::GetParams { session_key };
        async move { ask_if_there::<session::Get>(ground, &params).await }
    };
    let Some(session) = found(&args.session_key).await? else {
        // A repeat of a call that a crash cut off comes here.
        let line = format!("There is no session '{}' any more.", args.session_key);
        return Ok(said(line));
    };
    // By its id, because a session has two names.
    if let Some(own) = work.context.session_key.as_deref()
        && found(own).await?.is_some_and(|own| own.id == session.id)
    {
        let message = "That is the session you work in; it cannot be deleted from within.";
        return Err(Refused(message.to_owned()));
    }
    let params = session::DeleteParams {
        session_key: args.session_key,
    };
    let deleted = ask::<session::Delete>(ground, &params).await?;
    let lines = [format!("The session {} is deleted.", session.session_key)];
    Ok(told(&lines, &deleted))
}
