//! One message of a client, answered: routed, run, and told in AgentLoop's order.
//!
//! Invariants: turns of one session follow each other; a run that was accepted goes on when its
//! client leaves, as a message does that was sent; one that was cancelled before it was accepted
//! is stopped as soon as it is.

use crate::agentloop::SURFACE;
use crate::agentloop::client::Client;
use crate::agentloop::pictures;
use crate::agentloop::place::{Manner, Place};
use crate::agentloop::story::{Added, Story};
use crate::line::{self, Heard, Line, decode};
use crate::openai::{Delta, ceiling};
use hob_wire::agentloop::{Event, SessionState};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    self, Image, RunCompletedPayload, RunDelta, RunInDoubt, RunInDoubtPayload, RunParams,
    RunPaused, RunPausedPayload, RunSelector, RunStep, RunStepPayload, RunTool, RunToolPayload,
    RunView,
};
use hob_wire::rooms::permission::{PermissionRequested, Question};
use hob_wire::rooms::session::SessionMessage;
use hob_wire::rooms::tool;
use hob_wire::{ErrorCode, Method, Topic, WireError};
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

/// A message to be answered.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) client: Arc<Client>,
    pub(crate) place: Arc<Place>,
    /// How often the session had been cancelled when the message came.
    pub(crate) cancels: u64,
    /// The session as the client names it, and as the house does.
    pub(crate) session_id: String,
    pub(crate) session_key: String,
    pub(crate) manner: Manner,
    pub(crate) content: String,
    /// Paths of pictures.
    pub(crate) images: Vec<String>,
}

impl Turn {
    pub(crate) async fn run(self) {
        let client = Arc::clone(&self.client);
        let place = Arc::clone(&self.place);
        let order = place.order.lock().await;
        if !self.is_cancelled() {
            let session_id = self.session_id.clone();
            if let Err(error) = self.answer().await {
                client.fail(&session_id, error.message).await;
            }
        }
        drop(order);
        place.turn_ended();
    }

    fn is_cancelled(&self) -> bool {
        self.place.cancels() != self.cancels
    }

    async fn answer(mut self) -> Result<(), WireError> {
        let clock = self.client.desk.shared.clock.clone();
        let began = clock.monotonic_ms();
        let images = self.pictures().await?;
        let params = self.route(images).await?;
        let mut line = self.client.line()?;
        let topics = [DELTA, STEP, TOOL, PAUSED, IN_DOUBT, COMPLETED, ASKED, ADDED];
        line.hear(&topics, &self.session_key).await?;
        let accepted = line.call::<agent::Run>(&params).await?;
        if self.is_cancelled() {
            self.abort(accepted.run_id).await;
        }
        let mut story = Story::new(self.session_id.clone(), accepted.run_id);
        let Some(end) = self.follow(&mut line, &mut story).await? else {
            return Ok(());
        };
        let meta = json!({
            "model": end.model,
            "inputTokens": end.cost.input_tokens,
            "outputTokens": end.cost.output_tokens,
        });
        let mut events = Vec::new();
        story.ended(end, &mut events);
        events.push(Event::PerfMetric {
            session_id: Some(self.session_id.clone()),
            name: "turn.total".to_owned(),
            duration_ms: clock.monotonic_ms().saturating_sub(began),
            meta: Some(meta),
        });
        self.client.emit_all(events).await;
        Ok(())
    }

    async fn pictures(&mut self) -> Result<Vec<Image>, WireError> {
        let refused = |why: String| WireError::new(ErrorCode::InvalidParams, why);
        let paths = std::mem::take(&mut self.images);
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        if !self.client.may_name_files() {
            let why =
                "This token may not name files of this machine; that needs the scope 'control'.";
            return Err(WireError::new(ErrorCode::Forbidden, why));
        }
        let home = self.client.desk.shared.home.clone();
        let read = tokio::task::spawn_blocking(move || pictures::read(&paths, &home)).await;
        let read = read.map_err(|_| refused("The pictures could not be read.".to_owned()))?;
        read.map_err(refused)
    }

