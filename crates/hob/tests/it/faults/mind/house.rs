//! A daemon whose model is a script and whose tools are the test's, ready to be killed.

use super::person::Person;
use super::workshop::Workshop;
use crate::faults::peer::Peer;
use crate::faults::rig::{Rig, eventually};
use hob_sim::{Dialect, Sim};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Prices that are easy to reckon with: a token in or out is a millionth of a dollar.
const PRICES: &str = "price_input = \"1\"\nprice_output = \"1\"\n";

/// A rig with a model, tools and a person.
pub(crate) struct House {
    pub(crate) rig: Rig,
    pub(crate) workshop: Workshop,
    pub(crate) person: Person,
}

/// Writes the config of a home that knows `sim` under the names of its dialects; more settings
/// come first.
pub(crate) fn configure(rig: &Rig, sim: &Sim, settings: &str) {
    let mut text = format!("{settings}\n[model]\ndefault = [\"chat/sim-small\"]\n");
    for (name, kind, dialect) in [
        ("chat", "openai", Dialect::OpenaiChat),
        ("responses", "openai-responses", Dialect::OpenaiResponses),
        ("claude", "anthropic", Dialect::Anthropic),
        ("gem", "gemini", Dialect::Gemini),
    ] {
        let url = sim.url(dialect);
        let entry = format!("[models.{name}]\nkind = \"{kind}\"\nurl = \"{url}\"\n{PRICES}");
        text += &entry;
    }
    std::fs::create_dir_all(rig.home()).expect("a home");
    std::fs::write(rig.home().join("config.toml"), text).expect("a config");
}

/// The dialects by their names in [`configure`].
pub(crate) const DIALECTS: [&str; 4] = ["chat", "responses", "claude", "gem"];

impl House {
    /// Starts a daemon with this model. `resolves` says whether the person answers for doubts.
    pub(crate) fn start(sim: &Sim, settings: &str, resolves: bool) -> House {
        let mut rig = Rig::new();
        configure(&rig, sim, settings);
        rig.start();
        let (socket, token) = (rig.socket().to_owned(), rig.token());
        let workshop = Workshop::open(socket.clone(), token.clone());
        let person = Person::attend(socket, token, &workshop.world, resolves);
        let house = House {
            rig,
            workshop,
            person,
        };
        house.served();
        house
    }

    /// Kills the daemon if it lives, and starts the next one.
    pub(crate) fn restart(&mut self) -> Duration {
        self.rig.kill();
        self.workshop.world.life.fetch_add(1, Ordering::SeqCst);
        self.rig.start()
    }

    /// Waits until the tools are at hand.
    pub(crate) fn served(&self) {
        let tools = || {
            let listed = self.rig.peer().must("tool.list", &json!({}));
            listed["tools"].to_string().contains("\"ring\"")
        };
        eventually("the tools are offered", tools);
    }

    /// Runs a task to its end, or to a question.
    pub(crate) fn run(&self, params: &Value) -> Value {
        let mut params = params.clone();
        params["wait"] = true.into();
        self.rig.peer().must("agent.run", &params)
    }

    pub(crate) fn status(&self, run: &str) -> Value {
        let selector = json!({ "runId": run });
        self.rig.peer().must("agent.status", &selector)
    }

    /// Ends daemon, tools and person, in an order in which none waits for another.
    pub(crate) fn close(mut self) {
        self.rig.kill();
        drop(self.workshop);
        self.person.leave();
    }
}

/// Starts a run and returns its id; an ended connection is nothing.
pub(crate) fn accept(peer: &mut Peer, params: &Value) -> Option<String> {
    match peer.call("agent.run", params) {
        Ok(Ok(reply)) => Some(reply["runId"].as_str().expect("an id").to_owned()),
        Ok(Err(error)) => panic!("agent.run was refused: {error}"),
        Err(_) => None,
    }
}
