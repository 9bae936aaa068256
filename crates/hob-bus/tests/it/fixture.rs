//! A bus under test and peers that send raw frames. A peer reads only on request, so that a test
//! controls which peer is slow.

use bytes::Bytes;
use hob_bus::{
    Bus, BusLimits, BusLink, BusOutlet, BusParts, CloseReason, EventLog, MemoryLog, NewEvent,
    PeerIdentity,
};
use hob_bus::{PublisherInbox, SessionTag, publisher};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_kit::tasks::TaskGroup;
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// Long enough for the noisiest machine; reached only by a test that fails.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct TestBus {
    pub(crate) bus: Bus,
    pub(crate) log: Arc<MemoryLog>,
    pub(crate) clock: Clock,
    pub(crate) tasks: TaskGroup,
}

impl TestBus {
    pub(crate) fn new() -> Self {
        TestBus::with(BusLimits::default(), 100_000)
    }

    pub(crate) fn with(limits: BusLimits, rows_max: usize) -> Self {
        let (publisher, inbox) = publisher();
        TestBus::on(MemoryLog::with_rows_max(publisher, rows_max), inbox, limits)
    }

    fn on(log: MemoryLog, inbox: PublisherInbox, limits: BusLimits) -> Self {
        let log = Arc::new(log);
        let clock = Clock::manual(1_000_000);
        let tasks = TaskGroup::new();
        let bus = Bus::new(BusParts {
            log: log.clone(),
            inbox,
            clock: clock.clone(),
            randomness: Randomness::seeded(7),
            tasks: tasks.clone(),
            limits,
            version: "test".into(),
        });
        TestBus {
            bus,
            log,
            clock,
            tasks,
        }
    }

    /// The same log under a new bus, as after a restart.
    pub(crate) fn reopen(self) -> Self {
        let (publisher, inbox) = publisher();
        let log = self.log.reopen(publisher);
        TestBus::on(log, inbox, self.bus.limits().clone())
    }

    /// A peer with every scope.
    pub(crate) fn owner(&self) -> TestPeer {
        self.peer("owner", Scopes::owner())
    }

    pub(crate) fn reader(&self) -> TestPeer {
        self.peer("reader", Scopes::rank(Scope::Read))
    }

    /// A peer whose credential is called like itself.
    pub(crate) fn peer(&self, name: &str, scopes: Scopes) -> TestPeer {
        let peer = PeerIdentity {
            name: name.into(),
            surface: "ws",
            principal: name.into(),
            scopes,
        };
        let (link, outlet) = self.bus.connect(peer).expect("room for a connection");
        TestPeer::new(link, outlet)
    }

    /// A service that offers `methods`, registered by the owner.
    pub(crate) async fn service(&self, name: &str, methods: &[&str]) -> TestPeer {
        let mut wire = self.owner();
        let params = json!({ "service": name, "methods": methods });
        wire.call("gateway.register", params)
            .await
            .expect("registered");
        wire
    }

    pub(crate) async fn append(&self, topic: &str, session: Option<&str>, payload: Value) -> u64 {
        let event = NewEvent {
            source: "test".into(),
            topic: topic.into(),
            session: session.map(|id| SessionTag {
                id: id.into(),
                key: Some(format!("key-{id}").into()),
            }),
            payload: Some(Bytes::from(payload.to_string())),
        };
        self.log.append(event).await.expect("appended")
    }
}

/// A connection, as its peer sees it.
pub(crate) struct TestPeer {
    pub(crate) link: Option<BusLink>,
    outlet: BusOutlet,
    read: VecDeque<Value>,
    closed: Option<CloseReason>,
    last_id: u64,
}

impl TestPeer {
    pub(crate) fn new(link: BusLink, outlet: BusOutlet) -> Self {
        TestPeer {
            link: Some(link),
            outlet,
            read: VecDeque::new(),
            closed: None,
            last_id: 0,
        }
    }

    pub(crate) async fn send(&self, frame: Value) {
        self.send_text(&frame.to_string()).await;
    }

    pub(crate) async fn send_text(&self, text: &str) {
        let link = self.link.as_ref().expect("not hung up");
        link.receive(Bytes::copy_from_slice(text.as_bytes())).await;
    }

