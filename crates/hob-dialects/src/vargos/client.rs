//! One client of Vargos: its frames in and out.
//!
//! Invariants: the first bus call of each translated request is made in the order of the requests.
//! Their number is bounded. They end with the connection; a run that was accepted continues.

use crate::vargos::events::VargosEventTranslator;
use crate::vargos::params::VargosParams;
use crate::vargos::{SURFACE, jobs, registration, runs, sessions, tools};
use bytes::Bytes;
use hob_bus::{BusLink, BusOutlet, Caller, CloseReason};
use hob_gateway::Principal;
use hob_gateway::http::HttpState;
use hob_gateway::websocket::{MessageSink, MessageSource};
use hob_kit::settings::Settings;
use hob_wire::frame::{self, Envelope, RequestEnvelope, RequestHead, UNKNOWN_ID};
use hob_wire::limits::{FRAME_BYTES_MAX, JSON_DEPTH_MAX};
use hob_wire::rooms::gateway::{GatewayInspectParams, Inspect, Register};
use hob_wire::rooms::{agent, cron, session, tool};
use hob_wire::{ErrorCode, Method, WireError};
use serde_json::Value;
use std::collections::HashSet;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use tokio::sync::{Semaphore, mpsc};
use tokio_util::sync::CancellationToken;

/// Translated requests of one client at the same time; most of them wait for the end of a run.
const REQUESTS_MAX: usize = 256;
/// Answers that wait for the socket.
const ANSWERS_MAX: usize = 16;
/// The part of a frame that an answer's envelope may take.
const ENVELOPE_BYTES_MAX: usize = 4 * 1024;

/// A method that is translated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum VargosMethod {
    AgentRun,
    AgentAbort,
    AgentStatus,
    AgentStats,
    CronList,
    CronAdd,
    CronUpdate,
    CronRemove,
    SessionList,
    SessionGet,
    SessionCreate,
    SessionDelete,
    SessionAddMessage,
    SessionGetMessages,
    ToolList,
    ToolExecute,
}

/// The translated methods: Vargos's name, and hob's method that must be there.
const METHODS: &[(&str, VargosMethod, &str)] = &[
    ("agent.run", VargosMethod::AgentRun, agent::Run::SPEC.name),
    (
        "agent.abort",
        VargosMethod::AgentAbort,
        agent::Abort::SPEC.name,
    ),
    (
        "agent.status",
        VargosMethod::AgentStatus,
        agent::Status::SPEC.name,
    ),
    (
        "agent.stats",
        VargosMethod::AgentStats,
        agent::Stats::SPEC.name,
    ),
    ("cron.list", VargosMethod::CronList, cron::List::SPEC.name),
    ("cron.add", VargosMethod::CronAdd, cron::Add::SPEC.name),
    (
        "cron.update",
        VargosMethod::CronUpdate,
        cron::Update::SPEC.name,
    ),
    (
        "cron.remove",
        VargosMethod::CronRemove,
        cron::Remove::SPEC.name,
    ),
    (
        "session.list",
        VargosMethod::SessionList,
        session::List::SPEC.name,
    ),
    (
        "session.get",
        VargosMethod::SessionGet,
        session::Get::SPEC.name,
    ),
    (
        "session.create",
        VargosMethod::SessionCreate,
        session::Create::SPEC.name,
    ),
    (
        "session.delete",
        VargosMethod::SessionDelete,
        session::Delete::SPEC.name,
    ),
    (
        "session.addMessage",
        VargosMethod::SessionAddMessage,
        session::Send::SPEC.name,
    ),
    (
        "session.getMessages",
        VargosMethod::SessionGetMessages,
        session::History::SPEC.name,
    ),
    ("tool.list", VargosMethod::ToolList, tool::List::SPEC.name),
    (
        "tool.execute",
        VargosMethod::ToolExecute,
        tool::Execute::SPEC.name,
    ),
];

#[derive(Debug)]
pub(crate) struct VargosClient {
    state: Arc<HttpState>,
    caller: Caller,
    /// The methods of hob's rooms. On a bare daemon there are none but the gateway's.
    room_methods: HashSet<String>,
    answers: mpsc::Sender<Bytes>,
    permits: Arc<Semaphore>,
    disconnected: CancellationToken,
}

