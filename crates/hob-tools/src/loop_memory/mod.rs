//! `loop_memory`: the persistent memory of a loop, for the loop itself.
//!
//! Invariant: the loop is derived from the session of the call, never from the model.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
use hob_wire::rooms::loops::{
    KIND, LOOP_TEXT_BYTES_MAX, LoopPersistentParams, LoopPersistentResult, Persistent,
};
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// Characters of one text a model may write.
const TEXT_CHARS_MAX: usize = 32_768;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    traits: ToolTraits {
        // The session says whose memory it is, so a loop can only reach its own.
        free_for_kind: Some("loop"),
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, |call, env| {
        Box::pin(async move { or_failed(perform(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
struct LoopMemoryArguments {
    action: LoopMemoryAction,
    text: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum LoopMemoryAction {
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
        effect: Idempotency::Keyed,
        needs: Vec::new(),
        approval: "Change the loop's memory ({action}): {text}".to_owned(),
        timeout_ms: None,
    }
}

async fn perform(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: LoopMemoryArguments = arguments(work)?;
    let params = memory_of_session(work)?;
    let changed = match (args.action, args.text) {
        (LoopMemoryAction::Show, _) => params.clone(),
        (LoopMemoryAction::Undo, _) => LoopPersistentParams {
            undo: true,
            ..params.clone()
        },
        (LoopMemoryAction::Set, Some(text)) => LoopPersistentParams {
            text: Some(text),
            ..params.clone()
        },
        (LoopMemoryAction::Append, Some(text)) => {
            // The idempotency key belongs to the write only.
            let show = LoopPersistentParams {
                idempotency_key: None,
                ..params.clone()
            };
            let known = call_room::<Persistent>(env, &show).await?;
            LoopPersistentParams {
                text: Some(appended(&known, &text)?),
                // Fails if another change came between the read and this write.
                if_revision: Some(known.memory.revision),
                ..params.clone()
            }
        }
        (LoopMemoryAction::Set | LoopMemoryAction::Append, None) => {
            return Err(ToolRefusal("'text' is missing.".to_owned()));
        }
    };
    let memory = call_room::<Persistent>(env, &changed).await?;
    Ok(memory_answer(args.action, &memory))
}

/// The parameters for the memory of the loop that the session of this call belongs to.
fn memory_of_session(work: &PreparedCall) -> Result<LoopPersistentParams, ToolRefusal> {
    let none = || ToolRefusal("This session belongs to no loop, so there is no memory.".to_owned());
    let session = work.context.session_key.as_deref().ok_or_else(none)?;
    let mut steps = session.split(':');
    let (kind, name) = (steps.next(), steps.next());
    let name = name.filter(|_| kind == Some(KIND)).ok_or_else(none)?;
    Ok(LoopPersistentParams {
        name: name.to_owned(),
        session_key: Some(session.to_owned()),
        idempotency_key: work.context.key.clone(),
        ..LoopPersistentParams::default()
    })
}

fn appended(known: &LoopPersistentResult, text: &str) -> Result<String, ToolRefusal> {
    let mut longer = known.memory.text.clone();
    if !longer.is_empty() && !longer.ends_with('\n') {
        longer.push('\n');
    }
    longer.push_str(text);
    if longer.len() > LOOP_TEXT_BYTES_MAX {
        return Err(ToolRefusal(format!(
            "The memory would have more than {LOOP_TEXT_BYTES_MAX} bytes. Set it to something shorter first."
        )));
    }
    Ok(longer)
}

fn memory_answer(action: LoopMemoryAction, memories: &LoopPersistentResult) -> ToolExecuteResult {
    let memory = &memories.memory;
    let head = match action {
        LoopMemoryAction::Show => format!("Revision {}:", memory.revision),
        _ => format!("It is at revision {} now:", memory.revision),
    };
    let text = if memory.text.is_empty() {
        "(empty)".to_owned()
    } else {
        memory.text.clone()
    };
    answer_lines(&[head, text], &json!({ "revision": memory.revision }))
}

#[cfg(test)]
#[path = "loop_memory_tests.rs"]
mod tests;