    /// Says who answers, and makes the run that is asked for.
    async fn route(&self, images: Vec<Image>) -> Result<RunParams, WireError> {
        let clock = &self.client.desk.shared.clock;
        let began = clock.monotonic_ms();
        let (routing_mode, pack, reason) = self.manner.route(&self.content);
        let there = self.client.tools().await?;
        let tools: Vec<String> = pack
            .tools
            .iter()
            .filter(|name| there.iter().any(|tool| tool.name == **name))
            .map(|&name| name.to_owned())
            .collect();
        self.client
            .emit(&Event::RouterDecision {
                session_id: self.session_id.clone(),
                routing_mode,
                agent: pack.name.to_owned(),
                tools_allowed: tools.clone(),
                reason: Some(reason),
                duration_ms: Some(clock.monotonic_ms().saturating_sub(began)),
            })
            .await;
        self.client
            .tell(&self.session_id, SessionState::Thinking, pack.name)
            .await;
        Ok(RunParams {
            session_key: self.session_key.clone(),
            task: self.content.clone(),
            images,
            system: Some(self.manner.system(pack)),
            tools: Some(tools),
            ceiling: ceiling(&self.client.principal),
            ..RunParams::default()
        })
    }

    async fn abort(&self, run_id: RunId) {
        let aborted = self
            .client
            .caller
            .call::<agent::Abort>(&of_run(run_id))
            .await;
        if let Err(error) = aborted {
            tracing::debug!(%run_id, "a cancelled run was not stopped: {error}");
        }
    }

    /// Tells what happens until the end; nothing if the client leaves before it.
    async fn follow(
        &self,
        line: &mut Line,
        story: &mut Story,
    ) -> Result<Option<RunCompletedPayload>, WireError> {
        let mut events = Vec::new();
        loop {
            let frame = tokio::select! {
                frame = line.frame() => frame?,
                () = self.client.gone.cancelled() => return Ok(None),
            };
            match line::read(&frame) {
                Some(Heard::Event { topic, payload, .. }) if is_of(payload, story.run()) => {
                    if topic == COMPLETED {
                        return decode(payload).map(Some);
                    }
                    hear(&topic, payload, story, &mut events)?;
                }
                Some(Heard::Event { topic, payload, .. }) if topic == ADDED => {
                    story.message(&decode::<Added>(payload)?);
                }
                Some(Heard::Answer { id, outcome }) if id == STATUS => {
                    let view = outcome.and_then(decode::<RunView>).ok();
                    story.status(view.as_ref(), &mut events);
                }
                _ => {}
            }
            if story.asks_status() {
                let run = of_run(story.run());
                line.ask::<agent::Status>(STATUS, &run).await?;
            }
            self.client.emit_all(events.drain(..)).await;
        }
    }
}

/// Takes up an event of the run that is followed.
fn hear(
    topic: &str,
    payload: &str,
    story: &mut Story,
    events: &mut Vec<Event>,
) -> Result<(), WireError> {
    match topic {
        DELTA => {
            if let Ok(delta) = serde_json::from_str::<Delta<'_>>(payload) {
                story.delta(&delta, events);
            }
        }
        STEP => story.step(&decode::<RunStepPayload>(payload)?, events),
        TOOL => story.tool(decode::<RunToolPayload>(payload)?, events),
        ASKED => {
            let question: Question = decode(payload)?;
            let detail = format!("Waits for a person's yes: {}", question.sentence);
            events.push(story.state(SessionState::ToolUse, &detail));
        }
        PAUSED => {
            let paused: RunPausedPayload = decode(payload)?;
            events.push(story.error(paused.message));
        }
        IN_DOUBT => {
            let doubt: RunInDoubtPayload = decode(payload)?;
            events.push(story.error(format!("{} A person must say.", doubt.known)));
        }
        _ => {}
    }
    Ok(())
}

/// Whether an event is about this run.
fn is_of(payload: &str, run: RunId) -> bool {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Of {
        run_id: RunId,
    }
    serde_json::from_str::<Of>(payload).is_ok_and(|of| of.run_id == run)
}

fn of_run(run_id: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run_id),
        session_key: None,
    }
}

impl Client {
    /// The tools there are.
    async fn tools(&self) -> Result<Vec<tool::ToolSpec>, WireError> {
        let all = tool::ListParams::default();
        match self.caller.call::<tool::List>(&all).await {
            Ok(listed) => Ok(listed.tools),
            Err(error) if error.code == ErrorCode::NoHandler => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    fn line(&self) -> Result<Line, WireError> {
        let trace: Arc<str> = self.desk.shared.dice.hex(8).into();
        if self.granted {
            return Line::open_granted(&self.desk, &self.principal, SURFACE, trace);
        }
        Line::open(&self.desk, &self.principal, SURFACE, trace)
    }
}
