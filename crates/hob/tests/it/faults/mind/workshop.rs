//! The world outside: one tool of each effect class, served over the bus by the test itself, so
//! that it outlives every daemon and knows what truly happened.
//!
//! Invariants: requests of one connection are carried out in order, also those that a dead daemon
//! sent last; a new daemon is served only when nothing of the former one is left.

use crate::faults::peer::Peer;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How soon a lost daemon is looked for again.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(3);
const SERVICE: &str = "bench";

/// What happened to one thing a run wanted done.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deed {
    /// Requests that reached the tool.
    pub(crate) requests: u64,
    /// Times the world changed.
    pub(crate) effects: u64,
    /// Keys it was asked for with.
    pub(crate) keys: BTreeSet<String>,
}

/// Everything that happened, by tool and thing.
#[derive(Debug, Default)]
pub(crate) struct World {
    deeds: Mutex<BTreeMap<(String, String), Deed>>,
    /// The daemon that is served, counted by its starts.
    pub(crate) served: AtomicU64,
    /// The daemon that lives.
    pub(crate) life: AtomicU64,
    /// How long an effect takes, before and after it happens.
    pub(crate) work_us: AtomicU64,
    stop: AtomicBool,
}

impl World {
    pub(crate) fn deed(&self, tool: &str, of: &str) -> Deed {
        let deeds = self.deeds();
        let deed = deeds.get(&(tool.to_owned(), of.to_owned()));
        deed.cloned().unwrap_or_default()
    }

    pub(crate) fn all(&self) -> BTreeMap<(String, String), Deed> {
        self.deeds().clone()
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stop.load(Ordering::SeqCst)
    }

    /// Whether the tools serve the daemon that lives, and nothing of a former one is left.
    pub(crate) fn is_current(&self) -> bool {
        self.served.load(Ordering::SeqCst) == self.life.load(Ordering::SeqCst)
    }

    fn deeds(&self) -> MutexGuard<'_, BTreeMap<(String, String), Deed>> {
        self.deeds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn execute(&self, params: &Value) -> Value {
        let (tool, of) = names(params);
        let key = params["context"]["key"].as_str().unwrap_or_default();
        self.toil();
        {
            let mut deeds = self.deeds();
            let deed = deeds.entry((tool.clone(), of.clone())).or_default();
            deed.requests += 1;
            let known = !deed.keys.insert(key.to_owned());
            let changes = match tool.as_str() {
                "look" => false,
                "post" => !known,
                _ => true,
            };
            deed.effects += u64::from(changes);
        }
        self.toil();
        outcome(&tool, &of)
    }

    fn probe(&self, params: &Value) -> Value {
        let (tool, of) = names(params);
        match self.deed(&tool, &of).effects {
            0 => json!({ "happened": "no" }),
            _ => json!({ "happened": "yes", "outcome": outcome(&tool, &of) }),
        }
    }

    fn toil(&self) {
        let work = self.work_us.load(Ordering::Relaxed);
        if work > 0 {
            std::thread::sleep(Duration::from_micros(work));
        }
    }
}

/// What a tool says when its work is done.
pub(crate) fn said(tool: &str, of: &str) -> String {
    format!("{tool} done for {of}")
}

fn outcome(tool: &str, of: &str) -> Value {
    json!({ "content": [{ "type": "text", "text": said(tool, of) }] })
}

fn names(params: &Value) -> (String, String) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&params["name"]), text(&params["args"]["of"]))
}

/// The tools at work, for as long as the value lives.
pub(crate) struct Workshop {
    pub(crate) world: Arc<World>,
    thread: Option<JoinHandle<()>>,
}

impl Workshop {
    /// Serves every daemon that comes to live behind `socket`.
    pub(crate) fn open(socket: PathBuf, token: String) -> Workshop {
        let world = Arc::new(World::default());
        let served = Arc::clone(&world);
        let thread = std::thread::spawn(move || {
            while !served.is_over() {
                let life = served.life.load(Ordering::SeqCst);
                // A daemon that came between is met again under its own number.
                let met = Peer::authenticated(&socket, &token);
                if let Ok(peer) = met
                    && served.life.load(Ordering::SeqCst) == life
                {
                    let _ = serve(peer, life, &served);
                }
                std::thread::sleep(LOOK_AGAIN);
            }
        });
        Workshop {
            world,
            thread: Some(thread),
        }
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        self.world.stop.store(true, Ordering::SeqCst);
        if let Some(thread) = self.thread.take() {
            // A workshop that panicked has said so itself.
            let _ = thread.join();
        }
    }
}

/// Offers the tools and does what is asked until the daemon is gone.
fn serve(mut peer: Peer, life: u64, world: &World) -> std::io::Result<()> {
    peer.stream()
        .set_read_timeout(Some(Duration::from_mins(10)))?;
    let register = json!({
        "service": SERVICE, "version": "1",
        "methods": ["bench.tool_execute", "bench.tool_probe"],
    });
    if peer.call("gateway.register", &register)?.is_err() {
        return Ok(());
    }
    let tools = offers();
    let offer = json!({ "service": SERVICE, "tools": tools });
    let mut asked = vec![peer.send("tool.offer", &offer)?];
    // The owner believes what each declares.
    for tool in &tools {
        let tier = json!({ "name": tool["name"], "tier": tool["tier"] });
        asked.push(peer.send("tool.tier", &tier)?);
    }
    loop {
        let frame = peer.frame()?;
        if frame["type"] == "res" && asked.iter().any(|id| frame["id"] == id.as_str()) {
            assert_eq!(frame["ok"], true, "the offer is taken: {frame}");
            asked.retain(|id| frame["id"] != id.as_str());
            if asked.is_empty() {
                world.served.store(life, Ordering::SeqCst);
            }
        }
        if frame["type"] != "req" {
            continue;
        }
        let payload = match frame["method"].as_str() {
            Some("bench.tool_probe") => world.probe(&frame["params"]),
            _ => world.execute(&frame["params"]),
        };
        let answer = json!({ "type": "res", "id": frame["id"], "ok": true, "payload": payload });
        peer.write(format!("{answer}\n").as_bytes())?;
    }
}

fn offers() -> Vec<Value> {
    let tool = |name: &str, effect: &str, tier: &str| {
        json!({
            "name": name, "description": format!("Does a {effect} thing."),
            "parameters": {
                "type": "object", "properties": { "of": { "type": "string" } },
                "required": ["of"], "additionalProperties": false,
            },
            "tier": tier, "effect": effect, "approval": format!("{name} {{of}}"),
        })
    };
    vec![
        tool("look", "pure", "read"),
        tool("post", "keyed", "external"),
        tool("put", "probeable", "write"),
        tool("ring", "opaque", "external"),
    ]
}
