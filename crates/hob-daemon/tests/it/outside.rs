//! A service outside the house, speaking raw frames over a link of its own, as a program in any
//! language would.

use crate::fixture::Fixture;
use bytes::Bytes;
use hob_bus::{BusLink, BusOutlet, PeerIdentity};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};

/// Generous, because test machines are noisy.
const PATIENCE: Duration = Duration::from_secs(30);

type Answer = fn(&Value) -> Reply;
type Answers = BTreeMap<&'static str, Box<dyn Fn(&Value) -> Reply + Send + Sync>>;

/// What a service answers to a request.
pub(crate) enum Reply {
    Payload(Value),
    Error(Value),
    /// Nothing, ever.
    Silence,
}

/// A registered service; dropping it hangs up.
pub(crate) struct Outside {
    link: Arc<BusLink>,
    waiting: Arc<Mutex<BTreeMap<String, oneshot::Sender<Value>>>>,
    /// Requests it was given: method and params.
    asked: tokio::sync::Mutex<mpsc::Receiver<(String, Value)>>,
    reader: tokio::task::JoinHandle<()>,
    last_id: Mutex<u64>,
}

impl Outside {
    /// Connects with a token that may read and register `service`, and registers it.
    pub(crate) async fn serve(house: &Fixture, service: &str, answers: Answers) -> Outside {
        let scopes = Scopes::rank(Scope::Read).with_service(service);
        let outside = Outside::connect(house, service, scopes, answers);
        let methods: Vec<String> = METHODS
            .iter()
            .map(|method| format!("{service}.{method}"))
            .collect();
        let register = json!({ "service": service, "methods": methods });
        outside
            .call("gateway.register", register)
            .await
            .expect("is registered");
        outside
    }

    /// Connects and registers nothing.
    #[expect(clippy::disallowed_methods, reason = "a peer of a test has no Tasks")]
    pub(crate) fn connect(
        house: &Fixture,
        name: &str,
        scopes: Scopes,
        answers: Answers,
    ) -> Outside {
        let peer = PeerIdentity {
            name: name.to_owned(),
            surface: "ws",
            principal: name.to_owned(),
            scopes,
        };
        let (link, outlet) = house.bus.connect(peer).expect("connects");
        let link = Arc::new(link);
        let waiting = Arc::new(Mutex::new(BTreeMap::new()));
        let (heard, asked) = mpsc::channel(1_024);
        let reader = Reader {
            link: Arc::clone(&link),
            outlet,
            waiting: Arc::clone(&waiting),
            answers,
            heard,
        };
        Outside {
            link,
            waiting,
            asked: tokio::sync::Mutex::new(asked),
            reader: tokio::spawn(reader.run()),
            last_id: Mutex::new(0),
        }
    }

    pub(crate) async fn call(&self, method: &str, params: Value) -> Result<Value, Value> {
        let id = {
            let mut last = self.last_id.lock().expect("is sound");
            *last += 1;
            format!("o{last}")
        };
        let (answer, answered) = oneshot::channel();
        let waiting = &self.waiting;
        waiting.lock().expect("is sound").insert(id.clone(), answer);
        send(
            &self.link,
            &json!({ "type": "req", "id": id, "method": method, "params": params }),
        )
        .await;
        let frame = tokio::time::timeout(PATIENCE, answered).await;
        let frame = frame.expect("in time").expect("is answered");
        if frame["ok"] == json!(true) {
            Ok(frame["payload"].clone())
        } else {
            Err(frame["error"].clone())
        }
    }

    /// The next request it was given.
    pub(crate) async fn asked(&self) -> (String, Value) {
        let mut asked = self.asked.lock().await;
        let next = tokio::time::timeout(PATIENCE, asked.recv()).await;
        next.expect("in time").expect("is asked")
    }

    /// Whether it was given no request so far.
    pub(crate) async fn was_left_alone(&self) -> bool {
        self.asked.lock().await.try_recv().is_err()
    }

    /// Hangs up.
    pub(crate) async fn leave(self) {
        self.reader.abort();
        let _ = self.reader.await;
    }
}

/// What each of these services registers.
const METHODS: &[&str] = &["tool_execute", "tool_probe", "tool_cancel"];

struct Reader {
    link: Arc<BusLink>,
    outlet: BusOutlet,
    waiting: Arc<Mutex<BTreeMap<String, oneshot::Sender<Value>>>>,
    answers: Answers,
    heard: mpsc::Sender<(String, Value)>,
}

impl Reader {
    async fn run(mut self) {
        let mut frames = VecDeque::new();
        loop {
            let mut batch = Vec::new();
            let closed = self.outlet.next(&mut batch).await;
            frames.extend(batch);
            while let Some(frame) = frames.pop_front() {
                let frame: Value = serde_json::from_slice(&frame).expect("frames are JSON");
                self.take(frame).await;
            }
            if closed.is_some() {
                return;
            }
        }
    }

    async fn take(&self, frame: Value) {
        let id = frame["id"].as_str().unwrap_or_default().to_owned();
        if frame["type"] == "res" {
            let waiter = self.waiting.lock().expect("is sound").remove(&id);
            if let Some(waiter) = waiter {
                let _ = waiter.send(frame);
            }
            return;
        }
        if frame["type"] != "req" {
            return;
        }
        let method = frame["method"].as_str().unwrap_or_default().to_owned();
        let verb = method.rsplit('.').next().unwrap_or_default();
        let answer = self
            .answers
            .get(verb)
            .map(|answer| answer(&frame["params"]));
        let _ = self.heard.send((method, frame["params"].clone())).await;
        let answer = match answer {
            Some(Reply::Payload(payload)) => {
                json!({ "type": "res", "id": id, "ok": true, "payload": payload })
            }
            Some(Reply::Error(error)) => {
                json!({ "type": "res", "id": id, "ok": false, "error": error })
            }
            Some(Reply::Silence) | None => return,
        };
        send(&self.link, &answer).await;
    }
}

async fn send(link: &BusLink, frame: &Value) {
    let text = frame.to_string();
    link.receive(Bytes::from(text)).await;
}

/// Answers by method.
pub(crate) fn answers<const N: usize>(list: [(&'static str, Answer); N]) -> Answers {
    let list = list.into_iter();
    list.map(|(method, answer)| (method, Box::new(answer) as Box<_>))
        .collect()
}

/// A text as a tool answers it.
pub(crate) fn said(text: &str) -> Reply {
    Reply::Payload(json!({ "content": [{ "type": "text", "text": text }] }))
}
