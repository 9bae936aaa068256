//! Tools that a client sends along: they are the client's to run. Pure.

use crate::openai::fault::Fault;
use crate::openai::field::Field;
use hob_wire::rooms::agent::{ClientTool, ToolChoice};
use serde_json::json;

/// Tools of one request, as with OpenAI.
const TOOLS_MAX: usize = 128;
const NAME_BYTES_MAX: usize = 64;

/// `tools`.
pub(crate) fn read(body: &mut Field) -> Result<Vec<ClientTool>, Fault> {
    let Some(list) = body.take("tools")? else {
        return Ok(Vec::new());
    };
    let mut tools: Vec<ClientTool> = Vec::new();
    for field in list.list(TOOLS_MAX)? {
        let path = field.path.clone();
        let tool = one(field)?;
        if tools.iter().any(|other| other.name == tool.name) {
            let message = format!("Invalid '{path}': there are two tools '{}'.", tool.name);
            return Err(Fault::invalid(&path, message));
        }
        tools.push(tool);
    }
    Ok(tools)
}

/// `tool_choice`, which speaks only of tools that were sent.
pub(crate) fn choice(body: &mut Field, tools: &[ClientTool]) -> Result<Option<ToolChoice>, Fault> {
    let Some(mut choice) = body.take("tool_choice")? else {
        return Ok(None);
    };
    if tools.is_empty() {
        let message = "'tool_choice' is only allowed when 'tools' are specified.";
        return Err(Fault::invalid("tool_choice", message));
    }
    if choice.is_text() {
        return match choice.text()?.as_str() {
            "auto" => Ok(Some(ToolChoice::Auto)),
            "none" => Ok(Some(ToolChoice::None)),
            "required" => Ok(Some(ToolChoice::Required)),
            _ => Err(unknown_choice()),
        };
    }
    if choice.need("type")?.text()? != "function" {
        return Err(unknown_choice());
    }
    let name = choice.need("function")?.need("name")?;
    let path = name.path.clone();
    let name = name.text()?;
    if !tools.iter().any(|tool| tool.name == name) {
        let message = format!("Invalid '{path}': no tool '{name}' was sent.");
        return Err(Fault::invalid(&path, message));
    }
    Ok(Some(ToolChoice::Named(name)))
}

fn one(mut field: Field) -> Result<ClientTool, Fault> {
    let kind = field.need("type")?;
    let path = kind.path.clone();
    if kind.text()? != "function" {
        let message = format!("Invalid '{path}': only tools of type 'function' are taken.");
        return Err(Fault::unsupported(&path, message));
    }
    let mut function = field.need("function")?;
    let name = function.need("name")?;
    let path = name.path.clone();
    let name = name.text()?;
    if !is_name(&name) {
        let message = format!(
            "Invalid '{path}': a name has 1 to {NAME_BYTES_MAX} letters, digits, '_' and '-'."
        );
        return Err(Fault::invalid(&path, message));
    }
    let description = function.take("description")?.map(Field::text).transpose()?;
    let parameters = function
        .take("parameters")?
        .map(Field::object)
        .transpose()?;
    Ok(ClientTool {
        name,
        description: description.unwrap_or_default(),
        parameters: parameters.unwrap_or_else(|| json!({ "type": "object", "properties": {} })),
    })
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    !name.is_empty() && name.len() <= NAME_BYTES_MAX && name.chars().all(allowed)
}

fn unknown_choice() -> Fault {
    let message = "Invalid 'tool_choice': use 'none', 'auto', 'required' or {\"type\": \"function\", \"function\": {\"name\": …}}.";
    Fault::invalid("tool_choice", message)
}
