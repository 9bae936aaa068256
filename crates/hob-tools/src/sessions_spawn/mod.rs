//! `sessions_spawn`: a task for a sub-agent, and its answer.
//!
//! Invariant: a repeat of the same call finds the same sub-agent.

use crate::outcome::failed;
use crate::rooms::{ask, or_failed, told};
use crate::spot::Refused;
use crate::{Entry, Ground, arguments};
use hob_core::permission::Work;
use hob_wire::RunId;
use hob_wire::rooms::agent::{self, RunParams, RunState, RunView};
use hob_wire::rooms::tool::Executed;
use hob_wire::work::{Budget, Cause, Effect, Tier, ToolSpec};
use serde::Deserialize;
use serde_json::json;

/// How long a call waits for its sub-agent, unless told less; below the time of any call.
const WAIT_MS_MAX: u64 = 200_000;
/// The time of a call: the wait, and the way there and back.
const TIMEOUT_MS: u64 = 240_000;

pub(crate) const ENTRY: Entry = Entry {
    spec,
    run: |call, ground| Box::pin(async move { or_failed(spawn(call.call(), &ground).await) }),
    check: None,
    looks: None,
};

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Args {
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
        effect: Effect::Keyed,
        needs: Vec::new(),
        approval: "Start a sub-agent: {task}".to_owned(),
        timeout_ms: Some(TIMEOUT_MS),
    }
}

async fn spawn(work: &Work, ground: &Ground) -> Result<Executed, Refused> {
    let args: Args = arguments(work)?;
    let wait_ms = args.wait_ms.unwrap_or(WAIT_MS_MAX).min(WAIT_MS_MAX);
    let Some(parent) = work.context.run_id else {
        let message = "Only a run can start a sub-agent; start a run of your own instead.";
        return Err(Refused(message.to_owned()));
    };
    let run_id = match (&args.run_id, &args.task) {
        (None, Some(task)) => start(work, ground, parent, (task, &args)).await?,
        (Some(run_id), None) => own_child(ground, parent, run_id).await?,
        _ => {
            let message = "Give either a `task` for a new sub-agent or the `runId` of one.";
            return Err(Refused(message.to_owned()));
        }
    };
    let wait = agent::WaitParams {
        run_id,
        wait_ms: Some(wait_ms),
    };
    let view = ask::<agent::Wait>(ground, &wait).await?;
    Ok(answer(&view))
}

async fn start(
    work: &Work,
    ground: &Ground,
    parent: RunId,
    (task, args): (&str, &Args),
) -> Result<RunId, Refused> {
    let params = RunParams {
        session_key: work.context.session_key.clone().unwrap_or_default(),
        task: task.to_owned(),
        model: args.model.clone(),
        tools: args.tools.clone(),
        label: args.label.clone(),
        budget: args.steps.map(|steps| Budget {
            steps: Some(steps),
            ..Budget::default()
        }),
        idempotency_key: work.context.key.clone(),
        parent: Some(parent),
        ..RunParams::default()
    };
    Ok(ask::<agent::Run>(ground, &params).await?.run_id)
}

/// A sub-agent that this very run started.
async fn own_child(ground: &Ground, parent: RunId, run_id: &str) -> Result<RunId, Refused> {
    let none = || Refused(format!("You have started no sub-agent '{run_id}'."));
    let selector = agent::RunSelector {
        session_key: None,
        run_id: Some(run_id.parse().map_err(|_| none())?),
    };
    let view = ask::<agent::Status>(ground, &selector).await?;
    if view.parent == Some(parent) {
        Ok(view.run_id)
    } else {
        Err(none())
    }
}

/// What became of a sub-agent, for the one that started it.
fn answer(view: &RunView) -> Executed {
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
        return told(&[line], &facts);
    };
    if cause == Cause::Answered {
        return told(std::slice::from_ref(&view.text), &facts);
    }
    let word = json!(cause);
    let word = word.as_str().unwrap_or("unknown");
    let mut lines = vec![format!("The sub-agent ended without an answer: {word}.")];
    lines.extend(view.notes.iter().cloned());
    if !view.text.is_empty() {
        lines.push(format!("The last it said:\n{}", view.text));
    }
    Executed {
        metadata: Some(facts),
        ..failed(lines.join("\n"))
    }
}
