//! Stores output that is too long for an answer under an id that the tool `output` takes.
//!
//! Invariant: an answer names an id only after the output is on disk.

use crate::ToolEnv;
use crate::outcome::{TEXT_BYTES_MAX, bounded};
use hob_store::{NewToolOutput, OutputDraft};
use hob_wire::content::ContentPart;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::ToolContext;
use serde_json::json;

/// Bytes of all stored outputs together, without a setting.
const TOTAL_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;

/// Cuts an answer to the bounds of a message; a text that is cut is stored whole.
pub async fn bound_and_store(
    executed: ToolExecuteResult,
    tool: &str,
    context: &ToolContext,
    env: &ToolEnv,
) -> ToolExecuteResult {
    let texts = || executed.content.iter().filter_map(text);
    let bytes: usize = texts().map(str::len).sum();
    if bytes <= TEXT_BYTES_MAX {
        return bounded(executed);
    }
    // Copied before `bounded` cuts the texts.
    let whole = texts().collect::<Vec<_>>().join("\n").into_bytes();
    let mut cut = bounded(executed);
    let Some(store) = env.store() else {
        return cut;
    };
    let new = new_output(tool, context, false, env);
    match store.store_output(new, whole).await {
        Ok(id) => append_output_id(&mut cut, id),
        // The cut answer is still useful, so a failed store does not fail the call.
        Err(error) => tracing::warn!(tool, "a long answer could not be kept whole: {error}"),
    }
    cut
}

/// Stores a written draft; returns its id.
pub(crate) async fn store_draft(
    draft: OutputDraft,
    new: NewToolOutput,
    env: &ToolEnv,
) -> Option<i64> {
    let kept = env.store()?.store_output_draft(new, draft).await;
    kept.inspect_err(|error| tracing::warn!("an output could not be kept whole: {error}"))
        .ok()
}

pub(crate) fn new_output(
    tool: &str,
    context: &ToolContext,
    is_cut: bool,
    env: &ToolEnv,
) -> NewToolOutput {
    let total_bytes_max = env.commands().map_or(TOTAL_BYTES_DEFAULT, |commands| {
        commands.settings.borrow().u64("exec.kept_mib") * 1024 * 1024
    });
    NewToolOutput {
        session: context.session_key.clone(),
        run: context.run_id,
        tool: tool.to_owned(),
        is_cut,
        total_bytes_max,
    }
}

/// Adds the id to the text for the model and to the metadata.
pub(crate) fn append_output_id(executed: &mut ToolExecuteResult, id: i64) {
    let id = format_output_id(id);
    let note = format!("\n(The full output is stored: read it with the tool output, id \"{id}\".)");
    match executed.content.last_mut() {
        Some(ContentPart::Text { text }) => text.push_str(&note),
        _ => executed.content.push(ContentPart::Text { text: note }),
    }
    match &mut executed.metadata {
        Some(metadata) if metadata.is_object() => metadata["outputId"] = json!(id),
        Some(_) => {}
        missing => *missing = Some(json!({ "outputId": id })),
    }
}

/// Formats an id for models.
pub(crate) fn format_output_id(id: i64) -> String {
    format!("o{id}")
}

/// Parses an id written by a model; the leading `o` may be missing.
pub(crate) fn parse_output_id(id: &str) -> Option<i64> {
    id.trim().trim_start_matches('o').parse().ok()
}

fn text(part: &ContentPart) -> Option<&str> {
    match part {
        ContentPart::Text { text } => Some(text),
        _ => None,
    }
}