    /// Sends a request and does not wait.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> String {
        self.last_id += 1;
        let id = format!("q{}", self.last_id);
        self.send(json!({ "type": "req", "id": id, "method": method, "params": params }))
            .await;
        id
    }

    /// Sends a request and waits for its answer, leaving other frames for later.
    pub(crate) async fn call(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        let id = self.ask(method, params).await;
        self.answer_to(&id).await
    }

    /// The answer to a request.
    pub(crate) async fn answer_to(&mut self, id: &str) -> Result<Value, Value> {
        let frame = self
            .find(|frame| frame["type"] == "res" && frame["id"] == id)
            .await;
        if frame["ok"] == true {
            Ok(frame.get("payload").cloned().unwrap_or_default())
        } else {
            Err(frame["error"].clone())
        }
    }

    /// Subscribes and answers the `seq` it began at.
    pub(crate) async fn subscribe(&mut self, events: &[&str]) -> u64 {
        let answer = self
            .call("gateway.subscribe", json!({ "events": events }))
            .await;
        answer.expect("subscribed")["seq"].as_u64().expect("a seq")
    }

    /// The next request this service was given.
    pub(crate) async fn request(&mut self) -> Value {
        self.find(|frame| frame["type"] == "req").await
    }

    /// Answers a request with a payload.
    pub(crate) async fn reply(&self, request: &Value, payload: Value) {
        self.send(json!({ "type": "res", "id": request["id"], "ok": true, "payload": payload }))
            .await;
    }

    /// The next event.
    pub(crate) async fn event(&mut self) -> Value {
        self.find(|frame| frame["type"] == "event").await
    }

    /// The next frame of any kind.
    pub(crate) async fn next(&mut self) -> Value {
        self.find(|_| true).await
    }

    /// Why the link was closed, once every frame before that is read.
    pub(crate) async fn closed(&mut self) -> CloseReason {
        while self.closed.is_none() {
            self.fill().await;
        }
        self.closed.expect("just seen")
    }

    /// Every frame that is left on a closed link.
    pub(crate) async fn rest(&mut self) -> Vec<Value> {
        self.closed().await;
        self.read.drain(..).collect()
    }

    /// Whether anything but answers came before an answer that is asked for now. Answers come in
    /// order with events, so this is a proof of silence without a wait.
    pub(crate) async fn is_silent(&mut self) -> bool {
        let id = self.ask("gateway.auth", json!({ "token": "x" })).await;
        let mut silent = true;
        loop {
            let frame = self.next().await;
            if frame["type"] == "res" && frame["id"] == *id {
                return silent;
            }
            silent &= frame["type"] == "res";
        }
    }

    /// The next event among those that came before an answer that is asked for now.
    pub(crate) async fn poll_event(&mut self) -> Option<Value> {
        let id = self.ask("gateway.auth", json!({ "token": "x" })).await;
        self.answer_to(&id).await.expect("answered");
        let at = self
            .read
            .iter()
            .position(|frame| frame["type"] == "event")?;
        self.read.remove(at)
    }

    /// The next request, if one comes soon.
    pub(crate) async fn poll_request(&mut self) -> Option<Value> {
        let soon = Duration::from_millis(20);
        tokio::time::timeout(soon, self.request()).await.ok()
    }

    async fn find(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            if let Some(at) = self.read.iter().position(&wanted) {
                return self.read.remove(at).expect("found there");
            }
            assert!(
                self.closed.is_none(),
                "closed while waiting: {:?}",
                self.closed
            );
            self.fill().await;
        }
    }

    async fn fill(&mut self) {
        let mut frames = Vec::new();
        let next = self.outlet.next(&mut frames);
        self.closed = tokio::time::timeout(PATIENCE, next)
            .await
            .expect("a frame in time");
        for frame in frames {
            let frame = serde_json::from_slice(&frame).expect("frames are JSON");
            self.read.push_back(frame);
        }
    }
}

/// Waits until `done`, which something else brings about.
pub(crate) async fn until(done: impl Fn() -> bool) {
    let wait = async {
        while !done() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("in time");
}

pub(crate) fn code(outcome: &Result<Value, Value>) -> &str {
    match outcome {
        Ok(_) => "OK",
        Err(error) => error["code"].as_str().expect("a code"),
    }
}
