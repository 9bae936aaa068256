//! What the plan of a reader means on this machine: keys of providers that hob does not know, and a
//! persona for a hob elsewhere, are not imported.

use crate::context::CommandContext;
use hob_dialects::import_plan::{ImportPlan, SkippedItem};
use hob_models::needs_key;

pub(super) fn review(context: &CommandContext, plan: &mut ImportPlan) {
    let keys = std::mem::take(&mut plan.keys);
    let (known, unknown) = keys.into_iter().partition(|key| needs_key(&key.provider));
    plan.keys = known;
    let unknown: Vec<_> = unknown;
    plan.skipped
        .extend(unknown.into_iter().map(|key| SkippedItem {
            what: format!("the key of {} in {}", key.provider, key.found_in),
            reason: "hob knows no provider of this name that needs a key".to_owned(),
        }));
    // The file is written here, and the other hob reads its own.
    if context.is_remote()
        && let Some(persona) = plan.persona.take()
    {
        plan.skipped.push(SkippedItem {
            what: persona.found_in,
            reason: "HOB_URL names a hob on another machine; copy the text to its persona.md"
                .to_owned(),
        });
    }
}
