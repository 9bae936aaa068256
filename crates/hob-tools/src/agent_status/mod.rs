//! `agent_status`: the state of the caller's own run, and the number of runs in all.

use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv};
use hob_core::permission::PreparedCall;
use hob_wire::rooms::agent;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Idempotency, Tier, ToolSpec};
use serde_json::json;

pub(crate) const ENTRY: ToolEntry = ToolEntry::plain(spec, |call, env| {
    Box::pin(async move { or_failed(status(call.call(), &env).await) })
});

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
        effect: Idempotency::Pure,
        needs: Vec::new(),
        approval: "Tell how this run stands".to_owned(),
        timeout_ms: None,
    }
}

async fn status(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let mut lines = Vec::new();
    let mut run = None;
    if let Some(run_id) = work.context.run_id {
        let own = agent::RunSelector {
            session_key: None,
            run_id: Some(run_id),
        };
        let view = call_room::<agent::Status>(env, &own).await?;
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
    let stats = call_room::<agent::Stats>(env, &agent::AgentStatsParams::default()).await?;
    lines.push(format!(
        "Runs: {} active, {} waiting, {} in all.",
        stats.active, stats.queued, stats.runs
    ));
    Ok(answer_lines(&lines, &json!({ "run": run, "stats": stats })))
}
