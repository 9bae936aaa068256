//! The methods `agent.*`.
//!
//! Invariant: a parameter of `agent.run` has an effect or is refused by its name.

use crate::vargos::client::VargosClient;
use crate::vargos::dates::iso;
use crate::vargos::params::{VargosParams, invalid};
use crate::vargos::settings;
use hob_wire::id::RunId;
use hob_wire::limits::PAGE_ROWS_MAX;
use hob_wire::rooms::agent::{
    self, AgentListParams, AgentRunParams, AgentRunResult, AgentStatsParams, CallView, RunSelector,
    RunState, RunView,
};
use hob_wire::{ErrorCode, WireError};
use serde_json::{Map, Value, json};

/// The agents that stand for hob's own. It has no others.
const OWN_AGENTS: [&str; 2] = ["main", "default"];
/// Prompt files that one run may replace, and the characters of each.
const OVERRIDES_MAX: usize = 16;
const OVERRIDE_CHARS_MAX: usize = 20_000;

/// Runs a task and answers at the end of the run.
pub(crate) async fn run(client: &VargosClient, params: VargosParams) -> Result<Value, WireError> {
    let (params, is_verbose) = run_params(params, settings::workspace(&client.settings()))?;
    let ended = client.call::<agent::Run>(&params).await?;
    let mut result = run_result(&ended);
    let is_success = ended.success == Some(true);
    if is_verbose || !is_success {
        let of_run = RunSelector {
            run_id: Some(ended.run_id),
            session_key: None,
        };
        let view = client.call::<agent::Status>(&of_run).await?;
        if is_verbose {
            let tools: Vec<Value> = view.calls.iter().map(call_shape).collect();
            result.insert("tools".to_owned(), Value::Array(tools));
        }
        if !is_success {
            let why = view.message.unwrap_or_else(|| "The run failed.".to_owned());
            result.insert("error".to_owned(), Value::String(why));
        }
    }
    Ok(Value::Object(result))
}

/// Ends a run, or the runs of a session. What does not run is no error.
pub(crate) async fn abort(
    client: &VargosClient,
    mut params: VargosParams,
) -> Result<Value, WireError> {
    // The reason is for Vargos's own log; hob's log names the caller.
    params.take("reason");
    let nothing = || Ok(json!({"aborted": false, "runs": []}));
    let Some(selector) = selector(params)? else {
        return nothing();
    };
    if selector.session_key.is_none() && selector.run_id.is_none() {
        return Err(invalid("`sessionKey` or `runId` is missing."));
    }
    match client.call::<agent::Abort>(&selector).await {
        Ok(ended) => {
            let runs: Vec<Value> = ended.runs.iter().map(run_shape).collect();
            Ok(json!({"aborted": !runs.is_empty(), "runs": runs}))
        }
        Err(error) if error.code == ErrorCode::NotFound => nothing(),
        Err(error) => Err(error),
    }
}

/// Tells whether a session or a run is active, or lists all active runs.
pub(crate) async fn status(
    client: &VargosClient,
    params: VargosParams,
) -> Result<Value, WireError> {
    let idle = || Ok(json!({"running": false, "activeRuns": []}));
    let Some(selector) = selector(params)? else {
        return idle();
    };
    if selector.session_key.is_none() && selector.run_id.is_none() {
        let page = AgentListParams {
            limit: Some(PAGE_ROWS_MAX),
            ..AgentListParams::default()
        };
        let runs = client.call::<agent::List>(&page).await?.runs;
        let active = runs.iter().filter(|run| run.state != RunState::Done);
        let active: Vec<Value> = active.map(run_shape).collect();
        return Ok(json!({"running": !active.is_empty(), "activeRuns": active}));
    }
    let run = match client.call::<agent::Status>(&selector).await {
        Ok(run) => run,
        Err(error) if error.code == ErrorCode::NotFound => return idle(),
        Err(error) => return Err(error),
    };
    let is_active = run.state != RunState::Done;
    let active: Vec<Value> = is_active.then(|| run_shape(&run)).into_iter().collect();
    let mut status = object(&run);
    status.insert("running".to_owned(), Value::Bool(is_active));
    status.insert("activeRuns".to_owned(), Value::Array(active));
    Ok(Value::Object(status))
}

pub(crate) async fn stats(client: &VargosClient, params: VargosParams) -> Result<Value, WireError> {
    params.finish()?;
    let stats = client.call::<agent::Stats>(&AgentStatsParams {}).await?;
    let mut shape = object(&stats);
    shape.insert("totalRuns".to_owned(), json!(stats.runs));
    shape.insert("activeRuns".to_owned(), json!(stats.active));
    let tokens = json!({"input": stats.cost.input_tokens, "output": stats.cost.output_tokens});
    shape.insert("totalTokens".to_owned(), tokens);
    Ok(Value::Object(shape))
}

