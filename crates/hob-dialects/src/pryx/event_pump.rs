//! Follows the bus for one client of the WebSocket and sends it the events that pass its filter.
//!
//! Invariants: the connection subscribes before the client is answered, so nothing is missed in
//! between. A client that does not read slows down only its own events; when its outbox overflows,
//! it is told and closed. Events of a session carry the session's id, whatever its key.

use crate::pryx::approvals;
use crate::pryx::envelope::PryxEvent;
use crate::pryx::event_filter::PryxEventFilter;
use crate::pryx::event_translator::{PryxEventTranslator, TOPICS};
use crate::pryx::sessions;
use crate::pryx::socket::PryxSocketClient;
use hob_gateway::bus_connection::{self, BusConnection, BusMessage, decode};
use hob_wire::id::{RunId, SessionRef};
use hob_wire::rooms::agent::{self, RunSelector, RunView};
use hob_wire::{ErrorCode, WireError};
use serde::Deserialize;
use serde_json::json;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// Maximum sessions whose ids are remembered.
const SESSIONS_MAX: usize = 1_024;

/// The session of an event.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct SessionFields<'a> {
    #[serde(borrow)]
    session_key: Cow<'a, str>,
    #[serde(borrow, default)]
    session_id: Option<Cow<'a, str>>,
}

pub(crate) struct PryxEventPump {
    client: Arc<PryxSocketClient>,
    connection: BusConnection,
    translator: PryxEventTranslator,
    /// The ids of sessions by their keys; `None` for what is no session of the store.
    session_ids: HashMap<String, Option<Arc<str>>>,
    /// The sessions of the runs whose status was requested.
    requested: HashMap<String, (RunId, Arc<str>)>,
    events: Vec<PryxEvent>,
}

impl PryxEventPump {
    /// Subscribes a connection to what is translated.
    pub(crate) async fn subscribe(connection: &mut BusConnection) -> Result<(), WireError> {
        connection.subscribe_all(&TOPICS, None).await?;
        Ok(())
    }

    pub(crate) fn new(client: Arc<PryxSocketClient>, connection: BusConnection) -> PryxEventPump {
        PryxEventPump {
            client,
            connection,
            translator: PryxEventTranslator::default(),
            session_ids: HashMap::new(),
            requested: HashMap::new(),
            events: Vec::new(),
        }
    }

    /// Sends events until the client leaves or its connection ends.
    pub(crate) async fn run(mut self) {
        let client = Arc::clone(&self.client);
        let ended = tokio::select! {
            ended = self.follow() => ended,
            () = client.disconnected.cancelled() => return,
        };
        let Err(error) = ended;
        client.send_error(None, "events.lost", &error.message).await;
        // The socket ends, so that the client reconnects and resumes.
        client.events_ended.cancel();
    }

    async fn follow(&mut self) -> Result<std::convert::Infallible, WireError> {
        loop {
            let frame = self.connection.next_frame().await?;
            match bus_connection::parse_message(&frame) {
                Some(BusMessage::Event { topic, payload, .. }) => {
                    self.translate(&topic, payload).await?;
                }
                Some(BusMessage::Answer { id, outcome }) => {
                    let view = outcome.and_then(decode::<RunView>).ok();
                    self.apply_status(&id, view.as_ref()).await;
                }
                None => {}
            }
        }
    }

    async fn translate(&mut self, topic: &str, payload: &str) -> Result<(), WireError> {
        // `gateway.gap` and the like have no session.
        let Ok(of) = serde_json::from_str::<SessionFields<'_>>(payload) else {
            return Ok(());
        };
        let Some(session) = self.session_id(&of).await? else {
            return Ok(());
        };
        if !self.filter().takes_session(&session, &of.session_key) {
            return Ok(());
        }
        let can_resolve = approvals::may_answer(&self.client.api);
        let translated = self
            .translator
            .translate(topic, payload, can_resolve, &mut self.events);
        if let Err(error) = translated {
            // One unreadable event must not end the others.
            tracing::warn!("an event was not translated: {error}");
        }
        if let Some(run_id) = self.translator.take_status_request() {
            self.request_status(run_id, &session).await?;
        }
        self.send_events(&session).await;
        Ok(())
    }

    async fn request_status(&mut self, run_id: RunId, session: &Arc<str>) -> Result<(), WireError> {
        let id = run_id.to_string();
        let selector = RunSelector {
            run_id: Some(run_id),
            session_key: None,
        };
        self.connection
            .send_request::<agent::Status>(&id, &selector)
            .await?;
        // Bounded by the translator, which asks once per run that it follows.
        self.requested.insert(id, (run_id, Arc::clone(session)));
        Ok(())
    }

    async fn apply_status(&mut self, id: &str, view: Option<&RunView>) {
        if let Some((run_id, session)) = self.requested.remove(id) {
            self.translator.apply_status(run_id, view, &mut self.events);
            self.send_events(&session).await;
        }
    }

    async fn send_events(&mut self, session: &Arc<str>) {
        let surface = self.client.api.shared.surface_of(session);
        for event in self.events.drain(..) {
            if self.client.filter.takes(event.event, surface.as_deref()) {
                self.client
                    .send(
                        Some(session),
                        surface.as_deref(),
                        event.event,
                        &event.payload,
                    )
                    .await;
            }
        }
    }

    fn filter(&self) -> &PryxEventFilter {
        &self.client.filter
    }

    /// The id of an event's session; `None` if it is not a stored session, such as a conversation
    /// that its client keeps.
    async fn session_id(&mut self, of: &SessionFields<'_>) -> Result<Option<Arc<str>>, WireError> {
        // An event with both names the session; it may be new, and was none before.
        if let (None, Some(known)) = (&of.session_id, self.session_ids.get(&*of.session_key)) {
            return Ok(known.clone());
        }
        let id = match (&of.session_id, SessionRef::parse(&of.session_key)) {
            (Some(id), _) => Some(Arc::from(&**id)),
            (None, SessionRef::Id(id)) => Some(id.to_string().into()),
            (None, SessionRef::Key(key)) => {
                match sessions::get_session(&self.client.api, key).await {
                    Ok(session) => Some(session.id.to_string().into()),
                    Err(error) if error.code == ErrorCode::NotFound => None,
                    Err(error) => return Err(error),
                }
            }
        };
        if self.session_ids.len() >= SESSIONS_MAX {
            self.session_ids.clear();
        }
        self.session_ids
            .insert(of.session_key.clone().into_owned(), id.clone());
        Ok(id)
    }
}

impl std::fmt::Debug for PryxEventPump {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PryxEventPump").finish_non_exhaustive()
    }
}

/// Sends the open questions of a session once more: to a client that came back, they are new.
pub(crate) async fn repeat_questions(
    client: &PryxSocketClient,
    session_key: &str,
    session_id: &str,
) -> Result<(), WireError> {
    let questions = approvals::pending(&client.api, Some(session_key.to_owned())).await?;
    let can_resolve = approvals::may_answer(&client.api);
    for question in questions {
        let payload = approvals::question_json(&question, can_resolve);
        for event in ["approval.needed", "approval.request"] {
            if client.filter.takes(event, None) {
                client.send(Some(session_id), None, event, &payload).await;
            }
        }
    }
    Ok(())
}

/// The answer about a run that goes on.
pub(crate) fn running_json(run: &RunView) -> serde_json::Value {
    json!({ "run_id": run.run_id, "state": run.state, "task": run.task })
}
