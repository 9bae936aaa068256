//! Follows a run and sends its events to a client.
//!
//! Invariants: only events of the followed run are sent. A question for a person is shown once, as
//! text that AgentLoop's clients paint, with the command that answers it.

use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::run_translator::{AddedMessage, AgentLoopRunTranslator};
use crate::agentloop::types::{AgentLoopEvent, AgentLoopSessionState};
use hob_gateway::bus_connection::{self, BusConnection, BusMessage, decode};
use hob_gateway::openai::BorrowedDelta;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, RunCompletedPayload, RunDelta, RunInDoubt, RunInDoubtPayload, RunPaused,
    RunPausedPayload, RunSelector, RunStep, RunStepPayload, RunTool, RunToolPayload, RunView,
};
use hob_wire::rooms::permission::{PermissionQuestion, PermissionRequested};
use hob_wire::rooms::session::SessionMessage;
use hob_wire::{EventTopic, Method, WireError};
use serde::Deserialize;

const STATUS: &str = agent::Status::SPEC.name;
const DELTA: &str = RunDelta::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const TOOL: &str = RunTool::SPEC.topic;
const PAUSED: &str = RunPaused::SPEC.topic;
const IN_DOUBT: &str = RunInDoubt::SPEC.topic;
const COMPLETED: &str = agent::RunCompleted::SPEC.topic;
const ASKED: &str = PermissionRequested::SPEC.topic;
const ADDED: &str = SessionMessage::SPEC.topic;

/// The events of a session that a follower needs.
pub(crate) const TOPICS: [&str; 8] = [DELTA, STEP, TOOL, PAUSED, IN_DOUBT, COMPLETED, ASKED, ADDED];

/// Sends events until the run ends. Returns `None` if the client leaves before that.
pub(crate) async fn follow(
    client: &AgentLoopClient,
    connection: &mut BusConnection,
    translator: &mut AgentLoopRunTranslator,
) -> Result<Option<RunCompletedPayload>, WireError> {
    let mut events = Vec::new();
    loop {
        let frame = tokio::select! {
            frame = connection.next_frame() => frame?,
            // Only the events stop here: the run itself continues.
            () = client.disconnected.cancelled() => return Ok(None),
        };
        match bus_connection::parse_message(&frame) {
            Some(BusMessage::Event { topic, payload, .. })
                if is_of_run(payload, translator.run()) =>
            {
                if topic == COMPLETED {
                    return decode(payload).map(Some);
                }
                translate_event(&topic, payload, translator, &mut events)?;
            }
            Some(BusMessage::Event { topic, payload, .. }) if topic == ADDED => {
                translator.note_message(&decode::<AddedMessage>(payload)?);
            }
            Some(BusMessage::Answer { id, outcome }) if id == STATUS => {
                let view = outcome.and_then(decode::<RunView>).ok();
                translator.apply_status(view.as_ref(), &mut events);
            }
            _ => {}
        }
        if translator.take_status_request() {
            let run = run_selector(translator.run());
            connection
                .send_request::<agent::Status>(STATUS, &run)
                .await?;
        }
        // A full channel waits here, so a slow client slows down only its own answer.
        client.emit_all(events.drain(..)).await;
    }
}

/// Translates an event of the followed run.
fn translate_event(
    topic: &str,
    payload: &str,
    translator: &mut AgentLoopRunTranslator,
    events: &mut Vec<AgentLoopEvent>,
) -> Result<(), WireError> {
    match topic {
        DELTA => {
            // An unreadable delta counts as lost; the next offset shows the gap.
            if let Ok(delta) = serde_json::from_str::<BorrowedDelta<'_>>(payload) {
                translator.apply_delta(&delta, events);
            }
        }
        STEP => translator.apply_step(&decode::<RunStepPayload>(payload)?, events),
        TOOL => translator.apply_tool(decode::<RunToolPayload>(payload)?, events),
        ASKED => show_question(&decode(payload)?, translator, events),
        PAUSED => {
            let paused: RunPausedPayload = decode(payload)?;
            events.push(translator.error(paused.message));
        }
        IN_DOUBT => {
            let doubt: RunInDoubtPayload = decode(payload)?;
            events.push(translator.error(format!("{} A person must say.", doubt.known)));
        }
        _ => {}
    }
    Ok(())
}

/// Shows a question that waits for a person. The state alone would not do: AgentLoop's clients
/// show its name and not its detail.
pub(crate) fn show_question(
    question: &PermissionQuestion,
    translator: &mut AgentLoopRunTranslator,
    events: &mut Vec<AgentLoopEvent>,
) {
    if !translator.note_question(&question.id) {
        return;
    }
    let (sentence, id) = (&question.sentence, &question.id);
    let detail = format!("Waits for a person's yes: {sentence}");
    events.push(translator.state(AgentLoopSessionState::ToolUse, &detail));
    let content = format!(
        "hob asks before it goes on: {sentence}\n\nAnswer in another terminal:\n  hob permission answer {id} y\n  hob permission answer {id} n\nWhat exactly will run: hob permission pending"
    );
    events.push(translator.notice(format!("question-{id}"), content));
}

/// Returns true if an event belongs to this run.
fn is_of_run(payload: &str, run: RunId) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RunIdField {
        run_id: RunId,
    }
    serde_json::from_str::<RunIdField>(payload).is_ok_and(|of| of.run_id == run)
}

pub(crate) fn run_selector(run_id: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run_id),
        session_key: None,
    }
}
