//! What is too long to be told is kept whole, under an id that the tool `output` takes.
//!
//! Invariant: an answer names an id only after what it stands for is on disk.

use crate::Ground;
use crate::outcome::{TEXT_BYTES_MAX, bounded};
use hob_store::{NewOutput, OutputDraft};
use hob_wire::content::Part;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::ToolContext;
use serde_json::json;

/// What all kept outputs have together, where no setting says so.
const TOTAL_BYTES_DEFAULT: u64 = 512 * 1024 * 1024;

/// An answer within the bounds of a message; a text that had to be cut is kept whole.
pub async fn bounded_and_kept(
    executed: Executed,
    tool: &str,
    context: &ToolContext,
    ground: &Ground,
) -> Executed {
    let texts = || executed.content.iter().filter_map(text);
    let bytes: usize = texts().map(str::len).sum();
    if bytes <= TEXT_BYTES_MAX {
        return bounded(executed);
    }
    let whole = texts().collect::<Vec<_>>().join("\n").into_bytes();
    let mut cut = bounded(executed);
    let Some(store) = ground.store() else {
        return cut;
    };
    let new = output_of(tool, context, false, ground);
    match store.keep_output(new, whole).await {
        Ok(id) => name_it(&mut cut, id),
        // The answer itself is more than nothing.
        Err(error) => tracing::warn!(tool, "a long answer could not be kept whole: {error}"),
    }
    cut
}

/// Keeps what was written to a draft; answers its id.
pub(crate) async fn keep_draft(draft: OutputDraft, new: NewOutput, ground: &Ground) -> Option<i64> {
    let kept = ground.store()?.keep_draft(new, draft).await;
    kept.inspect_err(|error| tracing::warn!("an output could not be kept whole: {error}"))
        .ok()
}

pub(crate) fn output_of(
    tool: &str,
    context: &ToolContext,
    is_cut: bool,
    ground: &Ground,
) -> NewOutput {
    let total_bytes_max = ground.commands().map_or(TOTAL_BYTES_DEFAULT, |commands| {
        commands.settings.borrow().u64("exec.kept_mib") * 1024 * 1024
    });
    NewOutput {
        session: context.session_key.clone(),
        run: context.run_id,
        tool: tool.to_owned(),
        is_cut,
        total_bytes_max,
    }
}

/// Adds the id to what the model is told, and to the metadata.
pub(crate) fn name_it(executed: &mut Executed, id: i64) {
    let id = shown(id);
    let told = format!("\n(The whole is kept: read it with the tool output, id \"{id}\".)");
    match executed.content.last_mut() {
        Some(Part::Text { text }) => text.push_str(&told),
        _ => executed.content.push(Part::Text { text: told }),
    }
    match &mut executed.metadata {
        Some(metadata) if metadata.is_object() => metadata["outputId"] = json!(id),
        Some(_) => {}
        none => *none = Some(json!({ "outputId": id })),
    }
}

/// An id as models write it.
pub(crate) fn shown(id: i64) -> String {
    format!("o{id}")
}

/// What a model meant.
pub(crate) fn meant(id: &str) -> Option<i64> {
    id.trim().trim_start_matches('o').parse().ok()
}

fn text(part: &Part) -> Option<&str> {
    match part {
        Part::Text { text } => Some(text),
        _ => None,
    }
}
