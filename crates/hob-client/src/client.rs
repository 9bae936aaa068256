//! [`Client`]: calls over one connection.
//!
//! A [`CallTask`] owns the connection and the pending calls. When the connection breaks, pending
//! calls fail at once, and the error says if they may be repeated. Calls made while the daemon is
//! away wait a while for it. Dropping the last handle ends the task.

use crate::connection::{self, DaemonConnection};
use crate::connector::Connector;
use crate::error::ClientError;
use crate::events::{EventStream, SubscribeOptions};
use crate::follower::{FollowOptions, SessionFollower};
use crate::launcher::DaemonLauncher;
use crate::service::ServiceDefinition;
use crate::service_handle::ServiceHandle;
use crate::target::DaemonTarget;
use bytes::Bytes;
use hob_kit::tasks::TaskGroup;
use hob_wire::frame::{self, Envelope};
use hob_wire::limits::{OUTBOX_BYTES_MAX, PENDING_REQUESTS_MAX, REQUEST_TIMEOUT_MS};
use hob_wire::rooms::{agent, cron, service, terminal, tool};
use hob_wire::{Idempotency, Method, catalog};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Calls queued for the [`CallTask`].
const COMMANDS_MAX: usize = 256;
/// The longest time that a call waits for a connection.
const RECONNECT_WAIT: Duration = Duration::from_secs(10);
/// Attempts of [`Client::call_with_retry`].
const CALL_ATTEMPTS_MAX: usize = 20;
/// The default timeout of a call. It is longer than the router's timeout, because the router's
/// error names the service that did not answer.
const CALL_TIMEOUT: Duration = Duration::from_millis(REQUEST_TIMEOUT_MS + 10_000);
/// Methods without a timeout. They end with their work or with the connection.
const LONG_METHODS: &[&str] = &[
    agent::Chat::SPEC.name,
    agent::Run::SPEC.name,
    agent::Wait::SPEC.name,
    tool::Execute::SPEC.name,
    service::Start::SPEC.name,
    service::Restart::SPEC.name,
    service::Install::SPEC.name,
    cron::Run::SPEC.name,
    terminal::Execute::SPEC.name,
];

/// A connection for calls; cheap to clone.
#[derive(Clone, Debug)]
pub struct Client(Arc<ClientInner>);

#[derive(Debug)]
struct ClientInner {
    commands: mpsc::Sender<CallCommand>,
    state: watch::Receiver<ConnectionState>,
    connector: Connector,
    tasks: TaskGroup,
}

impl Drop for ClientInner {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

/// The state of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionState {
    Connected,
    /// The client tries to reconnect.
    Searching,
    /// The client gave up for good.
    Ended,
}

impl ConnectionState {
    /// Sets this state. Notifies watchers only if it changed.
    pub(crate) fn publish(self, watchers: &watch::Sender<ConnectionState>) {
        watchers.send_if_modified(|state| std::mem::replace(state, self) != self);
    }
}

/// Options of [`Client::connect_with`].
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    pub target: DaemonTarget,
    /// Starts a daemon after five seconds without one, if given.
    pub launcher: Option<DaemonLauncher>,
}

/// Options of one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions<'a> {
    /// The timeout. By default a little longer than the router's, and none for methods that take as
    /// long as their work.
    pub timeout: Option<Duration>,
    /// The trace id, which groups calls in `hob trace`.
    pub trace: Option<&'a str>,
}

impl Client {
    /// Connects with one attempt. Fails at once if no daemon is running.
    pub async fn connect(target: DaemonTarget) -> Result<Client, ClientError> {
        let launcher = None;
        Client::connect_with(ConnectOptions { target, launcher }).await
    }

    pub async fn connect_with(options: ConnectOptions) -> Result<Client, ClientError> {
        let connector = Connector::new(options.target, options.launcher);
        // The first connection is opened here, so that the caller learns at once of a missing
        // daemon.
        let connection = connector.open().await?;
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let (state_out, state) = watch::channel(ConnectionState::Connected);
        let task = CallTask {
            connector: connector.clone(),
            commands: inbox,
            pending: HashMap::new(),
            state: state_out,
        };
        let tasks = TaskGroup::new();
        tasks.spawn_until_stop("client", task.run(connection));
        Ok(Client(Arc::new(ClientInner {
            commands,
            state,
            connector,
            tasks,
        })))
    }

