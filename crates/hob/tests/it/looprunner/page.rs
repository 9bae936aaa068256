//! What Loop Runner's page does: it fills its form from the first event, saves the whole form and
//! starts, without looking at the answers.

use crate::looprunner::client::Client;
use crate::looprunner::{house_with, model, prompt, stop};
use hob_sim::Answer;
use serde_json::{Value, json};

/// The form as the page sends it: the model cut at its slashes, and no word about the rest.
fn form(shown: &Value, model: &str) -> Value {
    let mut parts = model.split('/');
    json!({
        "model": { "providerID": parts.next(), "modelID": parts.next() },
        "system": shown["system"], "user": shown["user"], "interval": 1000, "maxIterations": 1,
        "monitor": null,
    })
}

#[test]
fn a_page_that_saves_and_starts_works_on_the_task_that_it_shows() {
    let sim = model(|_, _| Answer::words("Done."));
    let house = house_with(&sim);
    let client = Client::granted(&house);
    let mut events = client.events("/api/events", None);
    let connected = events.next().expect("a first message");
    let shown = connected.data["config"].clone();
    for field in ["system", "user"] {
        assert!(shown[field].as_str().is_some_and(|text| text.len() > 10));
    }
    // A script that only starts has sent no task yet.
    let refused = client.try_post("/api/start", &Value::Null);
    assert_eq!(refused.status, 400, "{refused:?}");

    client.post("/api/config", &form(&shown, "sim/one"));
    client.post("/api/start", &Value::Null);
    let told = events.until(|message| message.kind() == "stopped");
    let asked = prompt(&told, 1);
    let task = shown["user"].as_str().expect("a text");
    assert!(
        asked.starts_with(&format!("## Current Task\n\n{task}")),
        "{asked}"
    );
    let system = sim.asked()[0].system.clone();
    assert!(
        system.contains(shown["system"].as_str().expect("a text")),
        "{system}"
    );
}

#[test]
fn a_form_that_is_refused_starts_nothing() {
    let sim = model(|_, _| Answer::words("Done."));
    let house = house_with(&sim);
    let client = Client::granted(&house);
    let shown = client.get("/api/state")["config"].clone();
    let mut wanted = form(&shown, "nobody/model");
    wanted["user"] = json!("My own task.");
    assert_eq!(client.try_post("/api/config", &wanted).status, 400);
    assert_eq!(client.try_post("/api/start", &Value::Null).status, 400);
    assert_eq!(sim.asked_count(), 0, "nothing was asked");
    // An empty list of models names none, and the form is taken.
    wanted["model"] = json!({ "providerID": "" });
    client.post("/api/config", &wanted);
    client.post("/api/start", &Value::Null);
    stop(&client);
    assert_eq!(client.get("/api/state")["config"]["user"], "My own task.");
}

#[test]
fn what_a_page_saves_is_there_after_a_restart() {
    let sim = model(|_, _| Answer::words("Done."));
    let mut house = house_with(&sim);
    let client = Client::granted(&house);
    let set = json!({ "system": "", "user": "Look.", "autoApprove": false, "working": "w" });
    client.post("/api/config", &set);
    assert_eq!(
        client.post("/api/persistent", &json!({ "persistent": "p" }))["ok"],
        true
    );
    assert_eq!(client.post("/api/working", &json!({}))["ok"], true);
    house.terminate();
    house.start_daemon();
    let client = Client::granted(&house);
    let config = client.get("/api/state")["config"].clone();
    for (field, value) in [
        ("system", json!("")),
        ("user", json!("Look.")),
        ("autoApprove", json!(false)),
        ("working", json!("")),
        ("persistent", json!("p")),
    ] {
        assert_eq!(config[field], value, "{field}");
    }
    // It grants nothing by itself.
    let shown = house.hob(&["--json", "loop", "show", "default"]).success();
    let shown: Value = serde_json::from_str(&shown).expect("JSON");
    assert_eq!(shown["config"]["grants"], json!([]), "{shown}");
}
