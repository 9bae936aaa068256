//! An event as the follower of one run hears it. Pure.

use super::question::Asked;
use hob_client::Event;
use hob_core::follow::{Kind, Piece};
use hob_wire::Topic;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    DeltaKind, RunCompleted, RunCompletedPayload, RunDelta, RunDeltaPayload, RunInDoubt, RunPaused,
    RunStep, RunStepPayload, RunTool, RunToolPayload,
};
use hob_wire::rooms::permission::{Answered, PermissionAnswered, PermissionRequested};
use hob_wire::rooms::tool::{ToolOutput, ToolOutputPayload};
use serde::Deserialize;

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    Piece(RunDeltaPayload),
    Tool(Box<RunToolPayload>),
    /// What a running tool prints.
    Output(ToolOutputPayload),
    Step(RunStepPayload),
    Asked(Asked),
    Answered(Answered),
    Completed(Box<RunCompletedPayload>),
    /// Nothing that changes what is shown.
    Other,
}

/// What `event` says of `run`; nothing if it is about another one.
pub fn heard(event: &Event, run: RunId) -> Option<Heard> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Of {
        run_id: RunId,
    }
    let of: Of = serde_json::from_slice(event.payload.as_deref()?).ok()?;
    if of.run_id != run {
        return None;
    }
    let topic = event.topic.as_str();
    let heard = match topic {
        _ if topic == RunDelta::SPEC.topic => event.read::<RunDelta>().map(Heard::Piece),
        _ if topic == RunTool::SPEC.topic => {
            let tool = event.read::<RunTool>();
            tool.map(|payload| Heard::Tool(Box::new(payload)))
        }
        _ if topic == ToolOutput::SPEC.topic => event.read::<ToolOutput>().map(Heard::Output),
        _ if topic == RunStep::SPEC.topic => event.read::<RunStep>().map(Heard::Step),
        _ if topic == RunCompleted::SPEC.topic => {
            let completed = event.read::<RunCompleted>();
            completed.map(|payload| Heard::Completed(Box::new(payload)))
        }
        _ if topic == PermissionAnswered::SPEC.topic => {
            event.read::<PermissionAnswered>().map(Heard::Answered)
        }
        _ => asked(event).map(Heard::Asked),
    };
    Some(heard.unwrap_or(Heard::Other))
}

fn asked(event: &Event) -> Option<Asked> {
    let permission = event.read::<PermissionRequested>();
    let permission = permission.map(|question| Asked::Permission(Box::new(question)));
    let doubt = || event.read::<RunInDoubt>();
    let money = || event.read::<RunPaused>();
    permission
        .or_else(|| doubt().map(|doubt| Asked::Doubt(Box::new(doubt))))
        .or_else(|| money().map(Asked::Money))
}

/// A delta as the follower takes it.
pub fn piece(delta: &RunDeltaPayload) -> Piece<'_> {
    Piece {
        step: delta.step,
        attempt: delta.attempt,
        offset: delta.offset,
        kind: match delta.kind {
            DeltaKind::Text => Kind::Text,
            DeltaKind::Thinking => Kind::Thinking,
            DeltaKind::Tool => Kind::Tool,
        },
        text: &delta.delta,
    }
}
