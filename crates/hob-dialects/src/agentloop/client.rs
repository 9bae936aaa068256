//! One AgentLoop client and the handling of its commands.
//!
//! Invariants: commands are handled one after the other. Slow ones (answering a message, starting
//! or stopping a service) run in their own tasks, whose number is limited per client.

use crate::agentloop::agent_packs::AgentPacks;
use crate::agentloop::outgoing::{self, AgentLoopEventReceiver, EVENTS_MAX};
use crate::agentloop::session::{AgentLoopRouting, AgentLoopSessionTurns};
use crate::agentloop::turn::AgentLoopTurn;
use crate::agentloop::types::{
    AgentLoopAgent, AgentLoopCommand, AgentLoopEvent, AgentLoopSessionConfigure,
    AgentLoopSessionRef, AgentLoopSessionSend, AgentLoopSessionState, COMMANDS,
};
use crate::agentloop::workspace_packs::{self, WorkspacePacks};
use crate::agentloop::{SURFACE, settings};
use bytes::Bytes;
use hob_bus::Caller;
use hob_gateway::Principal;
use hob_gateway::http::HttpState;
use hob_gateway::websocket::MessageSink;
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{Abort, RunSelector};
use hob_wire::rooms::session::{self, Session, SessionAnnotateParams, SessionCreateParams};
use hob_wire::{ErrorCode, Scope, WireError, frame, limits};
use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Maximum concurrent tasks of a client: messages waiting or being answered, services starting.
const WORK_MAX: usize = 64;
/// Maximum sessions tracked for one client.
const SESSIONS_MAX: usize = 256;

#[derive(Debug)]
pub(crate) struct AgentLoopClient {
    pub(crate) state: Arc<HttpState>,
    pub(crate) principal: Principal,
    pub(crate) caller: Caller,
    /// Cancelled when the client has left.
    pub(crate) disconnected: CancellationToken,
    out: mpsc::Sender<Bytes>,
    work: Arc<Semaphore>,
    // Std mutexes: held for a few lines, never over an await.
    sessions: Mutex<HashMap<String, Arc<AgentLoopSessionTurns>>>,
    /// The name that this client last used for a service, by the service's own name.
    pub(crate) service_names: Mutex<HashMap<String, String>>,
}

impl AgentLoopClient {
    pub(crate) fn new(
        state: Arc<HttpState>,
        principal: Principal,
    ) -> Result<(AgentLoopClient, AgentLoopEventReceiver), WireError> {
        let caller = state.caller(&principal, SURFACE)?;
        let (out, events) = mpsc::channel(EVENTS_MAX);
        let client = AgentLoopClient {
            state,
            principal,
            caller,
            disconnected: CancellationToken::new(),
            out,
            work: Arc::new(Semaphore::new(WORK_MAX)),
            sessions: Mutex::default(),
            service_names: Mutex::default(),
        };
        Ok((client, events))
    }

    /// Sends the list of services, as AgentLoop's clients expect on connect.
    pub(crate) fn start(self: &Arc<Self>) {
        self.spawn(async |client: Arc<AgentLoopClient>| {
            client.send_services().await.or_else(|error| {
                // Without a service room there is nothing to list.
                (error.code == ErrorCode::NoHandler)
                    .then_some(())
                    .ok_or(error)
            })
        });
    }

    pub(crate) fn disconnect(&self) {
        self.disconnected.cancel();
    }

    /// Returns true if messages of this client may name files of this machine.
    pub(crate) fn can_read_files(&self) -> bool {
        self.principal.scopes.allow(Scope::Control)
    }

    pub(crate) async fn emit(&self, event: &AgentLoopEvent) {
        if let Some(event) = outgoing::encode_event(event) {
            // An error means that the socket is closed, so nobody would read the event.
            let _ = self.out.send(event).await;
        }
    }

    pub(crate) async fn emit_all(&self, events: impl IntoIterator<Item = AgentLoopEvent>) {
        for event in events {
            self.emit(&event).await;
        }
    }

