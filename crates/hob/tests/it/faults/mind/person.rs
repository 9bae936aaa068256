//! The person of the house: says yes to every permission, and answers for calls in doubt by what
//! truly happened. Comes back to each new daemon and misses no event.

use super::workshop::{LOOK_AGAIN, World, said};
use crate::faults::peer::Peer;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Refusals after which a call is taken to be no longer in doubt.
const REFUSALS_MAX: u32 = 40;

/// What the person heard and said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heard {
    /// How often each run was said to be over.
    pub(crate) completed: BTreeMap<String, u64>,
    /// How often each run was said to have begun or gone on.
    pub(crate) started: BTreeMap<String, u64>,
    /// Doubts as they came, by run and call; the arguments of the call.
    pub(crate) doubts: Vec<(String, Value)>,
    pub(crate) permissions: u64,
    /// Calls of which the person said that they had not happened.
    pub(crate) denied_effects: Vec<String>,
}

/// The person, for as long as the value lives.
pub(crate) struct Person {
    heard: Arc<Mutex<Heard>>,
    world: Arc<World>,
    thread: Option<JoinHandle<()>>,
}

impl Person {
    /// Attends every daemon behind `socket`; resolves doubts unless told to leave them open.
    pub(crate) fn attend(
        socket: PathBuf,
        token: String,
        world: &Arc<World>,
        resolves: bool,
    ) -> Person {
        let heard = Arc::<Mutex<Heard>>::default();
        let mut memory = Memory {
            heard: Arc::clone(&heard),
            world: Arc::clone(world),
            resolves,
            seen: 0,
            open: BTreeMap::new(),
            refusals: BTreeMap::new(),
            asked: BTreeMap::new(),
        };
        let world = Arc::clone(world);
        let thread = std::thread::spawn(move || {
            while !memory.world.is_over() {
                if let Ok(peer) = Peer::authenticated(&socket, &token) {
                    let _ = memory.listen(peer);
                }
                std::thread::sleep(LOOK_AGAIN);
            }
        });
        Person {
            heard,
            world,
            thread: Some(thread),
        }
    }

    pub(crate) fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether this run is over.
    pub(crate) fn saw_end(&self, run: &str) -> bool {
        self.heard().completed.contains_key(run)
    }

    /// Waits for the end of the thread, which ends with the world and its last daemon.
    pub(crate) fn leave(&mut self) {
        assert!(self.world.is_over(), "the world ends first");
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Memory {
    heard: Arc<Mutex<Heard>>,
    world: Arc<World>,
    resolves: bool,
    /// The last logged event that was heard.
    seen: u64,
    /// Doubts that no answer was acknowledged for, by run and call; the thing in question.
    open: BTreeMap<(String, String), String>,
    /// How often the answer to a doubt was refused.
    refusals: BTreeMap<(String, String), u32>,
    /// Answers under way, by request.
    asked: BTreeMap<String, (String, String)>,
}

impl Memory {
    fn listen(&mut self, mut peer: Peer) -> std::io::Result<()> {
        peer.stream()
            .set_read_timeout(Some(Duration::from_mins(10)))?;
        self.asked.clear();
        let topics = [
            "permission.requested",
            "run.started",
            "run.in_doubt",
            "run.completed",
        ];
        let wanted = json!({ "events": topics, "since": self.seen });
        peer.send("gateway.subscribe", &wanted)?;
        for doubt in self.open.keys().cloned().collect::<Vec<_>>() {
            self.resolve(&mut peer, doubt)?;
        }
        loop {
            let frame = peer.frame()?;
            if let Some(seq) = frame["seq"].as_u64() {
                self.seen = self.seen.max(seq);
            }
            match frame["event"].as_str() {
                Some(topic) => self.hear(&mut peer, topic, &frame["payload"])?,
                None => self.answered(&mut peer, &frame)?,
            }
        }
    }

    fn hear(&mut self, peer: &mut Peer, topic: &str, payload: &Value) -> std::io::Result<()> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let run = text(&payload["runId"]);
        match topic {
            "permission.requested" => {
                self.heard().permissions += 1;
                let yes = json!({ "id": payload["id"], "decision": "allow" });
                peer.send("permission.answer", &yes)?;
            }
            "run.started" => *self.heard().started.entry(run).or_default() += 1,
            "run.completed" => *self.heard().completed.entry(run).or_default() += 1,
            _ => {
                let call = &payload["call"];
                let doubt = (run.clone(), text(&call["id"]));
                self.heard().doubts.push((run, call.clone()));
                self.open.insert(doubt.clone(), text(&call["args"]["of"]));
                self.resolve(peer, doubt)?;
            }
        }
        Ok(())
    }

    /// Says what truly happened; only when nothing of a former daemon can still happen.
    fn resolve(&mut self, peer: &mut Peer, doubt: (String, String)) -> std::io::Result<()> {
        if !self.resolves {
            return Ok(());
        }
        while !self.world.is_current() && !self.world.is_over() {
            std::thread::sleep(LOOK_AGAIN);
        }
        // Told again after a restart, a doubt may have been answered meanwhile.
        let Some(of) = self.open.get(&doubt).cloned() else {
            return Ok(());
        };
        let tools = ["ring", "post", "put"];
        let done = tools
            .iter()
            .find(|tool| self.world.deed(tool, &of).effects > 0 && of.ends_with(**tool));
        let mut answer = json!({ "runId": doubt.0, "callId": doubt.1, "answer": "did-not" });
        if let Some(tool) = done {
            answer["answer"] = "happened".into();
            answer["result"] = said(tool, &of).into();
        } else {
            self.heard().denied_effects.push(of);
        }
        let request = peer.send("agent.resolve", &answer)?;
        self.asked.insert(request, doubt);
        Ok(())
    }

    /// An answer that was taken closes the doubt; so does one that is refused for long, because
    /// the call is no longer in doubt. Right after a start the run may not have been taken up yet.
    fn answered(&mut self, peer: &mut Peer, frame: &Value) -> std::io::Result<()> {
        let request = frame["id"].as_str().unwrap_or_default();
        let Some(doubt) = self.asked.remove(request) else {
            return Ok(());
        };
        let refusals = self.refusals.entry(doubt.clone()).or_default();
        *refusals += 1;
        if frame["ok"] == true || *refusals > REFUSALS_MAX {
            self.refusals.remove(&doubt);
            self.open.remove(&doubt);
            return Ok(());
        }
        std::thread::sleep(LOOK_AGAIN * 4);
        self.resolve(peer, doubt)
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
