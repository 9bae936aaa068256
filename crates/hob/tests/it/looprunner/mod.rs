//! Loop Runner's API against the built binary, with a scripted model: what its clients meet.

pub(crate) mod client;
mod hooks;
mod page;
mod story;
mod wrong;

use crate::support::House;
use client::{Client, Message};
use hob_sim::{Answer, Dialect, Sim, SimRequest};

/// A model that answers by the number of the iteration.
pub(crate) fn model(answer: impl Fn(u64, &SimRequest) -> Answer + Send + Sync + 'static) -> Sim {
    Sim::start(move |asked: &SimRequest| answer(iteration_of(asked), asked))
}

/// The number at the end of an iteration's prompt.
pub(crate) fn iteration_of(asked: &SimRequest) -> u64 {
    let number = asked.last_user().rsplit("Iteration: ").next();
    number
        .and_then(|number| number.trim().parse().ok())
        .unwrap_or(0)
}

pub(crate) fn house_with(sim: &Sim) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let config = format!(
        "[listen]\nlooprunner = \"127.0.0.1:0\"\n\n[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
    );
    House::builder().config(&config).start()
}

/// The kinds of messages; changes of settings may be told between any two.
pub(crate) fn kinds(messages: &[Message]) -> Vec<&str> {
    let kinds = messages.iter().map(Message::kind);
    kinds.filter(|kind| *kind != "config").collect()
}

/// The prompt that is told in an iteration.
pub(crate) fn prompt(messages: &[Message], iteration: u64) -> String {
    let found = messages
        .iter()
        .find(|message| message.kind() == "prompt" && message.data["iteration"] == iteration);
    let found = found.unwrap_or_else(|| panic!("no prompt of {iteration} in {messages:#?}"));
    found.data["prompt"].as_str().expect("a text").to_owned()
}

/// Ends what a test started: a loop that goes on would keep asking while the house ends.
pub(crate) fn stop(client: &Client) {
    client.post("/api/stop", &serde_json::Value::Null);
}