    pub(crate) async fn send_status(
        &self,
        session_id: &str,
        status: AgentLoopSessionState,
        detail: &str,
    ) {
        self.emit(&AgentLoopEvent::SessionStatus {
            session_id: session_id.to_owned(),
            status,
            detail: Some(detail.to_owned()),
        })
        .await;
    }

    /// Reports that a message failed and that the session is ready for the next one.
    pub(crate) async fn send_failure(&self, session_id: &str, why: String) {
        self.send_error(Some(session_id), why.clone()).await;
        self.send_status(session_id, AgentLoopSessionState::Error, &why)
            .await;
        self.send_status(session_id, AgentLoopSessionState::Idle, "Ready")
            .await;
    }

    async fn send_error(&self, session_id: Option<&str>, error: String) {
        self.emit(&AgentLoopEvent::Error {
            session_id: session_id.map(str::to_owned),
            error,
        })
        .await;
    }

    async fn handle_command(self: &Arc<Self>, command: AgentLoopCommand) {
        let session_id = match &command {
            AgentLoopCommand::SessionCreate(create) => {
                create.as_ref().and_then(|create| create.session_id.clone())
            }
            AgentLoopCommand::SessionSend(AgentLoopSessionSend { session_id, .. })
            | AgentLoopCommand::SessionConfigure(AgentLoopSessionConfigure {
                session_id, ..
            })
            | AgentLoopCommand::SessionCancel(AgentLoopSessionRef { session_id }) => {
                Some(session_id.clone())
            }
            _ => None,
        };
        let done = match command {
            AgentLoopCommand::SessionCreate(_) => self.create(session_id.as_deref()).await,
            AgentLoopCommand::SessionSend(message) => self.send(message).await,
            AgentLoopCommand::SessionConfigure(change) => self.configure(change).await,
            AgentLoopCommand::SessionCancel(of) => self.cancel(&of.session_id).await,
            AgentLoopCommand::AgentList(_) => {
                self.list_agents().await;
                Ok(())
            }
            AgentLoopCommand::ServiceStart(of) => self.start_service(of.name),
            AgentLoopCommand::ServiceStop(of) => self.stop_service(of.name),
            AgentLoopCommand::ServiceStatus(of) => self.query_services(of.unwrap_or_default().name),
        };
        if let Err(error) = done {
            self.send_error(session_id.as_deref(), error.message).await;
        }
    }

    async fn create(self: &Arc<Self>, id: Option<&str>) -> Result<(), WireError> {
        let session = self.open_session(id).await?;
        let session_id = id.map_or_else(|| session.id.to_string(), str::to_owned);
        let created = AgentLoopEvent::SessionCreated {
            session_id: session_id.clone(),
        };
        self.emit(&created).await;
        if !self.attach(&session_id, &session.session_key).await? {
            self.send_status(&session_id, AgentLoopSessionState::Idle, "Session ready")
                .await;
        }
        Ok(())
    }

    async fn send(self: &Arc<Self>, message: AgentLoopSessionSend) -> Result<(), WireError> {
        let session = self.open_session(Some(&message.session_id)).await?;
        let session_turns = self.session_turns(&session.session_key)?;
        // An answer that began on another connection is shown first.
        if !session_turns.is_busy() {
            self.attach(&message.session_id, &session.session_key)
                .await?;
        }
        let turn = AgentLoopTurn {
            client: Arc::clone(self),
            cancel_count: session_turns.cancel_count(),
            session_id: message.session_id,
            session_key: session.session_key,
            routing: AgentLoopRouting::from_metadata(&session.metadata),
            content: message.content,
            images: message.images.unwrap_or_default(),
            session_turns,
        };
        self.spawn_turn(&Arc::clone(&turn.session_turns), turn.run())
    }

