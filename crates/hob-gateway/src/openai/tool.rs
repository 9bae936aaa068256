//! Parses `tools` and `tool_choice`: tools that the client runs itself. Pure.

use crate::openai::error::OpenaiError;
use crate::openai::json_field::JsonField;
use hob_wire::rooms::agent::{ClientTool, ToolChoice};
use serde_json::json;

/// Maximum tools of one request, as at OpenAI.
const TOOLS_MAX: usize = 128;
const NAME_BYTES_MAX: usize = 64;

/// Parses `tools`.
pub(crate) fn parse_tools(body: &mut JsonField) -> Result<Vec<ClientTool>, OpenaiError> {
    let Some(list) = body.take("tools")? else {
        return Ok(Vec::new());
    };
    let mut tools: Vec<ClientTool> = Vec::new();
    for field in list.list(TOOLS_MAX)? {
        let path = field.path.clone();
        let tool = parse_tool(field)?;
        if tools.iter().any(|other| other.name == tool.name) {
            let message = format!("Invalid '{path}': there are two tools '{}'.", tool.name);
            return Err(OpenaiError::invalid(&path, message));
        }
        tools.push(tool);
    }
    Ok(tools)
}

/// Parses `tool_choice`, which may only name tools of the request.
pub(crate) fn parse_choice(
    body: &mut JsonField,
    tools: &[ClientTool],
) -> Result<Option<ToolChoice>, OpenaiError> {
    let Some(mut choice) = body.take("tool_choice")? else {
        return Ok(None);
    };
    if tools.is_empty() {
        let message = "'tool_choice' is only allowed when 'tools' are specified.";
        return Err(OpenaiError::invalid("tool_choice", message));
    }
    if choice.is_text() {
        return match choice.text()?.as_str() {
            "auto" => Ok(Some(ToolChoice::Auto)),
            "none" => Ok(Some(ToolChoice::None)),
            "required" => Ok(Some(ToolChoice::Required)),
            _ => Err(unknown_choice()),
        };
    }
    if choice.require("type")?.text()? != "function" {
        return Err(unknown_choice());
    }
    let name = choice.require("function")?.require("name")?;
    let path = name.path.clone();
    let name = name.text()?;
    if !tools.iter().any(|tool| tool.name == name) {
        let message = format!("Invalid '{path}': no tool '{name}' was sent.");
        return Err(OpenaiError::invalid(&path, message));
    }
    Ok(Some(ToolChoice::Named(name)))
}

fn parse_tool(mut field: JsonField) -> Result<ClientTool, OpenaiError> {
    let kind = field.require("type")?;
    let path = kind.path.clone();
    if kind.text()? != "function" {
        let message = format!("Invalid '{path}': only tools of type 'function' are taken.");
        return Err(OpenaiError::unsupported(&path, message));
    }
    let mut function = field.require("function")?;
    let name = function.require("name")?;
    let path = name.path.clone();
    let name = name.text()?;
    if !is_valid_name(&name) {
        let message = format!(
            "Invalid '{path}': a name has 1 to {NAME_BYTES_MAX} letters, digits, '_' and '-'."
        );
        return Err(OpenaiError::invalid(&path, message));
    }
    let description = function
        .take("description")?
        .map(JsonField::text)
        .transpose()?;
    let parameters = function
        .take("parameters")?
        .map(JsonField::object)
        .transpose()?;
    Ok(ClientTool {
        name,
        description: description.unwrap_or_default(),
        parameters: parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    })
}

fn is_valid_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

fn unknown_choice() -> OpenaiError {
    let message = "Invalid 'tool_choice': use 'none', 'auto', 'required' or {\"type\": \"function\", \"function\": {\"name\": …}}.";
    OpenaiError::invalid("tool_choice", message)
}