    /// Calls a built-in method.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        let method = M::SPEC.name;
        let params = connection::encode(method, params)?;
        let options = CallOptions::default();
        let payload = self.call_raw(method, Some(params.into()), options).await?;
        connection::decode(method, payload.as_deref())
    }

    /// Calls a built-in method. If the connection breaks meanwhile, repeats the call once the
    /// daemon is back, provided that repeating it is safe.
    pub async fn call_with_retry<M: Method>(
        &self,
        params: &M::Params,
    ) -> Result<M::Result, ClientError> {
        for _ in 1..CALL_ATTEMPTS_MAX {
            match self.call::<M>(params).await {
                Err(error) if error.is_retryable() => {}
                other => return other,
            }
        }
        self.call::<M>(params).await
    }

    /// Calls any method. Params and payload are JSON text.
    pub async fn call_raw(
        &self,
        method: &str,
        params: Option<Bytes>,
        options: CallOptions<'_>,
    ) -> Result<Option<Bytes>, ClientError> {
        let repeatable = is_repeatable(method, params.as_deref());
        let (reply, answer) = oneshot::channel();
        let command = CallCommand {
            method: method.to_owned(),
            params,
            trace: options.trace.map(str::to_owned),
            repeatable,
            reply,
        };
        let called = async {
            let sent = self.0.commands.send(command).await;
            sent.map_err(|_| ClientError::Closed)?;
            answer.await.map_err(|_| ClientError::Closed)?
        };
        let timeout = options.timeout.unwrap_or_else(|| default_timeout(method));
        let waited = tokio::time::timeout(timeout, called).await;
        waited.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                method: method.to_owned(),
                after_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
                repeatable,
            })
        })
    }

    /// Opens a stream of events over its own connection.
    pub async fn subscribe(
        &self,
        subscription: SubscribeOptions,
    ) -> Result<EventStream, ClientError> {
        EventStream::open(self.0.connector.clone(), subscription).await
    }

    /// Follows the blocks of a session.
    pub async fn follow(&self, options: FollowOptions) -> Result<SessionFollower, ClientError> {
        SessionFollower::open(self.clone(), options).await
    }

    /// Offers a service over its own connection, until the returned handle is dropped.
    pub async fn serve(&self, service: ServiceDefinition) -> Result<ServiceHandle, ClientError> {
        ServiceHandle::open(self.0.connector.clone(), service).await
    }

    /// Returns a watch on the state of the connection.
    pub fn state(&self) -> watch::Receiver<ConnectionState> {
        self.0.state.clone()
    }
}

/// Returns true if making this call twice has the same effect as making it once.
fn is_repeatable(method: &str, params: Option<&[u8]>) -> bool {
    // A method of an external service has no declaration here, so repeating it may do harm.
    let Some(spec) = catalog::method(method) else {
        return false;
    };
    match spec.effect {
        Idempotency::Pure => true,
        Idempotency::Keyed => {
            // Some keyed methods take an optional key; without it a repeat is a second effect.
            let schema = (spec.params)();
            let optional_key = schema
                .get("properties")
                .is_some_and(|properties| properties.get("idempotencyKey").is_some());
            !optional_key || has_idempotency_key(params)
        }
        Idempotency::Probeable | Idempotency::Opaque => false,
    }
}

fn has_idempotency_key(params: Option<&[u8]>) -> bool {
    #[derive(serde::Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct OnlyKey {
        #[serde(default)]
        idempotency_key: Option<String>,
    }
    let read = params.and_then(|params| serde_json::from_slice::<OnlyKey>(params).ok());
    read.is_some_and(|only| only.idempotency_key.is_some())
}

struct CallCommand {
    method: String,
    params: Option<Bytes>,
    trace: Option<String>,
    repeatable: bool,
    reply: oneshot::Sender<Result<Option<Bytes>, ClientError>>,
}

