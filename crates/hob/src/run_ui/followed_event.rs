//! Bus events as the follower of one run sees them. Pure.

use super::question::UserQuestion;
use hob_client::BusEvent;
use hob_core::child_runs;
use hob_wire::EventTopic;
use hob_wire::rooms::agent::{
    RunCompleted, RunCompletedPayload, RunInDoubt, RunPaused, RunRef, RunServer, RunServerPayload,
};
use hob_wire::rooms::permission::{PermissionAnswer, PermissionAnswered, PermissionRequested};
use hob_wire::rooms::tool::{ToolOutput, ToolOutputPayload};

/// An event of the followed run, parsed. Its text and its calls come as blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum FollowedEvent {
    /// The server that gets the prompt, when no provider is configured.
    Server(RunServerPayload),
    /// Output of a running tool.
    Output(ToolOutputPayload),
    Asked(UserQuestion),
    Answered(PermissionAnswer),
    Completed(Box<RunCompletedPayload>),
    /// An event that changes nothing on the screen.
    Other,
}

/// Parses an event of `run`; `None` for events of other runs. Questions of its child runs count as
/// its own.
pub fn parse_event(event: &BusEvent, run: &RunRef) -> Option<FollowedEvent> {
    let of: RunRef = serde_json::from_slice(event.payload.as_deref()?).ok()?;
    let topic = event.topic.as_str();
    let is_question = topic == PermissionRequested::SPEC.topic;
    let is_question = is_question || topic == PermissionAnswered::SPEC.topic;
    let is_childs = is_question && child_runs::is_descendant(&of.session_key, &run.session_key);
    if of.run_id != run.run_id && !is_childs {
        return None;
    }
    let parsed = match topic {
        _ if topic == RunServer::SPEC.topic => event.read::<RunServer>().map(FollowedEvent::Server),
        _ if topic == ToolOutput::SPEC.topic => {
            event.read::<ToolOutput>().map(FollowedEvent::Output)
        }
        _ if topic == RunCompleted::SPEC.topic => {
            let completed = event.read::<RunCompleted>();
            completed.map(|payload| FollowedEvent::Completed(Box::new(payload)))
        }
        _ if topic == PermissionAnswered::SPEC.topic => event
            .read::<PermissionAnswered>()
            .map(FollowedEvent::Answered),
        _ => parse_question(event).map(FollowedEvent::Asked),
    };
    Some(parsed.unwrap_or(FollowedEvent::Other))
}

fn parse_question(event: &BusEvent) -> Option<UserQuestion> {
    let permission = event.read::<PermissionRequested>();
    let permission = permission.map(|question| UserQuestion::Permission(Box::new(question)));
    let doubt = || event.read::<RunInDoubt>();
    let money = || event.read::<RunPaused>();
    permission
        .or_else(|| doubt().map(|doubt| UserQuestion::Doubt(Box::new(doubt))))
        .or_else(|| money().map(UserQuestion::Budget))
}
