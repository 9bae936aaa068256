//! `sessions_spawn`: gives a task to a sub-agent and returns its answer.
//!
//! Invariant: a repeated call finds the same sub-agent.

use crate::outcome::failed;
use crate::room_calls::{answer_lines, call_room, or_failed};
use crate::workspace_path::ToolRefusal;
use crate::{ToolEntry, ToolEnv, arguments};
use hob_core::permission::PreparedCall;
use hob_core::tool_traits::ToolTraits;
use hob_wire::RunId;
use hob_wire::rooms::agent::{self, AgentRunParams, RunState, RunView};
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::work::{Budget, Idempotency, RunEndCause, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// The longest wait of a call for its sub-agent; below the timeout of a call.
const WAIT_MS_MAX: u64 = 200_000;
/// The timeout of a call: the wait plus the time of the room calls.
const TIMEOUT_MS: u64 = 240_000;

pub(crate) const ENTRY: ToolEntry = ToolEntry {
    traits: ToolTraits {
        closed_to_children: true,
        ..ToolTraits::NONE
    },
    ..ToolEntry::plain(spec, |call, env| {
        Box::pin(async move { or_failed(spawn(call.call(), &env).await) })
    })
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionsSpawnArguments {
    task: Option<String>,
    label: Option<String>,
    model: Option<String>,
    tools: Option<Vec<String>>,
    steps: Option<u32>,
    run_id: Option<String>,
    wait_ms: Option<u64>,
}

fn spec() -> ToolSpec {
    ToolSpec {
        name: "sessions_spawn".to_owned(),
        aliases: Vec::new(),
        description: "Gives a task to a sub-agent, which works on it in a conversation of its own, and answers with its result. It knows nothing of this conversation: say all it needs. It has at most your tools and your budget, and ends when you do. One that takes long goes on: call again with its runId to wait for it."
            .to_owned(),
        parameters: json!({
            "type": "object",
            "properties": {
                "task": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 32768,
                    "description": "What to do, whole and by itself.",
                },
                "label": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 64,
                    "description": "A short name of the work, for people.",
                },
                "model": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": 256,
                    "description": "provider/model; the same as yours when missing.",
                },
                "tools": {
                    "type": "array",
                    "items": { "type": "string", "maxLength": 64 },
                    "maxItems": 64,
                    "description": "Only these of your tools; all of them when missing.",
                },
                "steps": {
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 10000,
                    "description": "Model calls it may make; what you have left when missing.",
                },
                "runId": {
                    "type": "string",
                    "minLength": 36,
                    "maxLength": 36,
                    "description": "Instead of a task: a sub-agent you started, to wait for.",
                },
                "waitMs": {
                    "type": "integer",
                    "minimum": 0,
                    "maximum": WAIT_MS_MAX,
                    "description": "How long to wait for its end; it goes on either way.",
                },
            },
            "additionalProperties": false,
        }),
        tier: Tier::Write,
        effect: Idempotency::Keyed,
        needs: Vec::new(),
        approval: "Start a sub-agent: {task}".to_owned(),
        timeout_ms: Some(TIMEOUT_MS),
    }
}

async fn spawn(work: &PreparedCall, env: &ToolEnv) -> Result<ToolExecuteResult, ToolRefusal> {
    let args: SessionsSpawnArguments = arguments(work)?;
    let wait_ms = args.wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
    let Some(parent) = work.context.run_id else {
        let message = "Only a run can start a sub-agent; start a run of your own instead.";
        return Err(ToolRefusal(message.to_owned()));
    };
    let run_id = match (&args.run_id, &args.task) {
        (None, Some(task)) => start(work, env, parent, (task, &args)).await?,
        (Some(run_id), None) => own_child(env, parent, run_id).await?,
        _ => {
            let message = "Give either a `task` for a new sub-agent or the `runId` of one.";
            return Err(ToolRefusal(message.to_owned()));
        }
    };
    let wait = agent::AgentWaitParams {
        run_id,
        wait_ms: Some(wait_ms),
    };
    let view = call_room::<agent::Wait>(env, &wait).await?;
    Ok(answer(&view))
}

async fn start(
    work: &PreparedCall,
    env: &ToolEnv,
    parent: RunId,
    (task, args): (&str, &SessionsSpawnArguments),
) -> Result<RunId, ToolRefusal> {
    let params = AgentRunParams {
        session_key: work.context.session_key.clone().unwrap_or_default(),
        task: task.to_owned(),
        model: args.model.clone(),
        tools: args.tools.clone(),
        label: args.label.clone(),
        budget: args.steps.map(|steps| Budget {
            steps: Some(steps),
            ..Budget::default()
        }),
        // The key makes a repeated call find the sub-agent that it started before.
        idempotency_key: work.context.key.clone(),
        parent: Some(parent),
        ..AgentRunParams::default()
    };
    Ok(call_room::<agent::Run>(env, &params).await?.run_id)
}

/// Finds a sub-agent that this run itself started.
async fn own_child(env: &ToolEnv, parent: RunId, run_id: &str) -> Result<RunId, ToolRefusal> {
    let none = || ToolRefusal(format!("You did not start a sub-agent '{run_id}'."));
    let selector = agent::RunSelector {
        session_key: None,
        run_id: Some(run_id.parse().map_err(|_| none())?),
    };
    let view = call_room::<agent::Status>(env, &selector).await?;
    if view.parent == Some(parent) {
        Ok(view.run_id)
    } else {
        Err(none())
    }
}

/// The state or the result of a sub-agent, for its parent.
fn answer(view: &RunView) -> ToolExecuteResult {
    let facts = json!({
        "runId": view.run_id, "sessionKey": view.session_key, "state": view.state,
        "cause": view.cause, "cost": view.cost, "model": view.model,
    });
    let run_id = view.run_id;
    let Some(cause) = view.cause.filter(|_| view.state == RunState::Done) else {
        let state = match view.state {
            RunState::Waiting => "waits for a person's permission",
            RunState::Paused => "waits for a person to allow more money",
            RunState::InDoubt => "waits for a person to say whether a call happened",
            _ => "is still at work",
        };
        let line = format!(
            "The sub-agent {state}, at step {}. It goes on; to wait for its end, call sessions_spawn with {{\"runId\": \"{run_id}\"}}.",
            view.step
        );
        return answer_lines(&[line], &facts);
    };
    if cause == RunEndCause::Answered {
        return answer_lines(std::slice::from_ref(&view.text), &facts);
    }
    let word = json!(cause);
    let word = word.as_str().unwrap_or("unknown");
    let mut lines = vec![format!("The sub-agent ended without an answer: {word}.")];
    lines.extend(view.notes.iter().cloned());
    if !view.text.is_empty() {
        lines.push(format!("The last it said:\n{}", view.text));
    }
    ToolExecuteResult {
        metadata: Some(facts),
        ..failed(lines.join("\n"))
    }
}
