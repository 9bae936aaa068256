//! One client of AgentLoop's dialect, and what each of its commands does.
//!
//! Invariants: commands are taken one after the other; those that take long (a message answered, a
//! service started or stopped) go on in tasks of their own, of which a client has a bounded number.

use crate::agentloop::place::{Manner, Place};
use crate::agentloop::source::{self, EVENTS_MAX, Events};
use crate::agentloop::turn::Turn;
use crate::agentloop::{SURFACE, services};
use crate::book::Principal;
use crate::http::Desk;
use crate::shared;
use crate::websocket::Inlet;
use bytes::Bytes;
use hob_bus::Caller;
use hob_core::packs;
use hob_wire::agentloop::{
    Agent, COMMANDS, Command, Event, OfSession, SessionConfigure, SessionSend, SessionState,
};
use hob_wire::id::SessionRef;
use hob_wire::rooms::agent::{Abort, RunSelector};
use hob_wire::rooms::service::{self, ListParams, NameParams, StartParams};
use hob_wire::rooms::session::{self, AnnotateParams, CreateParams, Session};
use hob_wire::{ErrorCode, Scope, WireError, frame, limits};
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Things a client may have under way: messages waiting or being answered, services starting.
const WORK_MAX: usize = 64;
/// Sessions of one client whose turns are kept apart.
const PLACES_MAX: usize = 256;
/// Names of services a client is known to use.
const NAMES_MAX: usize = 64;

#[derive(Debug)]
pub(crate) struct Client {
    pub(crate) desk: Arc<Desk>,
    pub(crate) principal: Principal,
    /// Let in without a token.
    pub(crate) granted: bool,
    pub(crate) caller: Caller,
    /// Cancelled when the client has left.
    pub(crate) gone: CancellationToken,
    out: mpsc::Sender<Bytes>,
    work: Arc<Semaphore>,
    /// Locks of a few lines.
    places: Mutex<HashMap<String, Arc<Place>>>,
    /// The name by which this client last asked for a service, by the service's own.
    names: Mutex<HashMap<String, String>>,
}

impl Client {
    pub(crate) fn new(
        desk: Arc<Desk>,
        principal: Principal,
        granted: bool,
    ) -> Result<(Client, Events), WireError> {
        let peer = shared::peer(&principal, SURFACE);
        let caller = desk.shared.bus.caller_as(peer)?;
        let (out, events) = mpsc::channel(EVENTS_MAX);
        let client = Client {
            desk,
            principal,
            granted,
            caller,
            gone: CancellationToken::new(),
            out,
            work: Arc::new(Semaphore::new(WORK_MAX)),
            places: Mutex::default(),
            names: Mutex::default(),
        };
        Ok((client, events))
    }

    /// Tells what services there are, without being asked.
    pub(crate) fn begin(self: &Arc<Self>) {
        self.spawn(None, async |client: Arc<Client>| {
            client.tell_services().await.or_else(|error| {
                // A house without services has none to tell of.
                (error.code == ErrorCode::NoHandler)
                    .then_some(())
                    .ok_or(error)
            })
        });
    }

    pub(crate) fn end(&self) {
        self.gone.cancel();
    }

    /// Whether its messages may name files of this machine.
    pub(crate) fn may_name_files(&self) -> bool {
        self.granted || self.principal.scopes.allow(Scope::Control)
    }

    /// The name by which this client knows a service.
    pub(crate) fn name_of(&self, service: &str) -> String {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names
            .get(service)
            .map_or(service, String::as_str)
            .to_owned()
    }

    pub(crate) async fn emit(&self, event: &Event) {
        if let Some(event) = source::encode(event) {
            // Nobody reads any more: the socket is gone.
            let _ = self.out.send(event).await;
        }
    }

    pub(crate) async fn emit_all(&self, events: impl IntoIterator<Item = Event>) {
        for event in events {
            self.emit(&event).await;
        }
    }

    pub(crate) async fn tell(&self, session_id: &str, status: SessionState, detail: &str) {
        self.emit(&Event::SessionStatus {
            session_id: session_id.to_owned(),
            status,
            detail: Some(detail.to_owned()),
        })
        .await;
    }

    /// Tells that a message could not be answered, and that the next one may come.
    pub(crate) async fn fail(&self, session_id: &str, why: String) {
        self.refuse(Some(session_id), why.clone()).await;
        self.tell(session_id, SessionState::Error, &why).await;
        self.tell(session_id, SessionState::Idle, "Ready").await;
    }

    async fn refuse(&self, session_id: Option<&str>, error: String) {
        self.emit(&Event::Error {
            session_id: session_id.map(str::to_owned),
            error,
        })
        .await;
    }