    /// Runs a turn of a session in its own task. A turn ends its count itself.
    pub(crate) fn spawn_turn(
        &self,
        session_turns: &AgentLoopSessionTurns,
        turn: impl Future<Output = ()> + Send + 'static,
    ) -> Result<(), WireError> {
        // Refused rather than queued: the client can wait, and hob's memory stays bounded.
        let permit = Arc::clone(&self.work).try_acquire_owned();
        let permit = permit.map_err(|_| overloaded())?;
        // Counted before the task starts, so that a cancel right after this command sees the turn.
        session_turns.turn_began();
        self.state.shared.tasks.spawn("agentloop-turn", async move {
            turn.await;
            drop(permit);
        });
        Ok(())
    }

    async fn configure(&self, change: AgentLoopSessionConfigure) -> Result<(), WireError> {
        let session_id = change.session_id.clone();
        let session = self.open_session(Some(&session_id)).await?;
        let mut routing = AgentLoopRouting::from_metadata(&session.metadata);
        let packs = self.packs().await.packs;
        routing
            .apply(change, &packs)
            .map_err(|why| WireError::new(ErrorCode::InvalidParams, why))?;
        let annotation = SessionAnnotateParams {
            session_key: session.session_key.clone(),
            metadata: routing.metadata_entry(),
        };
        self.caller.call::<session::Annotate>(&annotation).await?;
        let state = if self.session_turns(&session.session_key)?.is_busy() {
            AgentLoopSessionState::Thinking
        } else {
            AgentLoopSessionState::Idle
        };
        self.send_status(&session_id, state, &routing.summary())
            .await;
        Ok(())
    }

    async fn cancel(&self, session_id: &str) -> Result<(), WireError> {
        let params = session::SessionGetParams {
            session_key: session_id.to_owned(),
        };
        let session = self.caller.call::<session::Get>(&params).await?;
        let session_turns = self.session_turns(&session.session_key)?;
        let was_busy = session_turns.is_busy();
        // The count is raised before the abort: a turn that is accepted in between aborts itself.
        session_turns.cancel();
        let of_session = RunSelector {
            session_key: Some(session.session_key),
            run_id: None,
        };
        match self.caller.call::<Abort>(&of_session).await {
            Ok(_) => {}
            // Nothing runs yet. A turn that is about to start sees the new cancel count.
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
        // A stopped turn reports it itself, after its last event.
        if !was_busy {
            self.send_status(session_id, AgentLoopSessionState::Idle, "Cancelled")
                .await;
        }
        Ok(())
    }

    /// The folder in which this client's runs work. A client that may not act on this machine has
    /// none.
    pub(crate) fn workspace(&self) -> Option<String> {
        let folder = settings::workspace(&self.state.shared.settings.borrow());
        folder.filter(|_| self.can_read_files())
    }

    /// Returns the agents, with those of the workspace.
    pub(crate) async fn packs(&self) -> WorkspacePacks {
        let built_in = || WorkspacePacks {
            packs: AgentPacks::built_in(),
            refused: Vec::new(),
        };
        let Some(folder) = self.workspace() else {
            return built_in();
        };
        let shared = &self.state.shared;
        let (home, mask) = (shared.home.clone(), shared.mask.clone());
        let load = move || workspace_packs::load(Path::new(&folder), &home, &mask);
        // On a blocking thread, because the folder may be on a slow disk.
        let loaded = tokio::task::spawn_blocking(load).await;
        loaded.unwrap_or_else(|_| built_in())
    }

    /// Sends the agents, and why a file of the workspace is not among them.
    async fn list_agents(&self) {
        let loaded = self.packs().await;
        let agents = loaded.packs.iter().map(|pack| AgentLoopAgent {
            name: pack.name.clone(),
            description: Some(pack.about.clone()),
            tools: pack.tools.clone(),
        });
        self.emit(&AgentLoopEvent::AgentList {
            agents: agents.collect(),
        })
        .await;
        for why in loaded.refused {
            self.send_error(None, why).await;
        }
    }

    /// Returns the session of this id and creates it if it is missing.
    async fn open_session(&self, id: Option<&str>) -> Result<Session, WireError> {
        let mut params = SessionCreateParams::default();
        match id.map(SessionRef::parse) {
            None => {}
            Some(SessionRef::Id(id)) => params.id = Some(id),
            Some(SessionRef::Key(key)) => params.session_key = Some(key),
        }
        let created = self.caller.call::<session::Create>(&params).await?;
        Ok(created.session)
    }

    pub(crate) fn session_turns(
        &self,
        session_key: &str,
    ) -> Result<Arc<AgentLoopSessionTurns>, WireError> {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(session_turns) = sessions.get(session_key) {
            return Ok(Arc::clone(session_turns));
        }
        // Idle sessions hold no state that matters, so they are forgotten first.
        if sessions.len() >= SESSIONS_MAX {
            sessions.retain(|_, session_turns| session_turns.is_busy());
        }
        if sessions.len() >= SESSIONS_MAX {
            return Err(overloaded());
        }
        let session_turns = Arc::new(AgentLoopSessionTurns::default());
        sessions.insert(session_key.to_owned(), Arc::clone(&session_turns));
        Ok(session_turns)
    }

    pub(crate) fn spawn_work<W, T>(self: &Arc<Self>, work: W) -> Result<(), WireError>
    where
        W: FnOnce(Arc<AgentLoopClient>) -> T + Send + 'static,
        T: Future<Output = Result<(), WireError>> + Send + 'static,
    {
        if self.spawn(work) {
            return Ok(());
        }
        Err(overloaded())
    }

    /// Runs `work` in its own task and reports its error. Returns false if the limit is reached.
    fn spawn<W, T>(self: &Arc<Self>, work: W) -> bool
    where
        W: FnOnce(Arc<AgentLoopClient>) -> T + Send + 'static,
        T: Future<Output = Result<(), WireError>> + Send + 'static,
    {
        let Ok(permit) = Arc::clone(&self.work).try_acquire_owned() else {
            return false;
        };
        let client = Arc::clone(self);
        self.state.shared.tasks.spawn("agentloop-work", async move {
            if let Err(error) = work(Arc::clone(&client)).await {
                client.send_error(None, error.message).await;
            }
            drop(permit);
        });
        true
    }
}

/// The receiver of a client's messages.
pub(crate) struct AgentLoopMessageSink(pub(crate) Arc<AgentLoopClient>);

impl MessageSink for AgentLoopMessageSink {
    async fn receive_text(&self, text: Bytes) {
        match parse_command(&text) {
            Ok(command) => self.0.handle_command(command).await,
            Err(why) => self.0.send_error(None, why).await,
        }
    }

