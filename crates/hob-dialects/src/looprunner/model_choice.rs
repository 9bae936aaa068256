//! Finds the model that a request names. Loop Runner's page joins provider and model with a slash
//! and cuts the text at slashes again, so that a longer id arrives shortened, and an empty list
//! arrives as an empty provider. Pure.
//!
//! Invariants: only a listed model is chosen, unless its provider cannot list its models now. What
//! fits several models is refused and never guessed.

use crate::looprunner::types::{LoopRunnerModel, LoopRunnerModelChange};
use hob_wire::rooms::model::ModelListResult;

/// Most candidates that an error names.
const CANDIDATES_SHOWN: usize = 3;
/// Most letters of a client's text that an error repeats.
const ID_CHARS_SHOWN: usize = 200;

/// Returns the id of the requested model; `None` if the shown one stays.
pub(crate) fn choose(
    requested: &LoopRunnerModelChange,
    shown: &LoopRunnerModel,
    listed: &ModelListResult,
) -> Result<Option<String>, String> {
    if names_shown(requested, shown) {
        return Ok(None);
    }
    let wanted = joined(&requested.provider_id, &requested.model_id);
    let present = joined(&shown.provider_id, &shown.model_id);
    let ids = || listed.models.iter().map(|model| model.id.as_str());
    if ids().any(|id| id == wanted) {
        return Ok(Some(wanted));
    }
    let fits = |id: &&str| is_cut_of(&wanted, id);
    if fits(&present.as_str()) && ids().any(|id| id == present) {
        return Ok(None);
    }
    let candidates: Vec<&str> = ids().filter(fits).collect();
    match candidates.as_slice() {
        [] => unlisted(requested, wanted, listed),
        [id] => Ok(Some((*id).to_owned())),
        several => Err(format!(
            "The model '{}' fits several: {}. Send its whole 'modelID'.",
            shortened(&wanted),
            several[..several.len().min(CANDIDATES_SHOWN)].join(", ")
        )),
    }
}

/// Returns true if the request names the shown model, or none: an empty list of the page has no
/// value. Then no list is needed.
pub(crate) fn names_shown(requested: &LoopRunnerModelChange, shown: &LoopRunnerModel) -> bool {
    let wanted = joined(&requested.provider_id, &requested.model_id);
    wanted.is_empty() || wanted == joined(&shown.provider_id, &shown.model_id)
}

/// Accepts a model of a provider that cannot list its models now; the next iteration will show.
fn unlisted(
    requested: &LoopRunnerModelChange,
    wanted: String,
    listed: &ModelListResult,
) -> Result<Option<String>, String> {
    let provider = wanted.split('/').next().unwrap_or_default();
    let known = listed.providers.iter().find(|it| it.name == provider);
    if known.is_some_and(|it| !it.ready) && !requested.model_id.is_empty() {
        return Ok(Some(wanted));
    }
    let why = match known {
        Some(_) => format!("There is no model '{}'", shortened(&wanted)),
        None => format!(
            "There is no provider '{}' and no model '{}'",
            shortened(provider),
            shortened(&wanted)
        ),
    };
    Err(format!("{why}; GET /api/models lists those there are."))
}

fn joined(provider: &str, model: &str) -> String {
    let parts = [provider, model].map(|part| part.trim_matches('/'));
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("/")
}

/// Returns true if `wanted` is the beginning or the end of an id, whole parts of it.
fn is_cut_of(wanted: &str, id: &str) -> bool {
    let begins = id
        .strip_prefix(wanted)
        .is_some_and(|rest| rest.starts_with('/'));
    let ends = id
        .strip_suffix(wanted)
        .is_some_and(|rest| rest.ends_with('/'));
    begins || ends
}

fn shortened(text: &str) -> String {
    text.chars().take(ID_CHARS_SHOWN).collect()
}

#[cfg(test)]
#[path = "model_choice_tests.rs"]
mod tests;
