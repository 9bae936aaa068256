//! [`Serving`]: a registered service at work. Its owner task holds the connection, hands requests
//! to handlers, writes their answers, and registers again after a lost connection.
//!
//! Invariants: an answer is written only to the connection its request came from; a handler's
//! panic is an answer too; handlers at work are bounded.

use crate::calls::LinkState;
use crate::connector::Connector;
use crate::error::ClientError;
use crate::events::EventStream;
use crate::link::{self, Link};
use crate::service::{EventHandler, Incoming, MethodHandler, Service, check_declared};
use bytes::Bytes;
use futures_util::FutureExt;
use hob_kit::tasks::Tasks;
use hob_wire::frame::{self, Envelope, EventHead, RequestEnvelope};
use hob_wire::limits::{FRAME_BYTES_MAX, OUTBOX_BYTES_MAX};
use hob_wire::rooms::gateway::{Register, RegisterParams, RoutingTable};
use hob_wire::{ErrorCode, WireError};
use serde::Serialize;
use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc, oneshot, watch};

/// Frames from handlers and emitters that wait for the owner task.
const OUTGOING_MAX: usize = 256;
/// When to come back after `OVERLOADED`.
const RETRY_AFTER_MS: u64 = 250;

/// A service at work, until dropped.
#[derive(Debug)]
pub struct Serving {
    registration: Arc<RegisterParams>,
    outgoing: mpsc::Sender<Outgoing>,
    state: watch::Receiver<LinkState>,
    failure: watch::Receiver<Option<ClientError>>,
    table: RoutingTable,
    tasks: Tasks,
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

impl Serving {
    pub(crate) async fn open(
        connector: Connector,
        service: Service,
    ) -> Result<Serving, ClientError> {
        let mut link = connector.open().await?;
        let registration = Arc::new(service.registration);
        let table = link.ask::<Register>(&registration).await?;
        let tasks = Tasks::new();
        if let Some((subscription, handler)) = service.events {
            let events = EventStream::open(connector.clone(), subscription).await?;
            tasks.spawn_until_stop("service events", hand_out(events, handler));
        }
        let (outgoing, inbox) = mpsc::channel(OUTGOING_MAX);
        let (state_out, state) = watch::channel(LinkState::Connected);
        let (failure_out, failure) = watch::channel(None);
        let owner = Owner {
            connector,
            registration: Arc::clone(&registration),
            methods: service.methods,
            permits: Arc::new(Semaphore::new(service.concurrency)),
            answers: outgoing.clone(),
            outgoing: inbox,
            connection: 0,
            tasks: tasks.clone(),
            state: state_out,
        };
        tasks.spawn_until_stop("service", async move {
            let error = owner.run(link).await;
            failure_out.send_replace(Some(error));
        });
        Ok(Serving {
            registration,
            outgoing,
            state,
            failure,
            table,
            tasks,
        })
    }

    /// Emits an event of a declared topic. While the daemon is away it waits; an event on its way
    /// when the connection breaks is lost, since the wire does not acknowledge events.
    pub async fn emit(&self, topic: &str, payload: &impl Serialize) -> Result<(), ClientError> {
        check_declared(&self.registration, topic)?;
        let payload = link::encode(topic, payload)?;
        let head = EventHead {
            source: &self.registration.service,
            event: topic,
            place: None,
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
        let sent = self.outgoing.send(Outgoing::Event(out)).await;
        sent.map_err(|_| ClientError::Closed)
    }

    /// Writes what was emitted so far, then ends the service.
    pub async fn finish(self) {
        let (done, finished) = oneshot::channel();
        if self.outgoing.send(Outgoing::Finish(done)).await.is_ok() {
            // An error means that the owner has ended already.
            drop(finished.await);
        }
    }

    /// Everything reachable when the service registered first.
    pub fn table(&self) -> &RoutingTable {
        &self.table
    }

    /// Whether the connection stands, as it changes.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.state.clone()
    }

