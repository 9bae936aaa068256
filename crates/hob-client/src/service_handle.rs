//! [`ServiceHandle`]: a registered service. A [`ServiceTask`] owns the connection, passes requests
//! to handlers, writes their responses, and registers again after a lost connection.
//!
//! Invariants: a response is written only to the connection of its request. A handler's panic is
//! answered with an error. The number of concurrent handlers is bounded.

use crate::client::ConnectionState;
use crate::connection::{self, DaemonConnection};
use crate::connector::Connector;
use crate::error::ClientError;
use crate::events::EventStream;
use crate::service::{
    EventHandler, IncomingRequest, MethodHandler, ServiceDefinition, check_declared,
};
use bytes::Bytes;
use futures_util::FutureExt;
use hob_kit::tasks::TaskGroup;
use hob_wire::frame::{self, Envelope, EventHead, RequestEnvelope};
use hob_wire::limits::{FRAME_BYTES_MAX, OUTBOX_BYTES_MAX};
use hob_wire::rooms::gateway::{GatewayRegisterParams, Register, RoutingTable};
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// Frames from handlers and emitters queued for the [`ServiceTask`].
const OUTGOING_MAX: usize = 256;
/// The suggested wait after `OVERLOADED`.
const RETRY_AFTER_MS: u64 = 250;

/// A registered service. Dropping it ends the service.
#[derive(Debug)]
pub struct ServiceHandle {
    registration: Arc<GatewayRegisterParams>,
    outgoing: mpsc::Sender<OutgoingFrame>,
    state: watch::Receiver<ConnectionState>,
    failure: watch::Receiver<Option<ClientError>>,
    table: RoutingTable,
    tasks: TaskGroup,
}

impl Drop for ServiceHandle {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl ServiceHandle {
    pub(crate) async fn open(
        connector: Connector,
        service: ServiceDefinition,
    ) -> Result<ServiceHandle, ClientError> {
        let mut connection = connector.open().await?;
        let registration = Arc::new(service.registration);
        let table = connection.call::<Register>(&registration).await?;
        let tasks = TaskGroup::new();
        if let Some((subscription, handler)) = service.events {
            let events = EventStream::open(connector.clone(), subscription).await?;
            tasks.spawn_until_stop("service events", dispatch_events(events, handler));
        }
        let (outgoing, inbox) = mpsc::channel(OUTGOING_MAX);
        let (state_out, state) = watch::channel(ConnectionState::Connected);
        let (failure_out, failure) = watch::channel(None);
        let task = ServiceTask {
            connector,
            registration: Arc::clone(&registration),
            methods: service.methods,
            permits: Arc::new(Semaphore::new(service.concurrency)),
            answers: outgoing.clone(),
            outgoing: inbox,
            connection_id: 0,
            tasks: tasks.clone(),
            state: state_out,
        };
        tasks.spawn_until_stop("service", async move {
            let error = task.run(connection).await;
            failure_out.send_replace(Some(error));
        });
        Ok(ServiceHandle {
            registration,
            outgoing,
            state,
            failure,
            table,
            tasks,
        })
    }

    /// Emits an event of a declared topic. Waits while the daemon is away. An event that is being
    /// sent when the connection breaks is lost, since the wire does not acknowledge events.
    pub async fn emit(&self, topic: &str, payload: &impl Serialize) -> Result<(), ClientError> {
        check_declared(&self.registration, topic)?;
        let payload = connection::encode(topic, payload)?;
        let head = EventHead {
            source: &self.registration.service,
            event: topic,
            position: None,
        };
        let mut out = Vec::with_capacity(64 + payload.len());
        frame::write_event(&mut out, head, Some(&payload));
        if out.len() > FRAME_BYTES_MAX {
            return Err(ClientError::TooLarge {
                method: topic.to_owned(),
                bytes: out.len(),
                max: FRAME_BYTES_MAX,
            });
        }
        let sent = self.outgoing.send(OutgoingFrame::Event(out)).await;
        sent.map_err(|_| ClientError::Closed)
    }

    /// Writes all emitted events, then ends the service.
    pub async fn finish(self) {
        let (done, finished) = oneshot::channel();
        if self
            .outgoing
            .send(OutgoingFrame::Finish(done))
            .await
            .is_ok()
        {
            // An error means that the task has already ended.
            drop(finished.await);
        }
    }

    /// Returns the routing table at the first registration.
    pub fn table(&self) -> &RoutingTable {
        &self.table
    }

    /// Returns a watch on the state of the connection.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.state.clone()
    }

    /// Waits until the service fails for good (its token was revoked, or its name was taken), and
    /// returns the reason.
    pub async fn wait_for_failure(&self) -> ClientError {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(error) => error.clone().unwrap_or(ClientError::Closed),
            Err(_) => ClientError::Closed,
        }
    }
}

async fn dispatch_events(mut events: EventStream, handler: EventHandler) {
    while let Some(item) = events.next().await {
        match item {
            Ok(item) => {
                if AssertUnwindSafe(handler(item))
                    .catch_unwind()
                    .await
                    .is_err()
                {
                    tracing::error!("an event handler panicked");
                }
            }
            Err(error) => tracing::error!("events ended: {error}"),
        }
    }
}

enum OutgoingFrame {
    Event(Vec<u8>),
    Answer {
        /// The connection the request came from.
        connection_id: u64,
        frame: Vec<u8>,
    },
    /// Writes everything and stops.
    Finish(oneshot::Sender<()>),
}

