//! [`Client`]: calls over one connection.
//!
//! Its owner task holds the connection and the calls under way. When the connection breaks, those
//! fail at once and say whether they may be repeated; calls made while the daemon is away wait a
//! while for it. Dropping the last handle ends the task.

use crate::connector::Connector;
use crate::error::ClientError;
use crate::events::{EventStream, Subscription};
use crate::link::{self, Link};
use crate::service::Service;
use crate::serving::Serving;
use crate::start::Launch;
use crate::target::Target;
use bytes::Bytes;
use hob_kit::tasks::Tasks;
use hob_wire::frame::{self, Envelope};
use hob_wire::limits::{OUTBOX_BYTES_MAX, PENDING_REQUESTS_MAX, REQUEST_TIMEOUT_MS};
use hob_wire::rooms::{agent, cron, service, terminal, tool};
use hob_wire::{Effect, Method, catalog};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// Calls that wait for the owner task.
const COMMANDS_MAX: usize = 256;
/// How long a call made without a connection waits for one.
const ABSENCE_PATIENCE: Duration = Duration::from_secs(10);
/// How often a call is made through one losing daemon after another.
const REPEATS_MAX: usize = 20;
/// How long a caller waits unless it says otherwise: a little longer than the router, whose
/// answer says more.
const CALL_TIMEOUT: Duration = Duration::from_millis(REQUEST_TIMEOUT_MS + 10_000);
/// Methods that take as long as their work: they end by their own budget, or when the connection
/// does.
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
pub struct Client(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    commands: mpsc::Sender<Command>,
    state: watch::Receiver<LinkState>,
    connector: Connector,
    tasks: Tasks,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.tasks.stop();
    }
}

/// Whether a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkState {
    Connected,
    /// The daemon is being looked for.
    Searching,
    /// It will not be looked for any more.
    Ended,
}

impl LinkState {
    /// Makes this the state; watchers hear only of changes.
    pub(crate) fn tell(self, watchers: &watch::Sender<LinkState>) {
        watchers.send_if_modified(|state| std::mem::replace(state, self) != self);
    }
}

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    pub target: Target,
    /// Lets the client start a daemon after five seconds without one.
    pub launch: Option<Launch>,
}

/// How to make one call.
#[derive(Clone, Copy, Debug, Default)]
pub struct CallOptions<'a> {
    /// How long to wait; when missing, a little longer than the router does, and without end for a
    /// method that is long by nature.
    pub timeout: Option<Duration>,
    /// Ties this call to others in `hob trace`.
    pub trace: Option<&'a str>,
}

impl Client {
    /// Connects once; a daemon that is not there is an error at once.
    pub async fn connect(target: Target) -> Result<Client, ClientError> {
        let launch = None;
        Client::connect_with(ConnectOptions { target, launch }).await
    }

    pub async fn connect_with(options: ConnectOptions) -> Result<Client, ClientError> {
        let connector = Connector::new(options.target, options.launch);
        let link = connector.open().await?;
        let (commands, inbox) = mpsc::channel(COMMANDS_MAX);
        let (state_out, state) = watch::channel(LinkState::Connected);
        let owner = Owner {
            connector: connector.clone(),
            commands: inbox,
            pending: HashMap::new(),
            state: state_out,
        };
        let tasks = Tasks::new();
        tasks.spawn_until_stop("client", owner.run(link));
        Ok(Client(Arc::new(Inner {
            commands,
            state,
            connector,
            tasks,
        })))
    }

    /// Calls a method of the house.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        let method = M::SPEC.name;
        let params = link::encode(method, params)?;
        let options = CallOptions::default();
        let payload = self.call_raw(method, Some(params.into()), options).await?;
        link::decode(method, payload.as_deref())
    }

    /// Calls a method of the house and, when the connection breaks meanwhile, calls it again once
    /// the daemon is back. Only a call that may be repeated is.
    pub async fn call_again<M: Method>(
        &self,
        params: &M::Params,
    ) -> Result<M::Result, ClientError> {
        for _ in 1..REPEATS_MAX {
            match self.call::<M>(params).await {
                Err(error) if error.is_worth_repeating() => {}
                other => return other,
            }
        }
        self.call::<M>(params).await
    }

    /// Calls any method; params and payload are JSON text.
    pub async fn call_raw(
        &self,
        method: &str,
        params: Option<Bytes>,
        options: CallOptions<'_>,
    ) -> Result<Option<Bytes>, ClientError> {
        let repeatable = is_repeatable(method, params.as_deref());
        let (reply, answer) = oneshot::channel();
        let command = Command {
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
        let timeout = options.timeout.unwrap_or_else(|| usual_timeout(method));
        let waited = tokio::time::timeout(timeout, called).await;
        waited.unwrap_or_else(|_| {
            Err(ClientError::TimedOut {
                method: method.to_owned(),
                after_ms: u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX),
                repeatable,
            })
        })
    }

    /// Opens a stream of events over a connection of its own.
    pub async fn subscribe(&self, subscription: Subscription) -> Result<EventStream, ClientError> {
        EventStream::open(self.0.connector.clone(), subscription).await
    }

    /// Offers a service over a connection of its own, until the returned handle is dropped.
    pub async fn serve(&self, service: Service) -> Result<Serving, ClientError> {
        Serving::open(self.0.connector.clone(), service).await
    }

    /// Whether the connection stands, as it changes.
    pub fn state(&self) -> watch::Receiver<LinkState> {
        self.0.state.clone()
    }
}

