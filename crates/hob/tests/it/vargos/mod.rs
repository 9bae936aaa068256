//! Vargos's dialect against the built binary, with raw frames and a scripted model: what its command
//! line, its bridge for tools and its channel service meet. Written from the description of its wire.

mod bare;
mod frames;
mod jobs;
mod runs;
mod sessions;
mod tools;

use crate::conformance::wire::{Peer, texts, ws_request_to};
use crate::support::House;
use hob_sim::{Answer, Dialect, Gate, Sim, SimRequest};
use serde_json::{Value, json};

/// A model that does as the user's last words say. `endless` never ends by itself.
fn model() -> Sim {
    let never = Gate::new();
    Sim::start(move |asked: &SimRequest| match asked.last_user() {
        "endless" => Answer::tokens(40).held_after(20, &never),
        "refuse" => Answer::status(401),
        "think" => Answer::words("The answer is here.").thinking("Let me see what it may be."),
        words if words.starts_with("read ") => match asked.results_of_task().first() {
            None => Answer::asks("read", json!({ "path": &words[5..] })),
            Some(result) => Answer::words(format!("It says: {}", result.text.trim())),
        },
        words => Answer::words(format!("You said: {words}. And that is all I know of it.")),
    })
}

/// A house with the listener, and more lines of `config.toml` before its first table.
fn house_with(sim: &Sim, more: &str) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let claude = sim.url(Dialect::Anthropic);
    let config = format!(
        "{more}\n[listen]\nvargos = \"127.0.0.1:0\"\n\n[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n\n[models.claude]\nkind = \"anthropic\"\nurl = \"{claude}\"\n"
    );
    House::builder().config(&config).start()
}

/// The address of the listener.
async fn address(house: &House) -> String {
    let mut owner = Peer::owner(house).await;
    let status = owner.call("daemon.status", json!({})).await;
    let lines = texts(&status, "listeners");
    let found = lines.iter().find_map(|line| line.strip_prefix("vargos "));
    found.expect("it is open").to_owned()
}

/// A connection as Vargos's clients make it: without token and path.
async fn connect(house: &House) -> Peer {
    let url = format!("ws://{}/", address(house).await);
    let opened = Peer::ws(ws_request_to(&url)).await;
    opened.expect("opening it is the grant")
}

/// A client that has registered as `service` and subscribed to `topics`, as all of Vargos's do.
async fn client(house: &House, service: &str, topics: &[&str]) -> Peer {
    let mut peer = connect(house).await;
    let params = json!({
        "service": service, "version": "1.0.0", "methods": [], "events": [],
        "subscriptions": topics,
    });
    peer.call("gateway.register", params).await;
    peer
}

/// Runs a task and returns the answer with the events that came before it.
async fn run(peer: &mut Peer, params: Value) -> (Result<Value, Value>, Vec<Value>) {
    let id = peer.post("agent.run", params).await;
    let mut events = Vec::new();
    loop {
        let frame = peer.frame().await;
        if frame["type"] == "event" {
            events.push(frame);
        } else if frame["id"] == id.as_str() {
            return (crate::conformance::wire::outcome(&frame), events);
        }
    }
}