struct PendingCall {
    method: String,
    repeatable: bool,
    reply: oneshot::Sender<Result<Option<Bytes>, ClientError>>,
}

struct CallTask {
    connector: Connector,
    commands: mpsc::Receiver<CallCommand>,
    pending: HashMap<u64, PendingCall>,
    state: watch::Sender<ConnectionState>,
}

impl CallTask {
    async fn run(mut self, mut connection: DaemonConnection) {
        loop {
            ConnectionState::Connected.publish(&self.state);
            self.serve_connection(&mut connection).await;
            self.fail_pending();
            ConnectionState::Searching.publish(&self.state);
            match self.reconnect().await {
                Ok(found) => connection = found,
                Err(error) => {
                    ConnectionState::Ended.publish(&self.state);
                    return self.refuse_all(&error).await;
                }
            }
        }
    }

    /// Sends requests and handles responses until the connection breaks.
    async fn serve_connection(&mut self, connection: &mut DaemonConnection) {
        loop {
            // Accept no further calls while the daemon is slow; callers wait in the bounded
            // channel.
            let has_room = self.pending.len() < PENDING_REQUESTS_MAX
                && connection.queued_bytes() < OUTBOX_BYTES_MAX;
            tokio::select! {
                frame = connection.next() => match frame {
                    Ok(frame) => self.handle_response(&frame),
                    Err(error) => {
                        tracing::debug!("connection lost: {error}");
                        return;
                    }
                },
                Some(command) = self.commands.recv(), if has_room => self.send_request(connection, command),
            }
            if self.pending.len() >= PENDING_REQUESTS_MAX {
                // Callers that timed out never get an answer; their entries would block new calls.
                self.pending.retain(|_, pending| !pending.reply.is_closed());
            }
        }
    }

    fn send_request(&mut self, connection: &mut DaemonConnection, command: CallCommand) {
        // The caller gave up while its call was queued; the daemon must not execute it now.
        if command.reply.is_closed() {
            return;
        }
        let trace = command.trace.as_deref();
        match connection.request(&command.method, command.params.as_deref(), trace) {
            Ok(id) => {
                let pending = PendingCall {
                    method: command.method,
                    repeatable: command.repeatable,
                    reply: command.reply,
                };
                self.pending.insert(id, pending);
            }
            // A failed send means that the caller has given up.
            Err(error) => drop(command.reply.send(Err(error))),
        }
    }

    fn handle_response(&mut self, frame: &Bytes) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return;
        };
        let Ok(Envelope::Response(response)) = frame::read(text) else {
            return;
        };
        let id = response.id.parse().ok();
        if let Some(pending) = id.and_then(|id: u64| self.pending.remove(&id)) {
            drop(
                pending
                    .reply
                    .send(connection::outcome(frame, response.outcome)),
            );
        }
    }

    fn fail_pending(&mut self) {
        // The daemon may have executed these calls, so only the callers can decide to repeat them.
        for (_, pending) in self.pending.drain() {
            let error = ClientError::ConnectionLost {
                method: pending.method,
                repeatable: pending.repeatable,
            };
            drop(pending.reply.send(Err(error)));
        }
    }

    /// Reconnects. Calls wait for [`RECONNECT_WAIT`] and are refused after that.
    async fn reconnect(&mut self) -> Result<DaemonConnection, ClientError> {
        let absent = self.connector.target.not_running();
        let search = self.connector.reconnect();
        tokio::pin!(search);
        if let Ok(found) = tokio::time::timeout(RECONNECT_WAIT, &mut search).await {
            return found;
        }
        loop {
            tokio::select! {
                found = &mut search => return found,
                Some(command) = self.commands.recv() => {
                    drop(command.reply.send(Err(absent.clone())));
                }
            }
        }
    }

    async fn refuse_all(&mut self, error: &ClientError) {
        while let Some(command) = self.commands.recv().await {
            drop(command.reply.send(Err(error.clone())));
        }
    }
}

fn default_timeout(method: &str) -> Duration {
    if LONG_METHODS.contains(&method) {
        return Duration::MAX;
    }
    CALL_TIMEOUT
}
