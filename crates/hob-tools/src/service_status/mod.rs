//! `service_status`: what a local service is doing, or all of them.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground};
use hob_core::permission::Work;
use hob_wire::rooms::service::{self, ServiceStatus};
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(look(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

fn spec() -> ToolSpec {
    ToolSpec {
        name: "service_status".to_owned(),
        aliases: vec!["service.status".to_owned()],
        description: "Shows what a local service (a language model, speech and others) is doing, or all of them without a name.".to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "name": { "type": "string", "description": "The service's name; all when missing" },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Effect::Pure,
        needs: Vec::new(),
        approval: "Look at the local services".to_owned(),
        timeout_ms: None,
    }
}

async fn look(call: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let name = call.args.get("name").and_then(|name| name.as_str());
    let statuses: Vec<ServiceStatus> = if let Some(name) = name {
        let name = name.to_owned();
        vec![ask::<service::Status>(ground, &service::NameParams { name }).await?]
    } else {
        let all = ask::<service::List>(ground, &service::ListParams::default()).await?;
        all.services.into_iter().map(|it| it.status).collect()
    };
    let mut lines: Vec<String> = statuses.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("There is no service.".to_owned());
    }
    Ok(told(&lines, &statuses))
}

fn line(status: &ServiceStatus) -> String {
    let port = status.port.map(|port| format!(", port {port}"));
    let detail = status.detail.as_ref().map(|detail| format!(": {detail}"));
    format!(
        "{} is {}{}{}",
        status.name,
        status.state.name(),
        port.unwrap_or_default(),
        detail.unwrap_or_default()
    )
}
