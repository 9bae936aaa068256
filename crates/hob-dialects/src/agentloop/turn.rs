//! Answers one message of a client: routes it, runs it, and sends its events in AgentLoop's order.
//!
//! Invariants: the turns of a session run one after the other. An accepted run continues when its
//! client leaves. A run that is cancelled before it is accepted is stopped as soon as it is
//! accepted.

use crate::agentloop::SURFACE;
use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::images;
use crate::agentloop::run_translator::{AddedMessage, AgentLoopRunTranslator};
use crate::agentloop::session::{AgentLoopRouting, AgentLoopSessionTurns};
use crate::agentloop::types::{AgentLoopEvent, AgentLoopSessionState};
use hob_gateway::bus_connection::{self, BusConnection, BusMessage, decode};
use hob_gateway::openai::{BorrowedDelta, tool_ceiling};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, AgentRunParams, InlineImage, RunCompletedPayload, RunDelta, RunInDoubt,
    RunInDoubtPayload, RunPaused, RunPausedPayload, RunSelector, RunStep, RunStepPayload, RunTool,
    RunToolPayload, RunView,
};
use hob_wire::rooms::permission::{PermissionQuestion, PermissionRequested};
use hob_wire::rooms::session::SessionMessage;
use hob_wire::rooms::tool;
use hob_wire::{ErrorCode, EventTopic, Method, WireError};
use serde::Deserialize;
use serde_json::json;
use std::sync::Arc;

const STATUS: &str = agent::Status::SPEC.name;
const DELTA: &str = RunDelta::SPEC.topic;
const STEP: &str = RunStep::SPEC.topic;
const TOOL: &str = RunTool::SPEC.topic;
const PAUSED: &str = RunPaused::SPEC.topic;
const IN_DOUBT: &str = RunInDoubt::SPEC.topic;
const COMPLETED: &str = agent::RunCompleted::SPEC.topic;
const ASKED: &str = PermissionRequested::SPEC.topic;
const ADDED: &str = SessionMessage::SPEC.topic;

/// A message to answer.
#[derive(Debug)]
pub(crate) struct AgentLoopTurn {
    pub(crate) client: Arc<AgentLoopClient>,
    pub(crate) session_turns: Arc<AgentLoopSessionTurns>,
    /// The session's cancel count when the message arrived.
    pub(crate) cancel_count: u64,
    /// The session's id as the client uses it.
    pub(crate) session_id: String,
    /// The session's key on the bus.
    pub(crate) session_key: String,
    pub(crate) routing: AgentLoopRouting,
    pub(crate) content: String,
    /// Paths of image files.
    pub(crate) images: Vec<String>,
}

impl AgentLoopTurn {
    pub(crate) async fn run(self) {
        let client = Arc::clone(&self.client);
        let session_turns = Arc::clone(&self.session_turns);
        let turn_guard = session_turns.turn_lock.lock().await;
        // The turn may have been cancelled while it waited for the lock.
        if !self.is_cancelled() {
            let session_id = self.session_id.clone();
            if let Err(error) = self.answer().await {
                client.send_failure(&session_id, error.message).await;
            }
        }
        // Released before the turn counts as ended, because an idle session may be forgotten with
        // its lock.
        drop(turn_guard);
        session_turns.turn_ended();
    }

    fn is_cancelled(&self) -> bool {
        self.session_turns.cancel_count() != self.cancel_count
    }

    async fn answer(mut self) -> Result<(), WireError> {
        let clock = self.client.state.shared.clock.clone();
        let began = clock.monotonic_ms();
        let images = self.read_images().await?;
        let params = self.route(images).await?;
        let mut connection = self.client.connect()?;
        let topics = [DELTA, STEP, TOOL, PAUSED, IN_DOUBT, COMPLETED, ASKED, ADDED];
        connection
            .subscribe_session(&topics, &self.session_key)
            .await?;
        let accepted = connection.call::<agent::Run>(&params).await?;
        // A cancel between the start of the turn and this point found no run to abort.
        if self.is_cancelled() {
            self.abort(accepted.run_id).await;
        }
        let mut translator = AgentLoopRunTranslator::new(self.session_id.clone(), accepted.run_id);
        let Some(end) = self.follow(&mut connection, &mut translator).await? else {
            return Ok(());
        };
        let meta = json!({
            "model": end.model,
            "inputTokens": end.cost.input_tokens,
            "outputTokens": end.cost.output_tokens,
        });
        let mut events = Vec::new();
        translator.finish(end, &mut events);
        events.push(AgentLoopEvent::PerfMetric {
            session_id: Some(self.session_id.clone()),
            name: "turn.total".to_owned(),
            duration_ms: clock.monotonic_ms().saturating_sub(began),
            meta: Some(meta),
        });
        self.client.emit_all(events).await;
        Ok(())
    }

