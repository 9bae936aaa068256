//! `edit`: replaces parts of a file by exact text or a unified patch; all edits apply, or none.

use crate::file_change::{self, ChangePlan, ChangeStep};
use crate::outcome::succeeded;
use crate::workspace_path::{FsNode, ToolRefusal, WorkspacePath, sha256_hex};
use crate::write::not_a_file;
use crate::{EffectHooks, ToolEntry, ToolEnv, arguments, crash_probe, diff};
use hob_core::permission::PreparedCall;
use hob_kit::mask::MASKED;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

mod patch;

/// Edits in one call.
const EDITS_MAX: usize = 100;
/// Characters of one text.
const TEXT_CHARS_MAX: usize = 1024 * 1024;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    effect_hooks: Some(EffectHooks {
        preview: |work, env| file_change::preview(work, env, plan),
        probe: |work, env| crash_probe::probe(work, env, answer_after_crash),
    }),
    ..ToolEntry::plain(spec, |call, env| file_change::run(call, env, plan))
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EditArguments {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    edits: Vec<TextEdit>,
    patch: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextEdit {
    old_text: String,
    new_text: String,
    #[serde(default)]
    all: bool,
}

fn spec() -> ToolSpec {
    let text = |words: &str| {
        json!({
            "type": "string",
            "maxLength": TEXT_CHARS_MAX,
            "description": words,
        })
    };
    let old = text("The text to replace, exactly as it stands in the file.");
    let new = text("What stands there afterwards.");
    let all = json!({
        "type": "boolean",
        "description": "Replace every place; else the text must occur exactly once.",
    });
    ToolSpec {
        name: "edit".to_owned(),
        aliases: vec!["fs.edit".to_owned()],
        description: "Changes parts of a file of the workspace: oldText becomes newText, or several edits in order, or a unified patch. Either all of it applies or nothing is changed."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "path": {
                    "type": "string",
                    "description": "The file, relative to the workspace.",
                },
                "oldText": old,
                "newText": new,
                "all": all,
                "edits": {
                    "type": "array",
                    "maxItems": EDITS_MAX,
                    "description": "Several edits, applied in order.",
                    "items": {
                        "type": "object",
                        "properties": { "oldText": old, "newText": new, "all": all },
                        "required": ["oldText", "newText"],
                        "additionalProperties": false,
                    },
                },
                "patch": text("A unified diff of this one file, instead of texts."),
            },
            "required": ["path"],
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Probeable,
        needs: vec![ResourceNeed::new(NeedKind::Path, "path")],
        approval: "Edit {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &PreparedCall, env: &ToolEnv) -> Result<ChangePlan, ToolRefusal> {
    let args: EditArguments = arguments(work)?;
    let edits = args.edits()?;
    let place = WorkspacePath::resolve(work.context.workspace.as_deref(), &args.path, env)?;
    let before = place.read_node()?;
    let FsNode::File { bytes, mode } = &before else {
        return Err(not_a_file(&place, &before));
    };
    let shown = &place.shown;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| ToolRefusal(format!("'{shown}' is not text, so it cannot be edited.")))?;
    let changed = match &args.patch {
        Some(patch) => patch::apply(text, patch).map_err(ToolRefusal),
        None => replace(text, &edits, shown),
    };
    let (after, count) = changed.map_err(|refused| hint_at_mask(refused, work))?;
    if after == text {
        return Err(ToolRefusal(format!("This would leave '{shown}' as it is.")));
    }
    if after.len() as u64 > crate::workspace_path::FILE_BYTES_MAX {
        return Err(ToolRefusal(format!("'{shown}' would become too large.")));
    }
    let after = after.into_bytes();
    let mut done = done_answer(shown, count);
    done.metadata = Some(json!({ "path": shown, "edits": count, "sha256": sha256_hex(&after) }));
    Ok(ChangePlan {
        preview: diff::unified(shown, Some(bytes), &after),
        done,
        asks_always: false,
        steps: vec![ChangeStep::Write {
            mode: *mode,
            bytes: after,
            before,
            place,
        }],
    })
}

fn answer_after_crash(work: &PreparedCall) -> Option<ToolExecuteResult> {
    let args: EditArguments = arguments(work).ok()?;
    Some(done_answer(&args.path, args.edits().ok()?.len().max(1)))
}

fn done_answer(path: &str, count: usize) -> ToolExecuteResult {
    let places = if count == 1 { "place" } else { "places" };
    succeeded(format!("Edited '{path}' in {count} {places}."))
}

impl EditArguments {
    /// The edits, from one of the three argument forms; empty for a patch.
    fn edits(&self) -> Result<Vec<TextEdit>, ToolRefusal> {
        let one = match (&self.old_text, &self.new_text) {
            (Some(old), Some(new)) => Some(TextEdit {
                old_text: old.clone(),
                new_text: new.clone(),
                all: self.all,
            }),
            (None, None) => None,
            _ => {
                return Err(ToolRefusal(
                    "oldText and newText belong together.".to_owned(),
                ));
            }
        };
        let forms = [one.is_some(), !self.edits.is_empty(), self.patch.is_some()];
        if forms.into_iter().filter(|form| *form).count() != 1 {
            return Err(ToolRefusal(
                "Give either oldText and newText, or edits, or a patch.".to_owned(),
            ));
        }
        let edits: Vec<TextEdit> = one.into_iter().chain(self.edits.clone()).collect();
        if edits.iter().any(|edit| edit.old_text.is_empty()) {
            return Err(ToolRefusal(
                "oldText is empty; say which text to replace.".to_owned(),
            ));
        }
        Ok(edits)
    }
}

/// Adds a hint that a text copied from an answer holds a mask instead of the secret.
fn hint_at_mask(ToolRefusal(reason): ToolRefusal, work: &PreparedCall) -> ToolRefusal {
    let is_masked = work.args.to_string().contains(MASKED);
    ToolRefusal(if is_masked {
        format!(
            "{reason} Where you were shown {MASKED}, the file holds a secret; name only text beside it."
        )
    } else {
        reason
    })
}

/// Applies the edits; returns the text and the number of replaced places.
fn replace(text: &str, edits: &[TextEdit], shown: &str) -> Result<(String, usize), ToolRefusal> {
    let mut text = text.to_owned();
    let mut count = 0;
    for (number, edit) in edits.iter().enumerate() {
        let found = text.matches(&edit.old_text).count();
        let which = match edits.len() {
            1 => String::new(),
            _ => format!("Edit {}: ", number + 1),
        };
        match found {
            0 => {
                return Err(ToolRefusal(format!(
                    "{which}The text to replace is not in '{shown}'. Read the file and copy the text exactly, with its spaces and line ends."
                )));
            }
            1 => {}
            _ if edit.all => {}
            some => {
                return Err(ToolRefusal(format!(
                    "{which}The text to replace occurs {some} times in '{shown}'. Take more of its surroundings along, or set all."
                )));
            }
        }
        // Checked before replacing: `all` with a short old text could multiply the file in memory.
        let grown = found.saturating_mul(edit.new_text.len());
        if text.len().saturating_add(grown) as u64 > crate::workspace_path::FILE_BYTES_MAX {
            return Err(ToolRefusal(format!("'{shown}' would become too large.")));
        }
        text = text.replace(&edit.old_text, &edit.new_text);
        count += found;
    }
    Ok((text, count))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
