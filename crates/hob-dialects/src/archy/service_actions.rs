//! Actions of services: a service on the bus may offer `archy.ACTION`. The request's `data` are its
//! params, and its result is the answer.

use crate::archy::client::{ArchyClient, ArchyFailure};
use crate::archy::types::{ArchyAnswer, ArchyRequest, ArchyResponse, UNKNOWN_ACTION};
use bytes::Bytes;
use hob_wire::{ErrorCode, WireError, scope};
use serde_json::{Map, Value};

/// Maximum letters of an action's name.
const ACTION_CHARS_MAX: usize = 64;

pub(crate) async fn call_service(
    client: &ArchyClient<'_>,
    request: &ArchyRequest,
) -> Result<ArchyAnswer, ArchyFailure> {
    let action = request.action.as_str();
    // The name becomes part of a bus method, so it must not contain dots or other syntax.
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
            Ok(answer_of_payload(
                serde_json::from_slice(payload).map_err(wrong)?,
            ))
        }
        Err(error) if error.code == ErrorCode::NoHandler => Err(UNKNOWN_ACTION.into()),
        Err(error) => Err(error.into()),
    }
}

/// Converts a result. An object becomes the answer, completed to Archy's four fields; anything else
/// becomes its output.
fn answer_of_payload(payload: Value) -> ArchyAnswer {
    let output = match payload {
        Value::Object(fields) => return ArchyAnswer::Service(with_all_fields(fields)),
        Value::Null => None,
        Value::String(text) => Some(text),
        other => Some(other.to_string()),
    };
    let success = true;
    ArchyAnswer::Plain(ArchyResponse {
        success,
        output,
        ..ArchyResponse::default()
    })
}

fn with_all_fields(mut fields: Map<String, Value>) -> Value {
    let failed = fields.get("error").is_some_and(|error| !error.is_null());
    fields.entry("success").or_insert(Value::Bool(!failed));
    for field in ["output", "error", "exists"] {
        fields.entry(field).or_insert(Value::Null);
    }
    Value::Object(fields)
}

#[cfg(test)]
#[path = "service_actions_tests.rs"]
mod tests;
