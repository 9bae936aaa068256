//! A service in the house that offers one tool of each effect class, and counts what it does.

use super::house::House;
use hob_bus::{BusLink, BusOutlet, PeerIdentity};
use hob_wire::rooms::tool::{SetTier, Tier, ToolSetTierParams};
use hob_wire::{Scope, Scopes};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::Notify;

/// What was done outside hob: it outlives every house.
#[derive(Clone, Debug, Default)]
pub(crate) struct World(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    /// Every execution: tool and key.
    runs: Vec<(String, String)>,
    /// Effects that happened, by key.
    happened: BTreeMap<String, u32>,
    cancelled: u32,
    /// Executions of this tool hang before or after their effect.
    hangs: Option<(String, Hang)>,
}

/// Where an execution hangs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hang {
    Before,
    After,
}

impl World {
    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets executions of a tool hang from now on, or none.
    pub(crate) fn hang(&self, at: Option<(&str, Hang)>) {
        self.state().hangs = at.map(|(tool, hang)| (tool.to_owned(), hang));
    }

    /// How often a tool was executed.
    pub(crate) fn runs(&self, tool: &str) -> usize {
        let state = self.state();
        state.runs.iter().filter(|(name, _)| name == tool).count()
    }

    /// How often the effect of each key happened.
    pub(crate) fn effects(&self) -> Vec<u32> {
        self.state().happened.values().copied().collect()
    }

    pub(crate) fn cancelled(&self) -> u32 {
        self.state().cancelled
    }

    /// Executes a call: what it answers, unless it hangs.
    fn execute(&self, params: &Value) -> Option<Value> {
        let tool = params["name"].as_str().unwrap_or_default().to_owned();
        let key = params["context"]["key"].as_str().unwrap_or_default();
        let mut state = self.state();
        state.runs.push((tool.clone(), key.to_owned()));
        let hang = state.hangs.clone().filter(|(name, _)| *name == tool);
        let hang = hang.map(|(_, hang)| hang);
        if hang == Some(Hang::Before) {
            return None;
        }
        let seen = state.happened.entry(key.to_owned()).or_default();
        // A keyed effect happens once for its key; the others do what they are told.
        if tool != "keyed" || *seen == 0 {
            *seen += 1;
        }
        drop(state);
        if hang == Some(Hang::After) {
            return None;
        }
        if params["args"]["fail"] == json!(true) {
            return Some(json!({ "content": [{ "type": "text", "text": "no" }], "isError": true }));
        }
        Some(outcome(&tool))
    }

    fn probe(&self, params: &Value) -> Value {
        let key = params["context"]["key"].as_str().unwrap_or_default();
        let happened = self.state().happened.contains_key(key);
        if happened {
            json!({ "happened": "yes", "outcome": outcome("probeable") })
        } else {
            json!({ "happened": "no" })
        }
    }
}

fn outcome(tool: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": format!("{tool} is done") }] })
}

/// Registers the service and offers its tools; it stays as long as the house.
#[expect(clippy::disallowed_methods, reason = "a peer of a test has no Tasks")]
pub(crate) async fn serve(house: &House, world: &World) {
    let peer = PeerIdentity {
        name: "lab".to_owned(),
        surface: "ws",
        principal: "lab".to_owned(),
        scopes: Scopes::rank(Scope::Read).with_service("lab"),
    };
    let (link, outlet) = house.bus.connect(peer).expect("connects");
    let link = Arc::new(link);
    let offered = Arc::new(Notify::new());
    let service = Service {
        link: Arc::clone(&link),
        outlet,
        world: world.clone(),
        offered: Arc::clone(&offered),
    };
    tokio::spawn(service.run());
    let methods = ["lab.tool_execute", "lab.tool_probe", "lab.tool_cancel"];
    request(
        &link,
        "register",
        "gateway.register",
        json!({ "service": "lab", "methods": methods }),
    )
    .await;
    let tool = |name: &str| {
        json!({
            "name": name,
            "description": "Does something.",
            "parameters": { "type": "object" },
            "tier": if name == "pure" { "read" } else { "external" },
            "effect": name,
            "approval": "Do something",
        })
    };
    let tools: Vec<Value> = ["pure", "keyed", "probeable", "opaque"].map(tool).to_vec();
    let waits = offered.notified();
    request(
        &link,
        "offer",
        "tool.offer",
        json!({ "service": "lab", "tools": tools }),
    )
    .await;
    super::house::in_time(waits).await;
    // A person believes what each declares.
    let caller = house.bus.caller("test");
    for (name, tier) in [
        ("pure", Tier::Read),
        ("keyed", Tier::External),
        ("probeable", Tier::External),
        ("opaque", Tier::External),
    ] {
        let params = ToolSetTierParams {
            name: name.to_owned(),
            tier: Some(tier),
            reset: false,
        };
        caller.call::<SetTier>(&params).await.expect("is set");
    }
}

async fn request(link: &BusLink, id: &str, method: &str, params: Value) {
    let frame = json!({ "type": "req", "id": id, "method": method, "params": params });
    link.receive(frame.to_string().into()).await;
}

struct Service {
    link: Arc<BusLink>,
    outlet: BusOutlet,
    world: World,
    offered: Arc<Notify>,
}

impl Service {
    async fn run(mut self) {
        loop {
            let mut frames = Vec::new();
            let closed = self.outlet.next(&mut frames).await;
            for frame in frames {
                let frame: Value = serde_json::from_slice(&frame).expect("frames are JSON");
                self.take(&frame).await;
            }
            if closed.is_some() {
                return;
            }
        }
    }

    async fn take(&self, frame: &Value) {
        if frame["type"] == "res" {
            assert_eq!(frame["ok"], json!(true), "{frame}");
            if frame["id"] == "offer" {
                self.offered.notify_one();
            }
            return;
        }
        let answer = match frame["method"].as_str() {
            Some("lab.tool_execute") => self.world.execute(&frame["params"]),
            Some("lab.tool_probe") => Some(self.world.probe(&frame["params"])),
            Some("lab.tool_cancel") => {
                self.world.state().cancelled += 1;
                Some(json!({ "stopped": true }))
            }
            _ => return,
        };
        let Some(payload) = answer else { return };
        let answer = json!({ "type": "res", "id": frame["id"], "ok": true, "payload": payload });
        self.link.receive(answer.to_string().into()).await;
    }
}