/// Returns hob's params, and whether the answer lists the tool calls.
fn run_params(
    mut params: VargosParams,
    workspace: Option<String>,
) -> Result<(AgentRunParams, bool), WireError> {
    let is_verbose = take_verbose(&mut params)?;
    check_agent(&mut params)?;
    let provider = params.take_text("provider")?;
    let model = params.take_text("model")?;
    if let Some(model) = model_name(provider.as_deref(), model)? {
        params.set("model", model);
    }
    if let Some(folder) = params.take_text("workspaceDir")?.or(workspace) {
        params.set("workspace", folder);
    }
    if let Some(level) = params.take("thinkingLevel") {
        params.set("thinking", level);
    }
    let overrides = params.take_object("bootstrapOverrides")?;
    if !overrides.is_empty() {
        params.set("system", prompt_of_overrides(&overrides)?);
    }
    let mut params: AgentRunParams = params.decode()?;
    params.wait = true;
    Ok((params, is_verbose))
}

fn take_verbose(params: &mut VargosParams) -> Result<bool, WireError> {
    match params.take("verbose") {
        None => Ok(false),
        Some(Value::Bool(is_verbose)) => Ok(is_verbose),
        Some(Value::String(word)) if ["on", "full"].contains(&word.as_str()) => Ok(true),
        Some(Value::String(word)) if word == "off" => Ok(false),
        Some(_) => Err(invalid(
            "`verbose` is true, false, \"on\", \"full\" or \"off\".",
        )),
    }
}

fn check_agent(params: &mut VargosParams) -> Result<(), WireError> {
    match params.take_text("agentId")? {
        Some(agent) if !OWN_AGENTS.contains(&agent.as_str()) => {
            let agent: String = agent.chars().take(64).collect();
            Err(invalid(format!(
                "`agentId` names '{agent}', but hob has no agent definitions; leave it out, and use `model`, `bootstrapOverrides` or `tools`."
            )))
        }
        _ => Ok(()),
    }
}

/// hob's name of a model: `provider/model`.
fn model_name(provider: Option<&str>, model: Option<String>) -> Result<Option<String>, WireError> {
    match (provider, model) {
        (None, model) => Ok(model),
        (Some(provider), None) => Err(invalid(format!(
            "`provider` is '{provider}', but hob chooses no model of a provider by itself; name the `model` too."
        ))),
        (Some(provider), Some(model)) => {
            let is_whole = model.split('/').next() == Some(provider) && model.contains('/');
            Ok(Some(if is_whole {
                model
            } else {
                format!("{provider}/{model}")
            }))
        }
    }
}

/// The layer of the system prompt that replaces prompt files.
fn prompt_of_overrides(overrides: &Map<String, Value>) -> Result<String, WireError> {
    if overrides.len() > OVERRIDES_MAX {
        return Err(invalid(format!(
            "`bootstrapOverrides` replaces at most {OVERRIDES_MAX} files."
        )));
    }
    let mut layers = Vec::new();
    for (file, text) in overrides {
        let text = text.as_str().filter(|text| {
            text.chars().count() <= OVERRIDE_CHARS_MAX && !file.contains(char::is_control)
        });
        let text = text.ok_or_else(|| {
            invalid(format!(
                "`bootstrapOverrides` has texts of at most {OVERRIDE_CHARS_MAX} characters by the names of files."
            ))
        })?;
        layers.push(format!(
            "In this run, this replaces the contents of {file}:\n{text}"
        ));
    }
    Ok(layers.join("\n\n"))
}

fn run_result(ended: &AgentRunResult) -> Map<String, Value> {
    let mut result = object(ended);
    result.insert("success".to_owned(), json!(ended.success == Some(true)));
    let response = ended.response.clone().unwrap_or_default();
    result.insert("response".to_owned(), Value::String(response));
    if let Some(cost) = ended.cost {
        let total = cost.input_tokens.saturating_add(cost.output_tokens);
        let tokens =
            json!({"input": cost.input_tokens, "output": cost.output_tokens, "total": total});
        result.insert("tokensUsed".to_owned(), tokens);
    }
    result
}

fn call_shape(call: &CallView) -> Value {
    json!({
        "toolName": call.call.name,
        "args": call.call.args,
        "state": call.state,
        "isError": call.result.as_ref().is_some_and(|result| result.is_error),
    })
}

fn run_shape(run: &RunView) -> Value {
    json!({
        "runId": run.run_id,
        "sessionKey": run.session_key,
        "state": run.state,
        "startedAt": iso(run.started_at.unwrap_or(run.queued_at)),
    })
}

/// Reads which run is meant. `None` if its id is not one that hob could have given.
fn selector(mut params: VargosParams) -> Result<Option<RunSelector>, WireError> {
    let session_key = params.take_text("sessionKey")?;
    let run_id = params.take_text("runId")?;
    params.finish()?;
    let Some(run_id) = run_id else {
        return Ok(Some(RunSelector {
            session_key,
            run_id: None,
        }));
    };
    let parsed: Option<RunId> = serde_json::from_value(Value::String(run_id)).ok();
    Ok(parsed.map(|run_id| RunSelector {
        session_key: None,
        run_id: Some(run_id),
    }))
}

fn object(of: &impl serde::Serialize) -> Map<String, Value> {
    match serde_json::to_value(of) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    }
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
