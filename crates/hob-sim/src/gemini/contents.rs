//! The contents of a request, and the rule that a turn of function calls is answered, call by
//! call, in the turn after it.

use super::read::{check_known, get};
use super::write::call_signature;
use crate::base64;
use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{SimMessage, SimToolCall, SimToolResult};
use crate::rules::{self, add_text};
use hob_wire::content::Role;
use serde_json::Value;

/// Every field a part may have.
const PART_FIELDS: &[&str] = &[
    "codeExecutionResult",
    "executableCode",
    "fileData",
    "functionCall",
    "functionResponse",
    "inlineData",
    "mediaResolution",
    "partMetadata",
    "text",
    "thought",
    "thoughtSignature",
    "videoMetadata",
];

/// The documented placeholder for the signature of a call that another model made.
const NO_PROOF: &str = "skip_thought_signature_validator";

/// The system text and the conversation.
pub(super) fn read(model: &str, body: &Value) -> ReadResult<(String, Vec<SimMessage>)> {
    let mut system = String::new();
    let instruction = get(body, "systemInstruction");
    check_known(instruction, &["parts", "role"], " at 'system_instruction'")?;
    for part in instruction["parts"].as_array().into_iter().flatten() {
        add_text(&mut system, part["text"].as_str().unwrap_or_default());
    }
    let list = body["contents"].as_array().filter(|list| !list.is_empty());
    let list = list.ok_or_else(|| {
        SimRefusal::bad("* GenerateContentRequest.contents: contents is not specified\n")
    })?;
    let mut said: Vec<SimMessage> = Vec::new();
    for (at, content) in list.iter().enumerate() {
        said.push(one(at, content)?.settled());
    }
    check_turns(&said)?;
    if model.starts_with("gemini-3") {
        check_signatures(list)?;
    }
    Ok((system, said))
}

fn one(at: usize, content: &Value) -> ReadResult<SimMessage> {
    check_known(
        content,
        &["parts", "role"],
        &format!(" at 'contents[{at}]'"),
    )?;
    let role = match content["role"].as_str() {
        None | Some("user" | "function") => Role::User,
        Some("model") => Role::Assistant,
        Some(_) => return Err(SimRefusal::bad("Please use a valid role: user, model.")),
    };
    let parts = content["parts"]
        .as_array()
        .filter(|parts| !parts.is_empty());
    let parts = parts.ok_or_else(|| {
        SimRefusal::bad(format!(
            "* GenerateContentRequest.contents[{at}].parts: contents.parts must not be empty.\n"
        ))
    })?;
    let mut said = SimMessage::by(role);
    for (nth, part) in parts.iter().enumerate() {
        let path = format!("contents[{at}].parts[{nth}]");
        check_known(part, PART_FIELDS, &format!(" at '{path}'"))?;
        read_part(&path, part, &mut said)?;
    }
    Ok(said)
}

fn read_part(path: &str, part: &Value, said: &mut SimMessage) -> ReadResult<()> {
    let (call, response) = (get(part, "functionCall"), get(part, "functionResponse"));
    let picture = get(part, "inlineData");
    if !call.is_null() {
        said.tool_calls.push(function_call(path, part, call)?);
    } else if !response.is_null() {
        said.tool_results.push(function_response(path, response)?);
    } else if !picture.is_null() {
        let data = picture["data"].as_str().unwrap_or_default();
        if !base64::is_sound(data) {
            return Err(SimRefusal::bad(format!(
                "Invalid value at '{path}.inline_data.data' (TYPE_BYTES), Base64 decoding failed"
            )));
        }
        let mime = get(picture, "mimeType").as_str().unwrap_or_default();
        if mime.is_empty() {
            return Err(SimRefusal::bad(
                "Unable to submit request because it must have a mimeType for inlineData.",
            ));
        }
        said.images.push(mime.to_owned());
    } else if let Some(text) = part["text"].as_str() {
        if part["thought"] == true {
            said.thinking.push_str(text);
        } else {
            said.text.push_str(text);
        }
    } else if get(part, "fileData").is_null() {
        return Err(SimRefusal::bad(format!(
            "* GenerateContentRequest.{path}.data: required oneof field 'data' must have one initialized field"
        )));
    }
    Ok(())
}

