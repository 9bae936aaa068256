//! `/ws`: the WebSocket of Pryx's TUI and other clients.
//!
//! Invariants: events and answers of a client go through one bounded channel, in order. A message
//! that is no command is answered with `error.occurred`, and the connection stays open.

use crate::pryx::SURFACE;
use crate::pryx::client::PryxClient;
use crate::pryx::envelope::PryxEnvelope;
use crate::pryx::event_filter::PryxEventFilter;
use crate::pryx::event_pump::PryxEventPump;
use crate::pryx::shared::PryxShared;
use crate::pryx::timestamp;
use axum::Extension;
use axum::body::Body;
use axum::extract::{RawQuery, Request, State};
use axum::http::Response;
use bytes::Bytes;
use hob_bus::{BusOutlet, CloseReason};
use hob_gateway::bus_connection::BusConnection;
use hob_gateway::http::HttpState;
use hob_gateway::http_error::HttpError;
use hob_gateway::websocket::{self, MessageSink, MessageSource};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Maximum queued events of a client.
const EVENTS_MAX: usize = 256;

/// One client of the WebSocket.
#[derive(Debug)]
pub(crate) struct PryxSocketClient {
    pub(crate) api: PryxClient,
    pub(crate) filter: PryxEventFilter,
    /// Cancelled when the client has left.
    pub(crate) disconnected: CancellationToken,
    /// Cancelled when no more events will come.
    pub(crate) events_ended: CancellationToken,
    /// The session of messages that name none. A std mutex: held for a line, never over an await.
    pub(crate) own_session: Mutex<Option<String>>,
    out: mpsc::Sender<Bytes>,
}

/// `GET /ws`.
pub(crate) async fn open(
    State(state): State<Arc<HttpState>>,
    Extension(shared): Extension<Arc<PryxShared>>,
    RawQuery(query): RawQuery,
    request: Request,
) -> Result<Response<Body>, HttpError> {
    let filter = PryxEventFilter::parse(query.as_deref()).map_err(HttpError::bad_request)?;
    let (principal, handshake) = state.authenticate_handshake(request)?;
    let trace: Arc<str> = state.shared.randomness.hex(8).into();
    let (link, outlet) = state.connect(&principal, SURFACE)?;
    let mut connection = BusConnection::open(&state, &principal, SURFACE, Arc::clone(&trace))?;
    PryxEventPump::subscribe(&mut connection).await?;
    let api = PryxClient::new(&state, principal, shared, trace)?;
    let (out, events) = mpsc::channel(EVENTS_MAX);
    let client = Arc::new(PryxSocketClient {
        api,
        filter,
        disconnected: CancellationToken::new(),
        events_ended: CancellationToken::new(),
        own_session: Mutex::default(),
        out,
    });
    let served = Arc::clone(&state.shared);
    Ok(handshake.upgrade(&state.shared, async move |socket| {
        let Some(socket) = socket else {
            link.close();
            return;
        };
        let pump = PryxEventPump::new(Arc::clone(&client), connection);
        served.tasks.spawn("pryx-events", pump.run());
        let source = PryxMessageSource {
            outlet,
            frames: Vec::new(),
            events,
            events_ended: client.events_ended.clone(),
        };
        let sink = PryxMessageSink(Arc::clone(&client));
        websocket::serve(socket, &link, &sink, source, &served).await;
        client.disconnected.cancel();
    }))
}

impl PryxSocketClient {
    /// Sends an event. The filter is the caller's business: answers to commands have none.
    pub(crate) async fn send(
        &self,
        session_id: Option<&str>,
        surface: Option<&str>,
        event: &str,
        payload: &Value,
    ) {
        let envelope = PryxEnvelope {
            kind: PryxEnvelope::KIND,
            event,
            session_id,
            surface,
            payload,
            timestamp: timestamp::from_ms(self.api.state.shared.clock.wall_ms()),
            version: self.api.shared.next_version(),
        };
        if let Some(bytes) = envelope.encode() {
            // An error means that the socket is closed, so nobody would read the event.
            let _ = self.out.send(bytes).await;
        }
    }

    pub(crate) async fn send_error(&self, session_id: Option<&str>, kind: &str, why: &str) {
        let payload = json!({ "kind": kind, "error": why });
        self.send(session_id, None, "error.occurred", &payload)
            .await;
    }
}

/// The receiver of a client's messages.
struct PryxMessageSink(Arc<PryxSocketClient>);

impl MessageSink for PryxMessageSink {
    async fn receive_text(&self, text: Bytes) {
        self.0.receive(&text).await;
    }

    async fn receive_binary(&self) {
        let why = "A command is a text message; this one is binary.";
        self.0.send_error(None, "command.invalid", why).await;
    }
}

/// The queued events of a client, until the bus closes its link.
struct PryxMessageSource {
    outlet: BusOutlet,
    frames: Vec<Bytes>,
    events: mpsc::Receiver<Bytes>,
    events_ended: CancellationToken,
}

impl MessageSource for PryxMessageSource {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<CloseReason> {
        tokio::select! {
            // What is queued is sent before the socket ends.
            biased;
            // The client holds a sender, so the channel ends only with the socket.
            _ = self.events.recv_many(into, EVENTS_MAX) => None,
            // Nothing is subscribed on this link, so only its end matters.
            closed = self.outlet.next(&mut self.frames) => {
                self.frames.clear();
                closed
            }
            () = self.events_ended.cancelled() => Some(CloseReason::Slow),
        }
    }
}