    async fn read_images(&mut self) -> Result<Vec<InlineImage>, WireError> {
        let refused = |why: String| WireError::new(ErrorCode::InvalidParams, why);
        let paths = std::mem::take(&mut self.images);
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        if !self.client.can_read_files() {
            let why =
                "This token may not name files of this machine; that needs the scope 'control'.";
            return Err(WireError::new(ErrorCode::Forbidden, why));
        }
        let home = self.client.state.shared.home.clone();
        // Reading up to 5 MiB from any disk would block the runtime.
        let read = tokio::task::spawn_blocking(move || images::read_images(&paths, &home)).await;
        let read = read.map_err(|_| refused("The pictures could not be read.".to_owned()))?;
        read.map_err(refused)
    }

    /// Chooses the agent, announces it, and returns the params of the run.
    async fn route(&self, images: Vec<InlineImage>) -> Result<AgentRunParams, WireError> {
        let clock = &self.client.state.shared.clock;
        let began = clock.monotonic_ms();
        let (routing_mode, pack, reason) = self.routing.route(&self.content);
        let available = self.client.list_tools().await?;
        let tools: Vec<String> = pack
            .tools
            .iter()
            // A pack may name tools that are not installed here.
            .filter(|name| available.iter().any(|tool| tool.name == **name))
            .map(|&name| name.to_owned())
            .collect();
        self.client
            .emit(&AgentLoopEvent::RouterDecision {
                session_id: self.session_id.clone(),
                routing_mode,
                agent: pack.name.to_owned(),
                tools_allowed: tools.clone(),
                reason: Some(reason),
                duration_ms: Some(clock.monotonic_ms().saturating_sub(began)),
            })
            .await;
        self.client
            .send_status(&self.session_id, AgentLoopSessionState::Thinking, pack.name)
            .await;
        Ok(AgentRunParams {
            session_key: self.session_key.clone(),
            task: self.content.clone(),
            images,
            system: Some(self.routing.system_prompt(pack)),
            tools: Some(tools),
            ceiling: tool_ceiling(&self.client.principal),
            ..AgentRunParams::default()
        })
    }

    async fn abort(&self, run_id: RunId) {
        let aborted = self
            .client
            .caller
            .call::<agent::Abort>(&run_selector(run_id))
            .await;
        if let Err(error) = aborted {
            tracing::debug!(%run_id, "a cancelled run could not be stopped: {error}");
        }
    }

    /// Sends events until the run ends. Returns `None` if the client leaves before that.
    async fn follow(
        &self,
        connection: &mut BusConnection,
        translator: &mut AgentLoopRunTranslator,
    ) -> Result<Option<RunCompletedPayload>, WireError> {
        let mut events = Vec::new();
        loop {
            let frame = tokio::select! {
                frame = connection.next_frame() => frame?,
                // Only the events stop here: the run itself continues.
                () = self.client.disconnected.cancelled() => return Ok(None),
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
            self.client.emit_all(events.drain(..)).await;
        }
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
        ASKED => {
            let question: PermissionQuestion = decode(payload)?;
            let detail = format!("Waits for a person's yes: {}", question.sentence);
            events.push(translator.state(AgentLoopSessionState::ToolUse, &detail));
        }
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

/// Returns true if an event belongs to this run.
fn is_of_run(payload: &str, run: RunId) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct RunIdField {
        run_id: RunId,
    }
    serde_json::from_str::<RunIdField>(payload).is_ok_and(|of| of.run_id == run)
}

fn run_selector(run_id: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run_id),
        session_key: None,
    }
}

impl AgentLoopClient {
    /// Returns the available tools.
    async fn list_tools(&self) -> Result<Vec<tool::ToolSpec>, WireError> {
        let all = tool::ToolListParams::default();
        match self.caller.call::<tool::List>(&all).await {
            Ok(listed) => Ok(listed.tools),
            Err(error) if error.code == ErrorCode::NoHandler => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn connect(&self) -> Result<BusConnection, WireError> {
        let trace: Arc<str> = self.state.shared.randomness.hex(8).into();
        BusConnection::open(&self.state, &self.principal, SURFACE, trace)
    }
}
