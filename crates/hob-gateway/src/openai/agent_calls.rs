//! Params and results of the agent's methods, translated from and to this surface.

use crate::bus_connection::BusConnection;
use crate::openai::error::OpenaiError;
use crate::openai::request::CompletionRequest;
use crate::token_cache::Principal;
use hob_wire::content::{ContentPart, MessageContent, Role};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, AgentChatResult, AgentRunParams, InlineImage, RunCompletedPayload, RunSelector, RunView,
};
use hob_wire::rooms::tool::{self, Tier};
use hob_wire::{ErrorCode, Scope, WireError};
use serde_json::Value;

/// The highest tool tier for a client: read-only without the scope `control`.
pub fn tool_ceiling(principal: &Principal) -> Option<Tier> {
    (!principal.scopes.allow(Scope::Control)).then_some(Tier::Read)
}

/// Returns hob's own tools up to the ceiling. A client tool of the same name takes precedence.
pub(crate) async fn hob_tools(
    connection: &mut BusConnection,
    ceiling: Option<Tier>,
    request: &CompletionRequest,
) -> Result<Vec<String>, OpenaiError> {
    let listed = match connection
        .call::<tool::List>(&tool::ToolListParams::default())
        .await
    {
        Ok(listed) => listed.tools,
        // Without a tool room the agent has no tools; that is no error.
        Err(error) if error.code == ErrorCode::NoHandler => Vec::new(),
        Err(error) => return Err(OpenaiError::from(error)),
    };
    let is_ours = |tool: &tool::ToolSpec| {
        let reaches = ceiling.is_none_or(|ceiling| tool.tier <= ceiling);
        reaches && !request.tools.iter().any(|theirs| theirs.name == tool.name)
    };
    let ours = listed.into_iter().filter(is_ours);
    Ok(ours.map(|tool| tool.name).collect())
}

/// Builds the params of a run from the last user message. The session holds the earlier ones.
pub(crate) fn run_params(
    messages: &[agent::ChatMessage],
    session: &str,
) -> Result<AgentRunParams, OpenaiError> {
    let last = messages.iter().rfind(|message| message.role == Role::User);
    let Some(last) = last else {
        let message = "With 'metadata.session' the last user message is taken; there is none.";
        return Err(OpenaiError::invalid("messages", message));
    };
    let mut params = AgentRunParams {
        session_key: session.to_owned(),
        ..AgentRunParams::default()
    };
    match &last.content {
        MessageContent::Text(text) => params.task.clone_from(text),
        MessageContent::Parts(parts) => {
            for part in parts {
                match part {
                    ContentPart::Text { text } => params.task.push_str(text),
                    ContentPart::Image { mime_type, data } => params.images.push(InlineImage {
                        mime_type: mime_type.clone(),
                        data: data.clone(),
                    }),
                    // A user message has none of these.
                    ContentPart::Thinking { .. }
                    | ContentPart::ToolCall(_)
                    | ContentPart::ToolResult(_) => {}
                }
            }
        }
    }
    Ok(params)
}

pub(crate) fn run_selector(run_id: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run_id),
        session_key: None,
    }
}

pub(crate) fn reply_of_completed(completed: RunCompletedPayload) -> AgentChatResult {
    AgentChatResult {
        content: vec![ContentPart::Text {
            text: completed.response,
        }],
        earlier: Vec::new(),
        success: completed.success,
        cause: completed.cause,
        message: completed.message,
        cut: false,
        cost: completed.cost,
        model: completed.model,
    }
}

pub(crate) fn reply_of_view(view: RunView) -> AgentChatResult {
    let cause = view.cause.unwrap_or(agent::RunEndCause::Aborted);
    AgentChatResult {
        content: vec![ContentPart::Text { text: view.text }],
        earlier: Vec::new(),
        success: cause == agent::RunEndCause::Answered,
        cause,
        message: view.notes.into_iter().next_back(),
        cut: false,
        cost: view.cost,
        model: view.model,
    }
}

/// Translates an error of the agent. OpenAI has its own errors for an unknown model and a budget.
pub(crate) fn agent_error(error: &WireError, model: &str) -> OpenaiError {
    let reason = error.details.as_ref().and_then(|it| it.get("reason"));
    match reason.and_then(Value::as_str) {
        Some("unknown-model" | "no-model") => OpenaiError::no_such_model(model, &error.message),
        Some("budget") => OpenaiError::over_budget(error.message.clone()),
        _ => OpenaiError::from(error),
    }
}
