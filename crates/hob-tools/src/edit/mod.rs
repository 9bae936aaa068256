//! `edit`: parts of a file replaced, by exact text or by a unified patch; all of the edits or none.

use crate::change::{self, Plan, Step};
use crate::outcome::said;
use crate::spot::{Node, Refused, Spot, hash};
use crate::write::not_a_file;
use crate::{Entry, Ground, Looks, arguments, diff, lookup};
use hob_core::permission::Work;
use hob_kit::mask::MASKED;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

mod patch;

/// Edits of one call.
const EDITS_MAX: usize = 100;
/// Letters of one text.
const TEXT_CHARS_MAX: usize = 1024 * 1024;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| change::run(call, ground, plan),
    check: None,
    looks: Some(Looks {
        look: |work, ground| change::look(work, ground, plan),
        probe: |work, ground| lookup::probe(work, ground, plan_done),
    }),
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
    path: String,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    all: bool,
    #[serde(default)]
    edits: Vec<Edit>,
    patch: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Edit {
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
        effect: Effect::Probeable,
        needs: vec![Need::new(NeedKind::Path, "path")],
        approval: "Edit {path}".to_owned(),
        timeout_ms: None,
    }
}

fn plan(work: &Work, ground: &Ground) -> Result<Plan, Refused> {
    let args: Args = arguments(work)?;
    let edits = args.edits()?;
    let spot = Spot::find(work.context.workspace.as_deref(), &args.path, ground)?;
    let before = spot.look()?;
    let Node::File { bytes, mode } = &before else {
        return Err(not_a_file(&spot, &before));
    };
    let shown = &spot.shown;
    let text = std::str::from_utf8(bytes)
        .map_err(|_| Refused(format!("'{shown}' is not text, so it cannot be edited.")))?;
    let changed = match &args.patch {
        Some(patch) => patch::apply(text, patch).map_err(Refused),
        None => replace(text, &edits, shown),
    };
    let (after, count) = changed.map_err(|refused| hint_at_mask(refused, work))?;
    if after == text {
        return Err(Refused(format!("This would leave '{shown}' as it is.")));
    }
    if after.len() as u64 > crate::spot::FILE_BYTES_MAX {
        return Err(Refused(format!("'{shown}' would become too large.")));
    }
    let after = after.into_bytes();
    let mut done = told(shown, count);
    done.metadata = Some(json!({ "path": shown, "edits": count, "sha256": hash(&after) }));
    Ok(Plan {
        preview: diff::unified(shown, Some(bytes), &after),
        done,
        asks_always: false,
        steps: vec![Step::File {
            mode: *mode,
            bytes: after,
            before,
            spot,
        }],
    })
}

fn plan_done(work: &Work) -> Option<Executed> {
    let args: Args = arguments(work).ok()?;
    Some(told(&args.path, args.edits().ok()?.len().max(1)))
}

fn told(path: &str, count: usize) -> Executed {
    let places = if count == 1 { "place" } else { "places" };
    said(format!("Edited '{path}' in {count} {places}."))
}

impl Args {
    /// What was asked for, in one of its three forms.
    fn edits(&self) -> Result<Vec<Edit>, Refused> {
        let one = match (&self.old_text, &self.new_text) {
            (Some(old), Some(new)) => Some(Edit {
                old_text: old.clone(),
                new_text: new.clone(),
                all: self.all,
            }),
            (None, None) => None,
            _ => return Err(Refused("oldText and newText belong together.".to_owned())),
        };
        let forms = [one.is_some(), !self.edits.is_empty(), self.patch.is_some()];
        if forms.into_iter().filter(|form| *form).count() != 1 {
            return Err(Refused(
                "Give either oldText and newText, or edits, or a patch.".to_owned(),
            ));
        }
        let edits: Vec<Edit> = one.into_iter().chain(self.edits.clone()).collect();
        if edits.iter().any(|edit| edit.old_text.is_empty()) {
            return Err(Refused(
                "oldText is empty; say which text to replace.".to_owned(),
            ));
        }
        Ok(edits)
    }
}

/// Says why a text copied from an answer may not be in the file: its secret was not shown.
fn hint_at_mask(Refused(reason): Refused, work: &Work) -> Refused {
    let is_masked = work.args.to_string().contains(MASKED);
    Refused(if is_masked {
        format!(
            "{reason} Where you were shown {MASKED}, the file holds a secret; name only text beside it."
        )
    } else {
        reason
    })
}

/// The text after every edit, and how many places changed.
fn replace(text: &str, edits: &[Edit], shown: &str) -> Result<(String, usize), Refused> {
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
                return Err(Refused(format!(
                    "{which}The text to replace is not in '{shown}'. Read the file and copy the text exactly, with its spaces and line ends."
                )));
            }
            1 => {}
            _ if edit.all => {}
            some => {
                return Err(Refused(format!(
                    "{which}The text to replace occurs {some} times in '{shown}'. Take more of its surroundings along, or set all."
                )));
            }
        }
        let grown = found.saturating_mul(edit.new_text.len());
        if text.len().saturating_add(grown) as u64 > crate::spot::FILE_BYTES_MAX {
            return Err(Refused(format!("'{shown}' would become too large.")));
        }
        text = text.replace(&edit.old_text, &edit.new_text);
        count += found;
    }
    Ok((text, count))
}

#[cfg(test)]
#[path = "edit_tests.rs"]
mod tests;