    async fn obey(self: &Arc<Self>, command: Command) {
        let session_id = match &command {
            Command::SessionCreate(create) => {
                create.as_ref().and_then(|create| create.session_id.clone())
            }
            Command::SessionSend(SessionSend { session_id, .. })
            | Command::SessionConfigure(SessionConfigure { session_id, .. })
            | Command::SessionCancel(OfSession { session_id }) => Some(session_id.clone()),
            _ => None,
        };
        let done = match command {
            Command::SessionCreate(_) => self.create(session_id.as_deref()).await,
            Command::SessionSend(message) => self.send(message).await,
            Command::SessionConfigure(change) => self.configure(change).await,
            Command::SessionCancel(of) => self.cancel(&of.session_id).await,
            Command::AgentList(_) => {
                self.emit(&agents()).await;
                Ok(())
            }
            Command::ServiceStart(of) => self.start_service(of.name),
            Command::ServiceStop(of) => self.stop_service(of.name),
            Command::ServiceStatus(of) => self.ask_services(of.unwrap_or_default().name),
        };
        if let Err(error) = done {
            self.refuse(session_id.as_deref(), error.message).await;
        }
    }

    async fn create(&self, id: Option<&str>) -> Result<(), WireError> {
        let session = self.session(id).await?;
        let session_id = id.map_or_else(|| session.id.to_string(), str::to_owned);
        let created = Event::SessionCreated {
            session_id: session_id.clone(),
        };
        self.emit(&created).await;
        self.tell(&session_id, SessionState::Idle, "Session ready")
            .await;
        Ok(())
    }

    async fn send(self: &Arc<Self>, message: SessionSend) -> Result<(), WireError> {
        let session = self.session(Some(&message.session_id)).await?;
        let place = self.place(&session.session_key)?;
        let turn = Turn {
            client: Arc::clone(self),
            cancels: place.cancels(),
            session_id: message.session_id,
            session_key: session.session_key,
            manner: Manner::read(&session.metadata),
            content: message.content,
            images: message.images.unwrap_or_default(),
            place,
        };
        let permit = Arc::clone(&self.work).try_acquire_owned();
        let permit = permit.map_err(|_| too_much())?;
        turn.place.turn_began();
        self.desk.shared.tasks.spawn("agentloop-turn", async move {
            turn.run().await;
            drop(permit);
        });
        Ok(())
    }

    async fn configure(&self, change: SessionConfigure) -> Result<(), WireError> {
        let session_id = change.session_id.clone();
        let session = self.session(Some(&session_id)).await?;
        let mut manner = Manner::read(&session.metadata);
        manner
            .change(change)
            .map_err(|why| WireError::new(ErrorCode::InvalidParams, why))?;
        let annotation = AnnotateParams {
            session_key: session.session_key.clone(),
            metadata: manner.entry(),
        };
        self.caller.call::<session::Annotate>(&annotation).await?;
        let state = if self.place(&session.session_key)?.is_busy() {
            SessionState::Thinking
        } else {
            SessionState::Idle
        };
        self.tell(&session_id, state, &manner.summary()).await;
        Ok(())
    }

    async fn cancel(&self, session_id: &str) -> Result<(), WireError> {
        let params = session::GetParams {
            session_key: session_id.to_owned(),
        };
        let session = self.caller.call::<session::Get>(&params).await?;
        let place = self.place(&session.session_key)?;
        let was_busy = place.is_busy();
        place.cancel();
        let of_session = RunSelector {
            session_key: Some(session.session_key),
            run_id: None,
        };
        match self.caller.call::<Abort>(&of_session).await {
            Ok(_) => {}
            // Nothing runs; what is about to be asked for stops itself.
            Err(error) if error.code == ErrorCode::NotFound => {}
            Err(error) => return Err(error),
        }
        // A turn that was stopped says so itself, after its last word.
        if !was_busy {
            self.tell(session_id, SessionState::Idle, "Cancelled").await;
        }
        Ok(())
    }

    fn start_service(self: &Arc<Self>, name: String) -> Result<(), WireError> {
        self.work_on(async move |client: Arc<Client>| {
            let params = StartParams {
                name: name.clone(),
                wait: false,
            };
            let status = client.caller.call::<service::Start>(&params).await?;
            client.tell_service(&name, status).await;
            Ok(())
        })
    }

    fn stop_service(self: &Arc<Self>, name: String) -> Result<(), WireError> {
        self.work_on(async move |client: Arc<Client>| {
            let params = NameParams { name: name.clone() };
            let status = client.caller.call::<service::Stop>(&params).await?;
            client.tell_service(&name, status).await;
            Ok(())
        })
    }