    async fn receive_binary(&self) {
        let why = "A command is a text message; this one is binary.";
        self.0.send_error(None, why.to_owned()).await;
    }
}

/// Parses a command, or returns the reason why it is invalid.
fn parse_command(text: &[u8]) -> Result<AgentLoopCommand, String> {
    let text = std::str::from_utf8(text).map_err(|_| "A command is UTF-8.".to_owned())?;
    let unread = |failure: &dyn std::fmt::Display| format!("Failed to parse message: {failure}");
    if !frame::is_depth_within(text, limits::JSON_DEPTH_MAX) {
        return Err(unread(&"it nests too deeply"));
    }
    // Parsed in two steps, so that an unknown command gets a plain error with all known ones.
    let command: Value = serde_json::from_str(text).map_err(|failure| unread(&failure))?;
    match command.get("type").and_then(Value::as_str) {
        Some(kind) if COMMANDS.contains(&kind) => {}
        Some(kind) => {
            // The client's text is repeated in the error, so it is shortened.
            let kind: String = kind.chars().take(64).collect();
            return Err(format!(
                "Invalid command: there is no '{kind}'; there are {}.",
                COMMANDS.join(", ")
            ));
        }
        None => return Err("Invalid command: it has no 'type'.".to_owned()),
    }
    serde_json::from_value(command).map_err(|failure| format!("Invalid command: {failure}"))
}

fn overloaded() -> WireError {
    let message = "This connection has too much under way; wait for something to end.";
    WireError::new(ErrorCode::Overloaded, message)
}
