//! Agents: to Pryx a running task is an agent, to hob it is a run.

use crate::pryx::client::{
    PathParameter, PryxAnswer, PryxClient, body_of, json, json_with, limit_of, not_found,
    not_implemented,
};
use crate::pryx::run_status::{agent_status, page_status};
use crate::pryx::{sessions, timestamp};
use axum::extract::{RawQuery, Request};
use axum::http::StatusCode;
use hob_gateway::http_error::HttpError;
use hob_gateway::openai::tool_ceiling;
use hob_wire::WireError;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, AgentListParams, AgentRunParams, AgentRunResult, RunSelector, RunView,
};
use hob_wire::rooms::session::{self, SessionCreateParams};
use serde::Deserialize;
use serde_json::{Value, json};

/// Runs of one list if the query names no `limit`, and at most.
const LISTED: u32 = 50;
const LISTED_MAX: u32 = 500;
/// Characters of a task that serve as an agent's name.
const NAME_CHARS_MAX: usize = 60;

#[derive(Debug, Deserialize)]
struct SpawnRequest {
    #[serde(default)]
    task: String,
    #[serde(default)]
    context: Option<String>,
    #[serde(default)]
    session_id: Option<String>,
}

/// What the TUI sends to start an agent.
#[derive(Debug, Deserialize)]
struct PageAgent {
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    session: Option<String>,
}

/// `GET /api/v1/agents`.
pub(crate) async fn list(client: PryxClient, query: RawQuery) -> PryxAnswer {
    let runs = list_runs(&client, &query).await?;
    let agents: Vec<Value> = runs.iter().map(agent_json).collect();
    json(&json!({ "agents": agents }))
}

/// `GET /api/agents`, for the TUI's view.
pub(crate) async fn list_for_page(client: PryxClient, query: RawQuery) -> PryxAnswer {
    let runs = list_runs(&client, &query).await?;
    let agents = runs.iter().map(|run| {
        let mut agent = agent_json(run);
        agent["status"] = page_status(run).into();
        agent
    });
    json(&json!({ "agents": agents.collect::<Vec<_>>() }))
}

/// `GET /api/v1/agents/{id}` and `/api/agents/{id}`.
pub(crate) async fn show(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let run = client.call::<agent::Status>(&run_of(&id)?).await?;
    json(&agent_json(&run))
}

/// `POST /api/v1/agents/spawn`.
pub(crate) async fn spawn(client: PryxClient, request: Request) -> PryxAnswer {
    let request: SpawnRequest = body_of(request).await?;
    start(&client, request).await
}

/// `POST /api/agents`, from the TUI's view.
pub(crate) async fn start_from_page(client: PryxClient, request: Request) -> PryxAnswer {
    let PageAgent {
        name,
        prompt,
        session,
    } = body_of(request).await?;
    let request = SpawnRequest {
        task: prompt.or(name).unwrap_or_default(),
        context: None,
        session_id: session,
    };
    start(&client, request).await
}

/// `POST /api/v1/agents/{id}/cancel` and `/api/agents/{id}/stop`, `/kill`.
pub(crate) async fn cancel(client: PryxClient, PathParameter(id): PathParameter) -> PryxAnswer {
    let aborted = client.call::<agent::Abort>(&run_of(&id)?).await?;
    let agents: Vec<Value> = aborted.runs.iter().map(agent_json).collect();
    json(&json!({ "id": id, "status": "cancelled", "agents": agents }))
}

/// `POST /api/agents/{id}/restart`.
pub(crate) async fn refuse_restart(_: PryxClient, _: PathParameter) -> PryxAnswer {
    Err(not_implemented(
        "A run cannot be started a second time; start another one with the same task.",
    ))
}

async fn list_runs(client: &PryxClient, query: &RawQuery) -> Result<Vec<RunView>, WireError> {
    let params = AgentListParams {
        limit: Some(limit_of(query, LISTED, LISTED_MAX)),
        ..AgentListParams::default()
    };
    let listed = client.call_if_served::<agent::List>(&params).await?;
    Ok(listed.map(|listed| listed.runs).unwrap_or_default())
}

/// Starts a run in a session of its own, whose parent is the session that asked.
async fn start(client: &PryxClient, request: SpawnRequest) -> PryxAnswer {
    if request.task.trim().is_empty() {
        return Err(HttpError::bad_request("A task is needed."));
    }
    let parent = match request.session_id.filter(|id| !id.is_empty()) {
        Some(id) => Some(sessions::get_session(client, id).await?.id.to_string()),
        None => None,
    };
    let params = SessionCreateParams {
        parent,
        label: Some(name_of(&request.task)),
        ..SessionCreateParams::default()
    };
    let session = client.call::<session::Create>(&params).await?.session;
    let task = match request.context.filter(|context| !context.is_empty()) {
        Some(context) => format!("{}\n\n{context}", request.task),
        None => request.task,
    };
    let accepted = run_task(client, session.id.to_string(), task).await?;
    let answer = json!({
        "id": accepted.run_id,
        "agent_id": accepted.run_id,
        "session_id": session.id,
        "status": "pending",
    });
    json_with(StatusCode::CREATED, &answer)
}

/// Begins a run in a session.
pub(crate) async fn run_task(
    client: &PryxClient,
    session_key: String,
    task: String,
) -> Result<AgentRunResult, WireError> {
    let params = AgentRunParams {
        session_key,
        task,
        workspace: client.workspace(),
        ceiling: tool_ceiling(&client.principal),
        ..AgentRunParams::default()
    };
    client.call::<agent::Run>(&params).await
}

fn run_of(id: &str) -> Result<RunSelector, HttpError> {
    let run_id: RunId = id.parse().map_err(|_| {
        not_found("There is no such agent; GET /api/v1/agents lists those there are.")
    })?;
    Ok(RunSelector {
        run_id: Some(run_id),
        session_key: None,
    })
}

fn agent_json(run: &RunView) -> Value {
    let last = run.ended_at.or(run.started_at).unwrap_or(run.queued_at);
    json!({
        "id": run.run_id,
        "name": name_of(&run.task),
        "task": run.task,
        "type": "task",
        "status": agent_status(run),
        "session": run.session_key,
        "session_id": run.session_key,
        "parent_id": run.parent,
        "model": run.model,
        "result": run.ended_at.map(|_| &run.text),
        "error": run.message,
        "created": timestamp::from_ms(run.queued_at),
        "lastActivity": timestamp::from_ms(last),
        "completed_at": run.ended_at.map(timestamp::from_ms),
    })
}

/// The first words of a task.
fn name_of(task: &str) -> String {
    let line = task.trim().lines().next().unwrap_or_default();
    line.chars().take(NAME_CHARS_MAX).collect()
}