    /// Waits until the service can no longer work (its token was revoked, its name was taken), and
    /// says why.
    pub async fn ended(&self) -> ClientError {
        let mut failure = self.failure.clone();
        match failure.wait_for(Option::is_some).await {
            Ok(error) => error.clone().unwrap_or(ClientError::Closed),
            Err(_) => ClientError::Closed,
        }
    }
}

async fn hand_out(mut events: EventStream, handler: EventHandler) {
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

enum Outgoing {
    Event(Vec<u8>),
    Answer {
        /// The connection the request came from.
        connection: u64,
        frame: Vec<u8>,
    },
    /// Write everything and stop.
    Finish(oneshot::Sender<()>),
}

struct Owner {
    connector: Connector,
    registration: Arc<RegisterParams>,
    methods: HashMap<String, MethodHandler>,
    permits: Arc<Semaphore>,
    answers: mpsc::Sender<Outgoing>,
    outgoing: mpsc::Receiver<Outgoing>,
    /// Counts connections, so that an answer finds its own or none.
    connection: u64,
    tasks: Tasks,
    state: watch::Sender<LinkState>,
}

impl Owner {
    /// Serves until something final happens, and says what.
    async fn run(mut self, mut link: Link) -> ClientError {
        loop {
            self.connection += 1;
            LinkState::Connected.tell(&self.state);
            if let Some(finish) = self.work(&mut link).await {
                // A connection that breaks now has nothing more to lose.
                drop(link.flush().await);
                let _ = finish.send(());
                return ClientError::Closed;
            }
            LinkState::Searching.tell(&self.state);
            link = match self.register_again().await {
                Ok(link) => link,
                Err(error) => {
                    LinkState::Ended.tell(&self.state);
                    return error;
                }
            };
        }
    }

    /// Works until the connection breaks or the service is to finish.
    async fn work(&mut self, link: &mut Link) -> Option<oneshot::Sender<()>> {
        loop {
            let has_room = link.queued_bytes() < OUTBOX_BYTES_MAX;
            tokio::select! {
                frame = link.next() => match frame {
                    Ok(frame) => self.take(link, &frame),
                    Err(error) => {
                        tracing::debug!("connection lost: {error}");
                        return None;
                    }
                },
                Some(outgoing) = self.outgoing.recv(), if has_room => match outgoing {
                    Outgoing::Event(frame) => link.queue(frame),
                    Outgoing::Answer { connection, frame } => {
                        if connection == self.connection {
                            link.queue(frame);
                        }
                    }
                    Outgoing::Finish(done) => return Some(done),
                },
            }
        }
    }

    async fn register_again(&mut self) -> Result<Link, ClientError> {
        loop {
            let mut link = self.connector.again().await?;
            match link.ask::<Register>(&self.registration).await {
                Ok(_) => return Ok(link),
                Err(error) => self.connector.after_failure(error).await?,
            }
        }
    }

    fn take(&self, link: &mut Link, frame: &Bytes) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return;
        };
        match frame::read(text) {
            Ok(Envelope::Request(request)) => self.begin(link, frame, &request),
            // An answer that nobody asked for is how the router refuses an emitted event.
            Ok(Envelope::Response(response)) => {
                if let Err(error) = response.outcome {
                    tracing::warn!("the daemon refused a frame: {}", error.get());
                }
            }
            Ok(Envelope::Event(_)) | Err(_) => {}
        }
    }

    fn begin(&self, link: &mut Link, frame: &Bytes, request: &RequestEnvelope<'_>) {
        let id = request.id.clone().into_owned();
        let Some(handler) = self.methods.get(&*request.method) else {
            let message = format!(
                "The service {} has no method '{}'.",
                self.registration.service, request.method
            );
            link.queue(answer(
                &id,
                Err(WireError::new(ErrorCode::NoHandler, message)),
            ));
            return;
        };
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let message = format!("The service {} is busy.", self.registration.service);
            let error = WireError::new(ErrorCode::Overloaded, message);
            link.queue(answer(&id, Err(error.retry_after(RETRY_AFTER_MS))));
            return;
        };
        let incoming = Incoming {
            method: request.method.clone().into_owned(),
            trace: request.trace.clone().map(std::borrow::Cow::into_owned),
        };
        let params = request
            .params
            .map(|raw| frame.slice_ref(raw.get().as_bytes()));
        // The handler is called inside the task, so that a panic before its first await is caught
        // like any other.
        let handler = Arc::clone(handler);
        let (answers, connection) = (self.answers.clone(), self.connection);
        self.tasks.spawn_until_stop("service handler", async move {
            let work = AssertUnwindSafe(async { handler(incoming, params).await });
            let outcome = work.catch_unwind().await.unwrap_or_else(|_| {
                let message = "The service's handler panicked; its own log says where.";
                Err(WireError::new(ErrorCode::Internal, message))
            });
            let frame = answer(&id, outcome);
            // The owner being gone means that nobody waits.
            drop(answers.send(Outgoing::Answer { connection, frame }).await);
            drop(permit);
        });
    }
}

fn answer(id: &str, outcome: Result<Vec<u8>, WireError>) -> Vec<u8> {
    let mut out = Vec::new();
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
