//! Answers one message of a client: routes it, runs it, and sends its events in AgentLoop's order.
//!
//! Invariants: the turns of a session run one after the other. An accepted run continues when its
//! client leaves. A run that is cancelled before it is accepted is stopped as soon as it is
//! accepted.

use crate::agentloop::SURFACE;
use crate::agentloop::agent_packs::AgentPack;
use crate::agentloop::client::AgentLoopClient;
use crate::agentloop::images;
use crate::agentloop::run_follower::{self, TOPICS, run_selector};
use crate::agentloop::run_translator::AgentLoopRunTranslator;
use crate::agentloop::session::{AgentLoopRouting, AgentLoopSessionTurns};
use crate::agentloop::types::{AgentLoopEvent, AgentLoopSessionState};
use hob_gateway::bus_connection::BusConnection;
use hob_gateway::openai::tool_ceiling;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{self, AgentRunParams, InlineImage};
use hob_wire::rooms::tool;
use hob_wire::{ErrorCode, WireError};
use serde_json::json;
use std::sync::Arc;

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
        connection
            .subscribe_session(&TOPICS, &self.session_key)
            .await?;
        let accepted = connection.call::<agent::Run>(&params).await?;
        // A cancel between the start of the turn and this point found no run to abort.
        if self.is_cancelled() {
            self.abort(accepted.run_id).await;
        }
        let mut translator = AgentLoopRunTranslator::new(self.session_id.clone(), accepted.run_id);
        let client = &self.client;
        let Some(end) = run_follower::follow(client, &mut connection, &mut translator).await?
        else {
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
        let packs = self.client.packs().await.packs;
        let (routing_mode, pack, reason) = self.routing.route(&self.content, &packs);
        let tools = usable_tools(pack, &self.client.list_tools().await?);
        self.client
            .emit(&AgentLoopEvent::RouterDecision {
                session_id: self.session_id.clone(),
                routing_mode,
                agent: pack.name.clone(),
                tools_allowed: tools.clone(),
                reason: Some(reason),
                duration_ms: Some(clock.monotonic_ms().saturating_sub(began)),
            })
            .await;
        self.client
            .send_status(
                &self.session_id,
                AgentLoopSessionState::Thinking,
                &pack.name,
            )
            .await;
        Ok(AgentRunParams {
            session_key: self.session_key.clone(),
            task: self.content.clone(),
            images,
            system: Some(self.routing.system_prompt(pack)),
            tools: Some(tools),
            workspace: self.client.workspace(),
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
}

/// Returns the tools of an agent that there are, by their own names. A file of a workspace may name
/// AgentLoop's tools, which are aliases here, and tools that nobody has.
fn usable_tools(pack: &AgentPack, available: &[tool::ToolSpec]) -> Vec<String> {
    let is_named =
        |tool: &&tool::ToolSpec, name: &String| tool.name == *name || tool.aliases.contains(name);
    let mut tools: Vec<String> = Vec::new();
    for name in &pack.tools {
        let found = available.iter().find(|tool| is_named(tool, name));
        if let Some(tool) = found
            && !tools.contains(&tool.name)
        {
            tools.push(tool.name.clone());
        }
    }
    tools
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

    pub(crate) fn connect(&self) -> Result<BusConnection, WireError> {
        let trace: Arc<str> = self.state.shared.randomness.hex(8).into();
        BusConnection::open(&self.state, &self.principal, SURFACE, trace)
    }
}