struct ServiceTask {
    connector: Connector,
    registration: Arc<GatewayRegisterParams>,
    methods: HashMap<String, MethodHandler>,
    permits: Arc<Semaphore>,
    answers: mpsc::Sender<OutgoingFrame>,
    outgoing: mpsc::Receiver<OutgoingFrame>,
    /// The number of the current connection. A response with another number is dropped.
    connection_id: u64,
    tasks: TaskGroup,
    state: watch::Sender<ConnectionState>,
}

impl ServiceTask {
    /// Serves until an error is final, and returns it.
    async fn run(mut self, mut connection: DaemonConnection) -> ClientError {
        loop {
            self.connection_id += 1;
            ConnectionState::Connected.publish(&self.state);
            if let Some(finish) = self.serve_connection(&mut connection).await {
                // If the connection breaks now, the remaining frames are lost; there is no retry.
                drop(connection.flush().await);
                let _ = finish.send(());
                return ClientError::Closed;
            }
            ConnectionState::Searching.publish(&self.state);
            connection = match self.register_again().await {
                Ok(connection) => connection,
                Err(error) => {
                    ConnectionState::Ended.publish(&self.state);
                    return error;
                }
            };
        }
    }

    /// Serves one connection until it breaks, or returns the sender of a `Finish`.
    async fn serve_connection(
        &mut self,
        connection: &mut DaemonConnection,
    ) -> Option<oneshot::Sender<()>> {
        loop {
            let has_room = connection.queued_bytes() < OUTBOX_BYTES_MAX;
            tokio::select! {
                frame = connection.next() => match frame {
                    Ok(frame) => self.handle_frame(connection, &frame),
                    Err(error) => {
                        tracing::debug!("connection lost: {error}");
                        return None;
                    }
                },
                Some(outgoing) = self.outgoing.recv(), if has_room => match outgoing {
                    OutgoingFrame::Event(frame) => connection.queue(frame),
                    OutgoingFrame::Answer { connection_id, frame } => {
                        // After a reconnect the caller has already got `SERVICE_UNAVAILABLE`.
                        if connection_id == self.connection_id {
                            connection.queue(frame);
                        }
                    }
                    OutgoingFrame::Finish(done) => return Some(done),
                },
            }
        }
    }

    async fn register_again(&mut self) -> Result<DaemonConnection, ClientError> {
        loop {
            let mut connection = self.connector.reconnect().await?;
            match connection.call::<Register>(&self.registration).await {
                Ok(_) => return Ok(connection),
                Err(error) => self.connector.after_failure(error).await?,
            }
        }
    }

    fn handle_frame(&self, connection: &mut DaemonConnection, frame: &Bytes) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return;
        };
        match frame::read(text) {
            Ok(Envelope::Request(request)) => self.start_handler(connection, frame, &request),
            // The router refuses an emitted event with an unsolicited response.
            Ok(Envelope::Response(response)) => {
                if let Err(error) = response.outcome {
                    tracing::warn!("the daemon refused a frame: {}", error.get());
                }
            }
            Ok(Envelope::Event(_)) | Err(_) => {}
        }
    }

    fn start_handler(
        &self,
        connection: &mut DaemonConnection,
        frame: &Bytes,
        request: &RequestEnvelope<'_>,
    ) {
        let id = request.id.clone().into_owned();
        let Some(handler) = self.methods.get(&*request.method) else {
            let message = format!(
                "The service {} has no method '{}'.",
                self.registration.service, request.method
            );
            connection.queue(response_frame(
                &id,
                Err(WireError::new(ErrorCode::NoHandler, message)),
            ));
            return;
        };
        // Refuse instead of waiting: waiting requests would need a queue without a bound.
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let message = format!("The service {} is busy.", self.registration.service);
            let error = WireError::new(ErrorCode::Overloaded, message);
            connection.queue(response_frame(&id, Err(error.retry_after(RETRY_AFTER_MS))));
            return;
        };
        let incoming = IncomingRequest {
            method: request.method.clone().into_owned(),
            trace: request.trace.clone().map(std::borrow::Cow::into_owned),
        };
        let params = request
            .params
            .map(|raw| frame.slice_ref(raw.get().as_bytes()));
        // Call the handler inside the task, so that a panic before its first await is caught too.
        let handler = Arc::clone(handler);
        let (answers, connection_id) = (self.answers.clone(), self.connection_id);
        self.tasks.spawn_until_stop("service handler", async move {
            let work = AssertUnwindSafe(async { handler(incoming, params).await });
            let outcome = work.catch_unwind().await.unwrap_or_else(|_| {
                let message = "The service's handler panicked; its own log says where.";
                Err(WireError::new(ErrorCode::Internal, message))
            });
            let frame = response_frame(&id, outcome);
            // A failed send means that the service has ended.
            drop(
                answers
                    .send(OutgoingFrame::Answer {
                        connection_id,
                        frame,
                    })
                    .await,
            );
            // Held until the response is queued, so that slow writing limits new handlers too.
            drop(permit);
        });
    }
}

fn response_frame(id: &str, outcome: Result<Vec<u8>, WireError>) -> Vec<u8> {
    let mut out = Vec::new();
    // 64 bytes are enough for the rest of the envelope.
    let outcome = match outcome {
        Ok(payload) if payload.len() + id.len() + 64 > FRAME_BYTES_MAX => Err(WireError::new(
            ErrorCode::MethodError,
            format!("The answer is larger than a frame ({FRAME_BYTES_MAX} bytes)."),
        )),
        other => other,
    };
    match outcome {
        Ok(payload) => frame::write_response(&mut out, id, Ok(Some(&payload))),
        Err(error) => {
            let error = serde_json::to_vec(&error).unwrap_or_else(|_| {
                br#"{"code":"INTERNAL","message":"The error could not be written."}"#.to_vec()
            });
            frame::write_response(&mut out, id, Err(&error));
        }
    }
    out
}
