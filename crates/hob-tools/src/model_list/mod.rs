//! `model_list`: which models can be asked, by name.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground};
use hob_core::permission::Work;
use hob_wire::rooms::model;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use serde_json::json;

/// Models of one answer.
const MODELS_MAX: usize = 300;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(list(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

fn spec() -> ToolSpec {
    ToolSpec {
        name: "model_list".to_owned(),
        aliases: Vec::new(),
        description: "Lists the models that can be asked, and the aliases that stand for them."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {},
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Effect::Pure,
        needs: Vec::new(),
        approval: "List the models".to_owned(),
        timeout_ms: None,
    }
}

async fn list(_: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let found = ask::<model::List>(ground, &model::ListParams::default()).await?;
    let ready = |name: &str| {
        found
            .providers
            .iter()
            .any(|one| one.name == name && one.ready)
    };
    let models = found.models.iter().filter(|model| ready(&model.provider));
    let names: Vec<&str> = models
        .map(|model| model.id.as_str())
        .take(MODELS_MAX)
        .collect();
    let mut lines: Vec<String> = names.iter().map(ToString::to_string).collect();
    for alias in &found.aliases {
        lines.push(format!("{} = {}", alias.alias, alias.models.join(", ")));
    }
    if lines.is_empty() {
        lines.push("No model can be asked now.".to_owned());
    }
    Ok(told(
        &lines,
        &json!({ "models": names, "aliases": found.aliases }),
    ))
}
