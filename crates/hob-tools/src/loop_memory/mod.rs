//! `loop_memory`: a loop's own persistent memory, for the loop itself.
//!
//! Invariant: which loop is meant comes from the call's session, never from the model.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::rooms::loops::{KIND, LOOP_TEXT_BYTES_MAX, Memories, Persistent, PersistentParams};
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Letters of one text a model may write.
const TEXT_CHARS_MAX: usize = 32_768;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(act(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
    action: Action,
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    Show,
    Set,
    Append,
    Undo,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "loop_memory".to_owned(),
        aliases: Vec::new(),
        description: "The persistent memory of the loop you work in: what every later iteration is shown. Write what later iterations must know; keep it short."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "action": {
                    "type": "string",
                    "enum": ["show", "set", "append", "undo"],
                    "description": "show it; set it to the text; append the text as lines of their own; undo the last change.",
                },
                "text": {
                    "type": "string",
                    "maxLength": TEXT_CHARS_MAX,
                    "description": "With set and append: what to remember.",
                },
            },
            "required": ["action"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Effect::Keyed,
        needs: Vec::new(),
        approval: "Change the loop's memory ({action}): {text}".to_owned(),
        timeout_ms: None,
    }
}

async fn act(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let params = own(work)?;
    let changed = match (args.action, args.text) {
        (Action::Show, _) => params.clone(),
        (Action::Undo, _) => PersistentParams {
            undo: true,
            ..params.clone()
        },
        (Action::Set, Some(text)) => PersistentParams {
            text: Some(text),
            ..params.clone()
        },
        (Action::Append, Some(text)) => {
            let show = PersistentParams {
                idempotency_key: None,
                ..params.clone()
            };
            let known = ask::<Persistent>(ground, &show).await?;
            PersistentParams {
                text: Some(longer(&known, &text)?),
                if_revision: Some(known.memory.revision),
                ..params.clone()
            }
        }
        (Action::Set | Action::Append, None) => {
            return Err(Refused("'text' is missing.".to_owned()));
        }
    };
    let memory = ask::<Persistent>(ground, &changed).await?;
    Ok(shown(args.action, &memory))
}

/// The memory of the loop that this call's session belongs to.
fn own(work: &Work) -> Result<PersistentParams, Refused> {
    let none = || Refused("This session belongs to no loop, so there is no memory.".to_owned());
    let session = work.context.session_key.as_deref().ok_or_else(none)?;
    let mut steps = session.split(':');
    let (kind, name) = (steps.next(), steps.next());
    let name = name.filter(|_| kind == Some(KIND)).ok_or_else(none)?;
    Ok(PersistentParams {
        name: name.to_owned(),
        session_key: Some(session.to_owned()),
        idempotency_key: work.context.key.clone(),
        ..PersistentParams::default()
    })
}

fn longer(known: &Memories, text: &str) -> Result<String, Refused> {
    let mut longer = known.memory.text.clone();
    if !longer.is_empty() && !longer.ends_with('\n') {
        longer.push('\n');
    }
    longer.push_str(text);
    if longer.len() > LOOP_TEXT_BYTES_MAX {
        return Err(Refused(format!(
            "The memory would have more than {LOOP_TEXT_BYTES_MAX} bytes. Set it to something shorter first."
        )));
    }
    Ok(longer)
}

fn shown(action: Action, memories: &Memories) -> Executed {
    let memory = &memories.memory;
    let head = match action {
        Action::Show => format!("Revision {}:", memory.revision),
        _ => format!("It is at revision {} now:", memory.revision),
    };
    let text = if memory.text.is_empty() {
        "(empty)".to_owned()
    } else {
        memory.text.clone()
    };
    told(&[head, text], &json!({ "revision": memory.revision }))
}

#[cfg(test)]
#[path = "loop_memory_tests.rs"]
mod tests;