fn function_call(path: &str, part: &Value, call: &Value) -> ReadResult<SimToolCall> {
    let place = format!("{path}.function_call");
    check_known(call, &["id", "name", "args"], &format!(" at '{place}'"))?;
    let name = named(call, &place)?;
    let args = &call["args"];
    if !args.is_null() && !args.is_object() {
        return Err(SimRefusal::bad(format!(
            "Invalid value at '{place}.args' (type.googleapis.com/google.protobuf.Struct)"
        )));
    }
    let proof = get(part, "thoughtSignature");
    let sound = match proof.as_str() {
        Some(proof) => proof == NO_PROOF || proof == call_signature(&name, args),
        None => proof.is_null(),
    };
    if !sound {
        return Err(SimRefusal::bad("Thought signature is not valid."));
    }
    Ok(SimToolCall {
        id: call["id"].as_str().unwrap_or_default().to_owned(),
        name,
        args: args.clone(),
    })
}

fn function_response(path: &str, response: &Value) -> ReadResult<SimToolResult> {
    let place = format!("{path}.function_response");
    let known = [
        "id",
        "name",
        "response",
        "parts",
        "willContinue",
        "scheduling",
    ];
    check_known(response, &known, &format!(" at '{place}'"))?;
    let name = named(response, &place)?;
    let content = &response["response"];
    let Some(fields) = rules::fields(content) else {
        return Err(SimRefusal::bad(format!(
            "Invalid value at '{place}.response' (type.googleapis.com/google.protobuf.Struct)"
        )));
    };
    let said = ["output", "result", "error"].map(|key| fields.get(key).and_then(Value::as_str));
    let text = said.into_iter().flatten().next().map(str::to_owned);
    let id = response["id"].as_str().map_or(name, str::to_owned);
    Ok(SimToolResult {
        id,
        text: text.unwrap_or_else(|| content.to_string()),
        is_error: fields.contains_key("error"),
    })
}

fn named(value: &Value, place: &str) -> ReadResult<String> {
    let name = value["name"].as_str().filter(|name| !name.is_empty());
    let refusal = || {
        SimRefusal::bad(format!(
            "* GenerateContentRequest.{place}.name: Name cannot be empty.\n"
        ))
    };
    name.map(str::to_owned).ok_or_else(refusal)
}

fn check_turns(said: &[SimMessage]) -> ReadResult<()> {
    for (at, turn) in said.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|before| said.get(before));
        if !turn.tool_calls.is_empty() {
            let follows = before.is_some_and(|before| before.role != Role::Assistant);
            if turn.role != Role::Assistant || !follows {
                return Err(SimRefusal::bad(
                    "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
                ));
            }
            check_answers(turn, said.get(at + 1))?;
        }
        let called = before.is_some_and(|before| !before.tool_calls.is_empty());
        if !turn.tool_results.is_empty() && !called {
            return Err(SimRefusal::bad(
                "Please ensure that function response turn comes immediately after a function call turn.",
            ));
        }
    }
    Ok(())
}

fn check_answers(turn: &SimMessage, next: Option<&SimMessage>) -> ReadResult<()> {
    let results: &[SimToolResult] = next.map_or(&[], |next| &next.tool_results);
    if results.len() != turn.tool_calls.len() {
        return Err(SimRefusal::bad(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        ));
    }
    for call in &turn.tool_calls {
        let key = if call.id.is_empty() {
            &call.name
        } else {
            &call.id
        };
        let answered = results
            .iter()
            .any(|result| result.id == *key || result.id == call.name);
        if !answered {
            return Err(SimRefusal::bad(format!(
                "Function call `{}` has no function response that names it.",
                call.name
            )));
        }
    }
    Ok(())
}

/// The third generation wants the proof back with the first call of each turn of calls since the
/// user last spoke.
fn check_signatures(list: &[Value]) -> ReadResult<()> {
    let spoke = list.iter().rposition(|content| {
        let parts = content["parts"].as_array();
        let has_text = parts.is_some_and(|parts| parts.iter().any(|part| part["text"].is_string()));
        content["role"] != "model" && has_text
    });
    for (at, content) in list.iter().enumerate().skip(spoke.unwrap_or(0)) {
        let parts = content["parts"].as_array().into_iter().flatten();
        let call = parts
            .into_iter()
            .find(|part| !get(part, "functionCall").is_null());
        if let Some(call) = call
            && get(call, "thoughtSignature").is_null()
        {
            let name = get(call, "functionCall")["name"]
                .as_str()
                .unwrap_or_default();
            return Err(SimRefusal::bad(format!(
                "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `{name}`, position {}.",
                at + 1
            )));
        }
    }
    Ok(())
}