impl VargosClient {
    /// Returns the client and the queue of its answers.
    pub(crate) async fn connect(
        state: &Arc<HttpState>,
        principal: &Principal,
    ) -> Result<(Arc<VargosClient>, mpsc::Receiver<Bytes>), WireError> {
        let caller = state.caller(principal, SURFACE)?;
        let inspection = caller.call::<Inspect>(&GatewayInspectParams {}).await?;
        let rooms = inspection
            .services
            .into_iter()
            .filter(|service| service.builtin);
        let (answers, queue) = mpsc::channel(ANSWERS_MAX);
        let client = VargosClient {
            state: Arc::clone(state),
            caller,
            room_methods: rooms.flat_map(|room| room.methods).collect(),
            answers,
            permits: Arc::new(Semaphore::new(REQUESTS_MAX)),
            disconnected: CancellationToken::new(),
        };
        Ok((Arc::new(client), queue))
    }

    pub(crate) fn disconnect(&self) {
        self.disconnected.cancel();
    }

    pub(crate) async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, WireError> {
        self.caller.call::<M>(params).await
    }

    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.state.shared.settings.borrow())
    }

    /// Returns true if hob's own rooms are there.
    fn has_rooms(&self) -> bool {
        let mut methods = self.room_methods.iter();
        methods.any(|method| !method.starts_with("gateway."))
    }

    async fn receive(self: &Arc<Self>, link: &BusLink, text: Bytes) {
        let Some(request) = read_request(&text) else {
            return link.receive(text).await;
        };
        if request.method == Register::SPEC.name {
            return match registration::translate(request.params) {
                Ok(params) => forward(link, &request, Some(&params)).await,
                Err(error) => self.answer(&request.id, Err(error)).await,
            };
        }
        let translated = METHODS.iter().find(|(name, ..)| *name == request.method);
        if let Some((_, method, room_method)) = translated
            && self.room_methods.contains(*room_method)
        {
            return match VargosParams::parse(request.params) {
                Ok(params) => self.handle(&request.id, *method, params).await,
                Err(error) => self.answer(&request.id, Err(error)).await,
            };
        }
        if request.target.is_empty() {
            return link.receive(text.clone()).await;
        }
        // Vargos routes by the method alone, so a target must not lead to a refusal.
        let params = request.params.map(|params| params.get().as_bytes());
        forward(link, &request, params).await;
    }

    /// Answers a translated request, in a task of its own if it has to wait.
    async fn handle(self: &Arc<Self>, id: &str, method: VargosMethod, params: VargosParams) {
        // Refused rather than queued: the client can wait, and hob's memory stays bounded.
        let Ok(permit) = Arc::clone(&self.permits).try_acquire_owned() else {
            let message = "This connection has too many unanswered requests.";
            let error = WireError::new(ErrorCode::Overloaded, message);
            return self.answer(id, Err(error)).await;
        };
        let (client, id) = (Arc::clone(self), id.to_owned());
        let mut work: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let outcome = client.perform(method, params).await;
            client.answer(&id, outcome).await;
            drop(permit);
        });
        // Polled here once, so that the bus receives the first call before the next frame is read.
        let first = std::future::poll_fn(|context| Poll::Ready(work.as_mut().poll(context))).await;
        if first.is_ready() {
            return;
        }
        let disconnected = self.disconnected.clone();
        self.state.shared.tasks.spawn("vargos-request", async move {
            tokio::select! {
                () = work => {}
                () = disconnected.cancelled() => {}
            }
        });
    }

    async fn perform(
        &self,
        method: VargosMethod,
        params: VargosParams,
    ) -> Result<Value, WireError> {
        match method {
            VargosMethod::AgentRun => runs::run(self, params).await,
            VargosMethod::AgentAbort => runs::abort(self, params).await,
            VargosMethod::AgentStatus => runs::status(self, params).await,
            VargosMethod::AgentStats => runs::stats(self, params).await,
            VargosMethod::CronList => jobs::list(self, params).await,
            VargosMethod::CronAdd => jobs::add(self, params).await,
            VargosMethod::CronUpdate => jobs::update(self, params).await,
            VargosMethod::CronRemove => jobs::remove(self, params).await,
            VargosMethod::SessionList => sessions::list(self, params).await,
            VargosMethod::SessionGet => sessions::get(self, params).await,
            VargosMethod::SessionCreate => sessions::create(self, params).await,
            VargosMethod::SessionDelete => sessions::delete(self, params).await,
            VargosMethod::SessionAddMessage => sessions::add_message(self, params).await,
            VargosMethod::SessionGetMessages => sessions::get_messages(self, params).await,
            VargosMethod::ToolList => tools::list(self, params).await,
            VargosMethod::ToolExecute => tools::execute(self, params).await,
        }
    }

    async fn answer(&self, id: &str, outcome: Result<Value, WireError>) {
        let frame = encode_answer(id, &outcome);
        // An error means that the socket is closed, so nobody would read the answer.
        let _ = self.answers.send(frame).await;
    }
}

