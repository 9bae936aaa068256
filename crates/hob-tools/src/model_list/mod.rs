//! `model_list`: lists the available models by name.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::model;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde_json::json;

/// Models in an answer.
const MODELS_MAX: usize = 300;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| {
    Box::pin(async move { or_failed(list(call.call(), &env).await) })
});

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
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "List the models".to_owned(),
        timeout_ms: None,
    }
}

async fn list(_: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let found = call_room::<model::List>(env, &model::ModelListParams::default()).await?;
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
    Ok(answer_lines(
        &lines,
        &json!({ "models": names, "aliases": found.aliases }),
    ))
}
