//! Calls to other rooms over the bus, for the tools that need them.
//!
//! Invariant: only the wire types of a room are used here, never its code.

use crate::outcome::{failed, succeeded};
use crate::tool_env::ToolEnv;
use crate::workspace_path::ToolRefusal;
use hob_wire::rooms::tool::ToolExecuteResult;
use hob_wire::{ErrorCode, Method};
use serde::Serialize;

/// Calls a room; its error becomes a refusal for the model.
pub(crate) async fn call_room<M: Method>(
    env: &ToolEnv,
    params: &M::Params,
) -> Result<M::Result, ToolRefusal> {
    let Some(rooms) = env.rooms() else {
        return Err(ToolRefusal("Other rooms cannot be called here.".to_owned()));
    };
    let answer = rooms.call::<M>(params).await;
    answer.map_err(|error| ToolRefusal(error.message))
}

/// Calls a room for something that may not exist; `None` if it is not found.
pub(crate) async fn call_room_optional<M: Method>(
    env: &ToolEnv,
    params: &M::Params,
) -> Result<Option<M::Result>, ToolRefusal> {
    let Some(rooms) = env.rooms() else {
        return call_room::<M>(env, params).await.map(Some);
    };
    match rooms.call::<M>(params).await {
        Err(error) if error.code == ErrorCode::NotFound => Ok(None),
        answer => answer.map(Some).map_err(|error| ToolRefusal(error.message)),
    }
}

/// An answer of `lines` for the model and `all` as metadata for programs.
pub(crate) fn answer_lines<T: Serialize>(lines: &[String], all: &T) -> ToolExecuteResult {
    ToolExecuteResult {
        metadata: serde_json::to_value(all).ok(),
        ..succeeded(lines.join("\n"))
    }
}

pub(crate) fn or_failed(answer: Result<ToolExecuteResult, ToolRefusal>) -> ToolExecuteResult {
    answer.unwrap_or_else(|ToolRefusal(reason)| failed(reason))
}
