//! `service_status`: the status of one local service, or of all.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::service::{self, ServiceStatus};
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| {
    Box::pin(async move { or_failed(status(call.call(), &env).await) })
});

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
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "Look at the local services".to_owned(),
        timeout_ms: None,
    }
}

async fn status(call: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let name = call.args.get("name").and_then(|name| name.as_str());
    let statuses: Vec<ServiceStatus> = if let Some(name) = name {
        let name = name.to_owned();
        vec![call_room::<service::Status>(env, &service::ServiceSelector { name }).await?]
    } else {
        let all = call_room::<service::List>(env, &service::ServiceListParams::default()).await?;
        all.services.into_iter().map(|it| it.status).collect()
    };
    let mut lines: Vec<String> = statuses.iter().map(line).collect();
    if lines.is_empty() {
        lines.push("There is no service.".to_owned());
    }
    Ok(answer_lines(&lines, &statuses))
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
