//! An event as the follower of one run hears it. Pure.

use super::question::Asked;
use hob_client::Event;
use hob_core::family;
use hob_core::follow::{Kind, Piece};
use hob_wire::Topic;
use hob_wire::rooms::agent::{
    DeltaKind, RunCompleted, RunCompletedPayload, RunDelta, RunDeltaPayload, RunInDoubt, RunOf,
    RunPaused, RunServer, RunServerPayload, RunStep, RunStepPayload, RunTool, RunToolPayload,
};
use hob_wire::rooms::permission::{Answered, PermissionAnswered, PermissionRequested};
use hob_wire::rooms::tool::{ToolOutput, ToolOutputPayload};

/// What an event says.
#[derive(Clone, Debug, PartialEq)]
pub enum Heard {
    /// Who gets the prompt, where nobody configured that.
    Server(RunServerPayload),
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

/// What `event` says of `run`; nothing if it is about another one. What the runs that it started
/// ask is asked for it.
pub fn heard(event: &Event, run: &RunOf) -> Option<Heard> {
    let of: RunOf = serde_json::from_slice(event.payload.as_deref()?).ok()?;
    let topic = event.topic.as_str();
    let is_question = topic == PermissionRequested::SPEC.topic;
    let is_question = is_question || topic == PermissionAnswered::SPEC.topic;
    let is_childs = is_question && family::is_below(&of.session_key, &run.session_key);
    if of.run_id != run.run_id && !is_childs {
        return None;
    }
    let heard = match topic {
        _ if topic == RunServer::SPEC.topic => event.read::<RunServer>().map(Heard::Server),
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
