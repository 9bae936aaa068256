//! Actions that are none of Archy's own: a service on the bus may offer `archy.ACTION`. The
//! request's `data` are its params, and what it answers is the answer.

use crate::archy::client::{Client, Failure};
use bytes::Bytes;
use hob_wire::archy::{Answer, Request, Response, UNKNOWN_ACTION};
use hob_wire::{ErrorCode, WireError, scope};
use serde_json::{Map, Value};

/// Letters of an action's name.
const ACTION_CHARS_MAX: usize = 64;

pub(crate) async fn answer(client: &Client<'_>, request: &Request) -> Result<Answer, Failure> {
    let action = request.action.as_str();
    if action.len() > ACTION_CHARS_MAX || !scope::is_service_name(action) {
        return Err(UNKNOWN_ACTION.into());
    }
    let wrong = |error: serde_json::Error| WireError::new(ErrorCode::Internal, error.to_string());
    let params = serde_json::to_vec(&request.data).map_err(wrong)?;
    let method = format!("archy.{action}");
    let params = Some(Bytes::from(params));
    match client.caller.call_raw(&method, params, None).await {
        Ok(payload) => {
            let payload = payload.as_deref().unwrap_or(b"null");
            Ok(given(serde_json::from_slice(payload).map_err(wrong)?))
        }
        Err(error) if error.code == ErrorCode::NoHandler => Err(UNKNOWN_ACTION.into()),
        Err(error) => Err(error.into()),
    }
}

/// An object is the answer, with what it leaves out of the four fields; anything else its output.
fn given(payload: Value) -> Answer {
    let output = match payload {
        Value::Object(said) => return Answer::Given(filled(said)),
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    let success = true;
    Answer::Plain(Response {
        success,
        output,
        ..Response::default()
    })
}

fn filled(mut said: Map<String, Value>) -> Value {
    let failed = said.get("error").is_some_and(|error| !error.is_null());
    said.entry("success").or_insert(Value::Bool(!failed));
    for field in ["output", "error", "exists"] {
        said.entry(field).or_insert(Value::Null);
    }
    Value::Object(said)
}

#[cfg(test)]
#[path = "offered_tests.rs"]
mod tests;