/// Whether making this call twice does what making it once does.
fn is_repeatable(method: &str, params: Option<&[u8]>) -> bool {
    let Some(spec) = catalog::method(method) else {
        return false;
    };
    match spec.effect {
        Effect::Pure => true,
        Effect::Keyed => {
            let schema = (spec.params)();
            let optional_key = schema
                .get("properties")
                .is_some_and(|properties| properties.get("idempotencyKey").is_some());
            !optional_key || has_idempotency_key(params)
        }
        Effect::Probeable | Effect::Opaque => false,
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

struct Command {
    method: String,
    params: Option<Bytes>,
    trace: Option<String>,
    repeatable: bool,
    reply: oneshot::Sender<Result<Option<Bytes>, ClientError>>,
}

struct Pending {
    method: String,
    repeatable: bool,
    reply: oneshot::Sender<Result<Option<Bytes>, ClientError>>,
}

struct Owner {
    connector: Connector,
    commands: mpsc::Receiver<Command>,
    pending: HashMap<u64, Pending>,
    state: watch::Sender<LinkState>,
}

impl Owner {
    async fn run(mut self, mut link: Link) {
        loop {
            LinkState::Connected.tell(&self.state);
            self.work(&mut link).await;
            self.fail_pending();
            LinkState::Searching.tell(&self.state);
            match self.find_again().await {
                Ok(found) => link = found,
                Err(error) => {
                    LinkState::Ended.tell(&self.state);
                    return self.refuse_all(&error).await;
                }
            }
        }
    }

    /// Works until the connection breaks.
    async fn work(&mut self, link: &mut Link) {
        loop {
            let has_room =
                self.pending.len() < PENDING_REQUESTS_MAX && link.queued_bytes() < OUTBOX_BYTES_MAX;
            tokio::select! {
                frame = link.next() => match frame {
                    Ok(frame) => self.answer(&frame),
                    Err(error) => {
                        tracing::debug!("connection lost: {error}");
                        return;
                    }
                },
                Some(command) = self.commands.recv(), if has_room => self.begin(link, command),
            }
            if self.pending.len() >= PENDING_REQUESTS_MAX {
                // Callers that gave up no longer count.
                self.pending.retain(|_, pending| !pending.reply.is_closed());
            }
        }
    }

    fn begin(&mut self, link: &mut Link, command: Command) {
        if command.reply.is_closed() {
            return;
        }
        let trace = command.trace.as_deref();
        match link.request(&command.method, command.params.as_deref(), trace) {
            Ok(id) => {
                let pending = Pending {
                    method: command.method,
                    repeatable: command.repeatable,
                    reply: command.reply,
                };
                self.pending.insert(id, pending);
            }
            // A receiver that is gone has stopped caring.
            Err(error) => drop(command.reply.send(Err(error))),
        }
    }

    fn answer(&mut self, frame: &Bytes) {
        let Ok(text) = std::str::from_utf8(frame) else {
            return;
        };
        let Ok(Envelope::Response(response)) = frame::read(text) else {
            return;
        };
        let id = response.id.parse().ok();
        if let Some(pending) = id.and_then(|id: u64| self.pending.remove(&id)) {
            drop(pending.reply.send(link::outcome(frame, response.outcome)));
        }
    }

    fn fail_pending(&mut self) {
        for (_, pending) in self.pending.drain() {
            let error = ClientError::ConnectionLost {
                method: pending.method,
                repeatable: pending.repeatable,
            };
            drop(pending.reply.send(Err(error)));
        }
    }

    /// Looks for the daemon. Calls wait for it at first and are then refused one by one.
    async fn find_again(&mut self) -> Result<Link, ClientError> {
        let absent = self.connector.target.not_running();
        let search = self.connector.again();
        tokio::pin!(search);
        if let Ok(found) = tokio::time::timeout(ABSENCE_PATIENCE, &mut search).await {
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

fn usual_timeout(method: &str) -> Duration {
    if LONG_METHODS.contains(&method) {
        return Duration::MAX;
    }
    CALL_TIMEOUT
}