    fn ask_services(self: &Arc<Self>, name: Option<String>) -> Result<(), WireError> {
        self.work_on(async move |client: Arc<Client>| {
            let Some(name) = name else {
                return client.tell_services().await;
            };
            let params = NameParams { name: name.clone() };
            let status = client.caller.call::<service::Status>(&params).await?;
            client.tell_service(&name, status).await;
            Ok(())
        })
    }

    /// Tells of a service under the name it was asked for by, now and from now on.
    async fn tell_service(&self, asked: &str, status: service::ServiceStatus) {
        {
            let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
            if names.len() < NAMES_MAX || names.contains_key(&status.name) {
                names.insert(status.name.clone(), asked.to_owned());
            }
        }
        self.emit(&services::status(status, self)).await;
    }

    async fn tell_services(&self) -> Result<(), WireError> {
        let all = ListParams::default();
        let listed = self.caller.call::<service::List>(&all).await?;
        let shown = listed.services.into_iter().map(|service| service.status);
        for status in shown.filter(services::is_shown) {
            self.emit(&services::status(status, self)).await;
        }
        Ok(())
    }

    /// The session of this id, which is made if it is not there; never wiped.
    async fn session(&self, id: Option<&str>) -> Result<Session, WireError> {
        let mut params = CreateParams::default();
        match id.map(SessionRef::parse) {
            None => {}
            Some(SessionRef::Id(id)) => params.id = Some(id),
            Some(SessionRef::Key(key)) => params.session_key = Some(key),
        }
        let created = self.caller.call::<session::Create>(&params).await?;
        Ok(created.session)
    }

    fn place(&self, session_key: &str) -> Result<Arc<Place>, WireError> {
        let mut places = self.places.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = places.get(session_key) {
            return Ok(Arc::clone(place));
        }
        if places.len() >= PLACES_MAX {
            places.retain(|_, place| place.is_busy());
        }
        if places.len() >= PLACES_MAX {
            return Err(too_much());
        }
        let place = Arc::new(Place::default());
        places.insert(session_key.to_owned(), Arc::clone(&place));
        Ok(place)
    }

    fn work_on<W, T>(self: &Arc<Self>, work: W) -> Result<(), WireError>
    where
        W: FnOnce(Arc<Client>) -> T + Send + 'static,
        T: Future<Output = Result<(), WireError>> + Send + 'static,
    {
        if self.spawn(None, work) {
            return Ok(());
        }
        Err(too_much())
    }

    /// Does `work` in a task of its own, if there is room for it; what fails is told.
    fn spawn<W, T>(self: &Arc<Self>, session_id: Option<String>, work: W) -> bool
    where
        W: FnOnce(Arc<Client>) -> T + Send + 'static,
        T: Future<Output = Result<(), WireError>> + Send + 'static,
    {
        let Ok(permit) = Arc::clone(&self.work).try_acquire_owned() else {
            return false;
        };
        let client = Arc::clone(self);
        self.desk.shared.tasks.spawn("agentloop-work", async move {
            if let Err(error) = work(Arc::clone(&client)).await {
                client.refuse(session_id.as_deref(), error.message).await;
            }
            drop(permit);
        });
        true
    }
}

impl Inlet for Arc<Client> {
    async fn text(&self, text: Bytes) {
        match read(&text) {
            Ok(command) => self.obey(command).await,
            Err(why) => self.refuse(None, why).await,
        }
    }

    async fn binary(&self) {
        let why = "A command is a text message; this one is binary.";
        self.refuse(None, why.to_owned()).await;
    }
}

/// Reads a command, or says what is wrong with it.
fn read(text: &[u8]) -> Result<Command, String> {
    let text = std::str::from_utf8(text).map_err(|_| "A command is UTF-8.".to_owned())?;
    let unread = |failure: &dyn std::fmt::Display| format!("Failed to parse message: {failure}");
    if !frame::depth_within(text, limits::JSON_DEPTH_MAX) {
        return Err(unread(&"it nests too deeply"));
    }
    let command: Value = serde_json::from_str(text).map_err(|failure| unread(&failure))?;
    match command.get("type").and_then(Value::as_str) {
        Some(kind) if COMMANDS.contains(&kind) => {}
        Some(kind) => {
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

fn agents() -> Event {
    let agents = packs::PACKS.iter().map(|pack| Agent {
        name: pack.name.to_owned(),
        description: Some(pack.about.to_owned()),
        tools: pack.tools.iter().map(|&tool| tool.to_owned()).collect(),
    });
    Event::AgentList {
        agents: agents.collect(),
    }
}

fn too_much() -> WireError {
    let message = "This connection has too much under way; wait for something to end.";
    WireError::new(ErrorCode::Overloaded, message)
}
