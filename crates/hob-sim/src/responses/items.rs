//! The items of a responses request, and the rule that calls and outputs come in pairs.

use crate::chat::picture;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{SimMessage, SimToolCall, SimToolResult};
use crate::rules::{self, add_text};
use hob_wire::content::Role;
use serde_json::Value;

/// The system text and the conversation of the request's input.
pub(super) fn read(body: &Value) -> ReadResult<(String, Vec<SimMessage>)> {
    let mut reader = ResponsesItemReader::default();
    match &body["input"] {
        Value::String(text) => {
            let mut said = SimMessage::by(Role::User);
            text.clone_into(&mut said.text);
            reader.said.push(said);
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                reader.item(at, item)?;
            }
        }
        _ => {
            return Err(SimRefusal::bad("Missing required parameter: 'input'.").at("input"));
        }
    }
    // With a former response the calls may be there.
    if body["previous_response_id"].is_null() {
        reader.check_pairs()?;
    }
    Ok((reader.system, reader.said))
}

#[derive(Default)]
struct ResponsesItemReader {
    system: String,
    said: Vec<SimMessage>,
    calls: Vec<String>,
    /// Each output's call and whether the call came before it.
    outputs: Vec<(String, bool)>,
}

impl ResponsesItemReader {
    fn item(&mut self, at: usize, item: &Value) -> ReadResult<()> {
        let kind = item["type"].as_str().unwrap_or("message");
        match kind {
            "message" => self.message(at, item),
            "function_call" => self.call(at, item),
            "function_call_output" => self.output(at, item),
            "reasoning" => {
                if !item["summary"].is_array() {
                    return Err(missing(at, "summary"));
                }
                Ok(())
            }
            "item_reference" => Ok(()),
            other => Err(SimRefusal::bad(format!("Invalid value: '{other}'."))
                .at(format!("input[{at}].type"))),
        }
    }

    fn message(&mut self, at: usize, item: &Value) -> ReadResult<()> {
        let role = match item["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system" | "developer") => Role::System,
            other => {
                return Err(SimRefusal::bad(format!(
                    "Invalid value: {other:?}. Supported values are: 'assistant', 'system', 'developer', and 'user'."
                ))
                .at(format!("input[{at}].role")));
            }
        };
        let mut said = SimMessage::by(role);
        match &item["content"] {
            Value::String(text) => text.clone_into(&mut said.text),
            Value::Array(parts) => {
                for (nth, part) in parts.iter().enumerate() {
                    part_of(&format!("input[{at}].content[{nth}]"), part, &mut said)?;
                }
            }
            _ => return Err(missing(at, "content")),
        }
        if role == Role::System {
            add_text(&mut self.system, &said.text);
        } else {
            self.said.push(said);
        }
        Ok(())
    }

    fn call(&mut self, at: usize, item: &Value) -> ReadResult<()> {
        let field = |name| rules::text(item, name, || missing(at, name));
        let (id, name, args) = (field("call_id")?, field("name")?, field("arguments")?);
        if self.calls.iter().any(|known| known == id) {
            return Err(
                SimRefusal::bad(format!("Duplicate function call with call_id {id}.")).at("input"),
            );
        }
        self.calls.push(id.to_owned());
        let called = SimToolCall {
            id: id.to_owned(),
            name: name.to_owned(),
            args: serde_json::from_str(args).unwrap_or_else(|_| Value::String(args.to_owned())),
        };
        match self.said.last_mut() {
            Some(last) if last.role == Role::Assistant => last.tool_calls.push(called),
            _ => {
                let mut said = SimMessage::by(Role::Assistant);
                said.tool_calls.push(called);
                self.said.push(said);
            }
        }
        Ok(())
    }

    fn output(&mut self, at: usize, item: &Value) -> ReadResult<()> {
        let id = rules::text(item, "call_id", || missing(at, "call_id"))?;
        let mut said = SimMessage::by(Role::Tool);
        match &item["output"] {
            Value::String(text) => text.clone_into(&mut said.text),
            Value::Array(parts) => {
                for (nth, part) in parts.iter().enumerate() {
                    part_of(&format!("input[{at}].output[{nth}]"), part, &mut said)?;
                }
            }
            _ => return Err(missing(at, "output")),
        }
        let known = self.calls.iter().any(|call| call == id);
        self.outputs.push((id.to_owned(), known));
        said.tool_results.push(SimToolResult {
            id: id.to_owned(),
            text: std::mem::take(&mut said.text),
            is_error: false,
        });
        self.said.push(said);
        Ok(())
    }

    fn check_pairs(&self) -> ReadResult<()> {
        if let Some((stray, _)) = self.outputs.iter().find(|(_, known)| !known) {
            return Err(SimRefusal::bad(format!(
                "No tool call found for function call output with call_id {stray}."
            ))
            .at("input"));
        }
        for call in &self.calls {
            match self.outputs.iter().filter(|(id, _)| id == call).count() {
                0 => {
                    return Err(SimRefusal::bad(format!(
                        "No tool output found for function call {call}."
                    ))
                    .at("input"));
                }
                1 => {}
                _ => {
                    return Err(SimRefusal::bad(format!(
                        "Duplicate function call output with call_id {call}."
                    ))
                    .at("input"));
                }
            }
        }
        Ok(())
    }
}

/// A part of a message: the user's are inputs, the model's are outputs.
fn part_of(path: &str, part: &Value, said: &mut SimMessage) -> ReadResult<()> {
    let kind = part["type"].as_str().unwrap_or_default();
    match (kind, said.role) {
        ("input_text", Role::User | Role::System | Role::Tool)
        | ("output_text", Role::Assistant) => {
            let absent = || SimRefusal::bad(format!("Missing required parameter: '{path}.text'."));
            said.text.push_str(rules::text(part, "text", absent)?);
            Ok(())
        }
        ("input_image", Role::User | Role::Tool) => {
            let url = part["image_url"].as_str().unwrap_or_default();
            said.images.push(picture(url, path)?);
            Ok(())
        }
        ("refusal", Role::Assistant) => Ok(()),
        (kind, Role::Assistant) => Err(SimRefusal::bad(format!(
            "Invalid value: '{kind}'. Supported values are: 'output_text' and 'refusal'."
        ))
        .at(format!("{path}.type"))),
        (kind, _) => Err(SimRefusal::bad(format!(
            "Invalid value: '{kind}'. Supported values are: 'input_text', 'input_image', 'input_file', and 'input_audio'."
        ))
        .at(format!("{path}.type"))),
    }
}

fn missing(at: usize, field: &str) -> SimRefusal {
    let path = format!("input[{at}].{field}");
    SimRefusal::bad(format!("Missing required parameter: '{path}'.")).at(path)
}
