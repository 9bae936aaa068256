//! Keeps the key of a provider that another program stored, such as one that is imported.
//!
//! Invariants: a key that is kept already stays; a key is in no answer, log line or error.

use super::ModelContext;
use hob_core::onboarding::check_key;
use hob_kit::secret::Secret;
use hob_models::needs_key;
use hob_wire::rooms::model::{KeepKeyOutcome, ModelKeepKeyParams, ModelKeepKeyResult};
use hob_wire::{ErrorCode, WireError};

pub(super) async fn keep(
    context: &ModelContext,
    params: ModelKeepKeyParams,
) -> Result<ModelKeepKeyResult, WireError> {
    let checked = check_key(&params.key);
    let key = checked.map_err(|wrong| {
        // The sentence does not repeat the text.
        WireError::new(ErrorCode::InvalidParams, wrong.sentence())
    })?;
    let key = Secret::new(key);
    // Masked before anything else can see it.
    context.deps.mask.add(key.expose());
    if !needs_key(&params.provider) {
        let shown: String = params.provider.chars().take(64).collect();
        let message = format!("No built-in provider that needs a key is called '{shown}'.");
        return Err(WireError::new(ErrorCode::NotFound, message));
    }
    let (keys, provider, wanted) = (context.keys.clone(), params.provider.clone(), key.clone());
    // Writing a file blocks.
    let stored = tokio::task::spawn_blocking(move || keys.store_first(&provider, &wanted)).await;
    let before = stored.map_err(std::io::Error::other).flatten();
    let before = before.map_err(|error| {
        let message = format!("The key could not be kept: {error}.");
        WireError::new(ErrorCode::MethodError, message)
    })?;
    let outcome = match before {
        None => KeepKeyOutcome::Kept,
        Some(before) if before == key => KeepKeyOutcome::Present,
        Some(_) => KeepKeyOutcome::Different,
    };
    Ok(ModelKeepKeyResult {
        provider: params.provider,
        outcome,
    })
}