/// The receiver of a client's messages.
pub(crate) struct VargosMessageSink<'l> {
    pub(crate) link: &'l BusLink,
    pub(crate) client: Arc<VargosClient>,
}

impl MessageSink for VargosMessageSink<'_> {
    async fn receive_text(&self, text: Bytes) {
        self.client.receive(self.link, text).await;
    }

    async fn receive_binary(&self) {
        self.link.receive_binary().await;
    }

    fn oversize_answer(&self) -> Option<Bytes> {
        let message =
            format!("a frame has at most {FRAME_BYTES_MAX} bytes; the connection is closed");
        let error = WireError::new(ErrorCode::ParseError, message);
        Some(encode_answer(UNKNOWN_ID, &Err(error)))
    }
}

/// The messages for a client: frames of the bus, and answers to translated requests.
#[derive(Debug)]
pub(crate) struct VargosMessageSource {
    outlet: BusOutlet,
    frames: Vec<Bytes>,
    answers: mpsc::Receiver<Bytes>,
    translator: VargosEventTranslator,
}

impl VargosMessageSource {
    pub(crate) fn new(
        outlet: BusOutlet,
        answers: mpsc::Receiver<Bytes>,
        client: &VargosClient,
    ) -> VargosMessageSource {
        VargosMessageSource {
            outlet,
            frames: Vec::new(),
            answers,
            translator: VargosEventTranslator::new(client.has_rooms()),
        }
    }
}

impl MessageSource for VargosMessageSource {
    async fn next(&mut self, into: &mut Vec<Bytes>) -> Option<CloseReason> {
        tokio::select! {
            // Frames first: the events of a run precede the answer that tells its end.
            biased;
            closed = self.outlet.next(&mut self.frames) => {
                let translator = &mut self.translator;
                into.extend(self.frames.drain(..).map(|frame| translator.translate(frame)));
                closed
            }
            // The client holds a sender, so the channel ends only with the socket.
            _ = self.answers.recv_many(into, ANSWERS_MAX) => None,
        }
    }
}

/// Reads a frame that is a request; `None` for anything else, which the bus judges.
fn read_request(text: &Bytes) -> Option<RequestEnvelope<'_>> {
    let text = std::str::from_utf8(text).ok()?;
    let is_sound =
        text.trim_ascii_start().starts_with('{') && frame::is_depth_within(text, JSON_DEPTH_MAX);
    match frame::read(text).ok()? {
        Envelope::Request(request) if is_sound => Some(request),
        _ => None,
    }
}

/// Passes a request on, without its target and with the given params.
async fn forward(link: &BusLink, request: &RequestEnvelope<'_>, params: Option<&[u8]>) {
    let head = RequestHead {
        id: &request.id,
        target: "",
        method: &request.method,
        trace: request.trace.as_deref(),
    };
    let mut out = Vec::with_capacity(params.map_or(0, <[u8]>::len) + ENVELOPE_BYTES_MAX);
    frame::write_request(&mut out, &head, params);
    link.receive(Bytes::from(out)).await;
}

fn encode_answer(id: &str, outcome: &Result<Value, WireError>) -> Bytes {
    let mut out = Vec::new();
    let error = match outcome {
        Ok(payload) => {
            let payload = serde_json::to_vec(payload).unwrap_or_else(|_| b"null".to_vec());
            if payload.len() <= FRAME_BYTES_MAX - ENVELOPE_BYTES_MAX {
                frame::write_response(&mut out, id, Ok(Some(&payload)));
                return Bytes::from(out);
            }
            let message = "The answer does not fit a frame; ask for less with `limit`.";
            &WireError::new(ErrorCode::MethodError, message)
        }
        Err(error) => error,
    };
    let error = serde_json::to_vec(error).unwrap_or_default();
    frame::write_response(&mut out, id, Err(&error));
    Bytes::from(out)
}
