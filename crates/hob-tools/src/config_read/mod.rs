//! `config_read`: the settings of this house, without anything that looks like a secret.

mod secrets;

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::rooms::config;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Need, NeedKind, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(read(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
struct Args {
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
        effect: Effect::Pure,
        needs: vec![Need::new(NeedKind::House, "key")],
        approval: "Show the settings".to_owned(),
        timeout_ms: None,
    }
}

async fn read(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let is_all = args.key.is_none();
    let params = config::GetParams { key: args.key };
    let mut settings = ask::<config::Get>(ground, &params).await?.settings;
    settings.retain(|one| !is_all || one.origin != config::Origin::Default);
    for one in &mut settings {
        one.value = secrets::shown(&one.key, &one.value, ground.mask());
    }
    let mut lines: Vec<String> = settings
        .iter()
        .map(|one| format!("{} = {}", one.key, one.value))
        .collect();
    if lines.is_empty() {
        lines.push("Every setting is as it comes.".to_owned());
    }
    Ok(told(&lines, &json!({ "settings": settings })))
}
