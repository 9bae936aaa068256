//! `agent_status`: how the caller's own run stands, and how busy the house is.

use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground};
use hob_core::permission::Work;
use hob_wire::rooms::agent;
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Effect, Tier, ToolSpec};
use serde_json::json;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(status(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

fn spec() -> ToolSpec {
    ToolSpec {
        name: "agent_status".to_owned(),
        aliases: Vec::new(),
        description: "Tells how this run stands (steps, cost so far), and how many runs are active and waiting in all."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {},
            "additionalProperties": false,
        }),
        tier: Tier::Read,
        effect: Effect::Pure,
        needs: Vec::new(),
        approval: "Tell how this run stands".to_owned(),
        timeout_ms: None,
    }
}

async fn status(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let mut lines = Vec::new();
    let mut run = None;
    if let Some(run_id) = work.context.run_id {
        let own = agent::RunSelector {
            session_key: None,
            run_id: Some(run_id),
        };
        let view = ask::<agent::Status>(ground, &own).await?;
        let model = view.model.as_deref().unwrap_or("no model yet");
        lines.push(format!(
            "This run: {run_id} of {}, step {}, {model}.",
            view.session_key, view.step
        ));
        run = Some(json!({
            "runId": run_id, "sessionKey": view.session_key, "step": view.step,
            "model": view.model, "cost": view.cost,
        }));
    }
    let stats = ask::<agent::Stats>(ground, &agent::StatsParams::default()).await?;
    lines.push(format!(
        "Runs: {} active, {} waiting, {} in all.",
        stats.active, stats.queued, stats.runs
    ));
    Ok(told(&lines, &json!({ "run": run, "stats": stats })))
}
