//! Pryx's dialect against the built binary, with a scripted model: what its TUI, host and scripts
//! meet, by plain HTTP and WebSocket.

pub(crate) mod client;
mod launcher;
mod listener;
mod rest;
mod story;

use crate::support::House;
use client::Client;
use hob_sim::{Answer, Dialect, Sim, SimRequest};
use serde_json::json;

/// A model that does as the user's last words say.
pub(crate) fn model() -> Sim {
    Sim::start(move |asked: &SimRequest| match asked.last_user() {
        "write" => match asked.results_of_task().first() {
            None => Answer::asks("write", json!({ "path": "notes.txt", "content": "new\n" })),
            Some(result) => Answer::words(format!("The tool said: {}", result.text)),
        },
        "refuse" => Answer::status(401),
        words => Answer::words(format!("You said: {words}. And that is all I know of it.")),
    })
}

/// A house with the listener open. `more` is added to the settings of its model.
pub(crate) fn house_with(sim: &Sim, approvals: bool, more: &str) -> House {
    let url = sim.url(Dialect::OpenaiChat);
    let mut house = House::builder().build();
    let config = format!(
        "[listen]\npryx = \":0\"\n\n[model]\ndefault = [\"sim/one\"]\n\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n{more}\n[dialect.pryx]\nworkspace = {:?}\napprovals = {approvals}\n",
        house.work(),
    );
    std::fs::write(house.home().join("config.toml"), config).expect("a config");
    house.start_daemon();
    house
}

/// Ends what a test left open, so that the house can end.
pub(crate) fn answer_all(house: &House, client: Client) {
    for request in client.get("/api/approvals/pending")["requests"]
        .as_array()
        .expect("a list")
    {
        let id = request["id"].as_str().expect("an id");
        house.hob(&["permission", "answer", id, "n"]);
    }
}
