//! Tools: hob's own and those of outside services, as Pryx's MCP tools.
//!
//! Invariant: a call runs only if a stored rule or the mode allows it. Where a person would be
//! asked, it is refused: a question belongs to a run, which shows it.

use crate::pryx::client::{PryxAnswer, PryxClient, body_of, json};
use crate::pryx::sessions;
use axum::extract::Request;
use hob_gateway::http_error::HttpError;
use hob_wire::rooms::permission::{self, PermissionCheckParams, RuleDecision};
use hob_wire::rooms::tool::{
    self, ToolContext, ToolDescribeParams, ToolExecuteParams, ToolListParams, ToolSpec,
};
use serde::Deserialize;
use serde_json::{Map, Value, json};

/// The server that Pryx's clients see; they name a tool `server:name`.
const SERVER: &str = "hob";

#[derive(Debug, Deserialize)]
struct ToolCallRequest {
    tool: String,
    #[serde(default)]
    session_id: Option<String>,
    #[serde(default)]
    arguments: Option<Map<String, Value>>,
}

/// `GET /mcp/tools`.
pub(crate) async fn list(client: PryxClient) -> PryxAnswer {
    let all = ToolListParams::default();
    let listed = client.call_if_served::<tool::List>(&all).await?;
    let tools = listed.map(|listed| listed.tools).unwrap_or_default();
    let tools: Vec<Value> = tools.iter().map(tool_json).collect();
    json(&json!({ "tools": tools }))
}

/// `POST /mcp/tools/call`.
pub(crate) async fn call(client: PryxClient, request: Request) -> PryxAnswer {
    let asked: ToolCallRequest = body_of(request).await?;
    let name = match asked.tool.split_once(':') {
        Some((SERVER, name)) => name,
        Some(_) => {
            return Err(HttpError::bad_request(format!(
                "The only server here is '{SERVER}'; GET /mcp/tools lists its tools."
            )));
        }
        None => asked.tool.as_str(),
    };
    // An unknown tool is an error here; `tool.execute` would answer it with a text for a model.
    let describe = ToolDescribeParams {
        name: name.to_owned(),
        wait: false,
    };
    let tool = client.call::<tool::Describe>(&describe).await?;
    let session_key = match asked.session_id.filter(|id| !id.is_empty()) {
        Some(id) => Some(sessions::get_session(&client, id).await?.session_key),
        None => None,
    };
    let params = ToolExecuteParams {
        name: tool.name,
        args: Value::Object(asked.arguments.unwrap_or_default()),
        context: ToolContext {
            session_key,
            workspace: client.workspace(),
            ..ToolContext::default()
        },
        ticket: None,
    };
    check_allowed(&client, &params).await?;
    let result = client.call::<tool::Execute>(&params).await?;
    json(&json!({
        "content": result.content,
        "text": sessions::parts_text(&result.content),
        "isError": result.is_error,
    }))
}

/// Refuses a call that nobody allowed beforehand.
async fn check_allowed(client: &PryxClient, call: &ToolExecuteParams) -> Result<(), HttpError> {
    let params = PermissionCheckParams {
        tool: call.name.clone(),
        args: call.args.clone(),
        context: call.context.clone(),
        ceiling: None,
        channel: None,
    };
    let checked = client.call::<permission::Check>(&params).await?;
    match checked.decision {
        RuleDecision::Allow => Ok(()),
        RuleDecision::Deny => Err(HttpError::forbidden(format!(
            "This call is denied by {}.",
            checked.by
        ))),
        RuleDecision::Ask => Err(HttpError::forbidden(
            "A person must allow this call, and only a run can ask: send it as a chat message, or store a rule with 'hob permission add'.",
        )),
    }
}

fn tool_json(tool: &ToolSpec) -> Value {
    json!({
        "name": tool.name,
        "server": SERVER,
        "full_name": format!("{SERVER}:{}", tool.name),
        "description": tool.description,
        "inputSchema": tool.parameters,
        "tier": tool.tier,
    })
}
