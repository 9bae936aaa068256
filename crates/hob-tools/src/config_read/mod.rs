//! `config_read`: the settings, without anything that looks like a secret.

mod secrets;

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::config;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, NeedKind, ResourceNeed, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| {
    Box::pin(async move { or_failed(read(call.call(), &env).await) })
});

#[derive(Debug, Deserialize)]
struct ConfigReadArguments {
    key: Option<String>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "config_read".to_owned(),
        aliases: Vec::new(),
        description: "Shows settings of this assistant: one, those below a prefix, or those that differ from the defaults. Secrets are not shown."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "key": {
                    "type": "string",
                    "maxLength": 256,
                    "description": "A setting such as log.level or a prefix such as log; what was changed when missing.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Idempotency::Pure,
        needs: vec![ResourceNeed::new(NeedKind::House, "key")],
        approval: "Show the settings".to_owned(),
        timeout_ms: None,
    }
}

async fn read(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: ConfigReadArguments = arguments(work)?;
    let is_all = args.key.is_none();
    let params = config::ConfigGetParams { key: args.key };
    let mut settings = call_room::<config::Get>(env, &params).await?.settings;
    settings.retain(|one| !is_all || one.origin != config::ConfigOrigin::Default);
    for one in &mut settings {
        one.value = secrets::redact(&one.key, &one.value, env.mask());
    }
    let mut lines: Vec<String> = settings
        .iter()
        .map(|one| format!("{} = {}", one.key, one.value))
        .collect();
    if lines.is_empty() {
        lines.push("All settings have their default values.".to_owned());
    }
    Ok(answer_lines(&lines, &json!({ "settings": settings })))
}
