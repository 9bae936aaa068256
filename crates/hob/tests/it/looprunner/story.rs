//! The ordinary story: configure, start, watch, remember, stop, and go on after a crash.

use crate::looprunner::client::Client;
use crate::looprunner::{house_with, kinds, model, prompt, stop};
use crate::support::wait_until;
use hob_sim::{Answer, Gate};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// A second is promised; the rest is for a machine that runs many tests at once.
const STOP_MAX: Duration = Duration::from_secs(5);

#[test]
fn a_loop_is_set_started_watched_and_told_something() {
    let first = Gate::new();
    let held = first.clone();
    let sim = model(move |iteration, _| match iteration {
        1 => Answer::words("answer 1").held(&held),
        number => Answer::words(format!("answer {number}")),
    });
    let house = house_with(&sim);
    let client = Client::granted(&house);
    let mut events = client.events("/api/events", None);
    let connected = events.next().expect("a first message");
    assert_eq!(connected.kind(), "connected");
    assert_eq!(connected.data["state"]["running"], false);
    assert_eq!(
        connected.data["config"]["model"],
        json!({ "providerID": "sim", "modelID": "one" })
    );

    let set = json!({
        "user": "Watch the build.", "system": "Be brief.", "interval": 1000,
        "persistent": "The goal: all green.", "monitor": { "command": "echo load; echo bad >&2" },
    });
    let told = client.post("/api/config", &set);
    assert_eq!(
        (&told["ok"], &told["config"]["user"]),
        (&json!(true), &set["user"])
    );
    assert_eq!(
        client.post("/api/start", &Value::Null),
        json!({ "ok": true })
    );
    assert_eq!(client.try_post("/api/start", &Value::Null).status, 409);
    let begun = events.until(|message| message.kind() == "prompt");
    let asked = prompt(&begun, 1);
    in_order(
        &asked,
        &[
            "## Persistent Memory",
            "The goal: all green.",
            "## Monitor Output",
            "load",
            "[stderr]",
            "## Current Task",
            "Watch the build.",
            "Iteration: 1",
        ],
    );
    let config = begun.iter().rfind(|message| message.kind() == "config");
    let config = &config.expect("the change was told").data["config"];
    assert_eq!(config["persistent"], set["persistent"]);

    // What is typed while the model thinks is for the next iteration, and for no other.
    wait_until("the model is asked", || first.waiting() == 1);
    client.post("/api/working", &json!({ "working": "Look at test 7." }));
    first.open();
    let ended = events.until_state_of(1);
    assert_eq!(kinds(&ended), ["response", "state"]);
    let second = events.until_state_of(2);
    let whole = ["iteration", "monitor", "prompt", "response", "state"];
    assert_eq!(kinds(&second), whole);
    let third = events.until_state_of(3);
    assert_eq!(kinds(&third), whole);
    assert!(!asked.contains("Look at test 7."));
    let asked = prompt(&second, 2);
    assert!(
        asked.contains("Working Memory (this iteration only)\n\nLook at test 7."),
        "{asked}"
    );
    assert!(
        asked.contains("## Previous Response\n\nanswer 1"),
        "{asked}"
    );
    assert!(
        !prompt(&third, 3).contains("Look at test 7."),
        "it is used once"
    );
    let state = &second.last().expect("a state").data["state"];
    assert_eq!(
        (&state["running"], &state["iteration"], &state["lastOutput"]),
        (&json!(true), &json!(2), &json!("answer 2"))
    );
    assert_eq!(state["sessionID"], "loop:default:2");

    let history = client.get("/api/history");
    assert_eq!(numbers_of(&history)[..3], [1, 2, 3]);
    assert_eq!(history[1]["prompt"], asked);
    assert!(history[1]["timestamp"].as_u64() > Some(1_600_000_000_000));

    stop(&client);
}

#[test]
fn stopping_ends_the_answer_that_is_under_way() {
    let never = Gate::new();
    let held = never.clone();
    let sim = model(move |iteration, _| match iteration {
        1 => Answer::words("answer 1"),
        _ => Answer::tokens(40).held_after(20, &held),
    });
    let house = house_with(&sim);
    let client = Client::granted(&house);
    let mut events = client.events("/api/events", None);
    client.post(
        "/api/config",
        &json!({ "user": "Speak.", "interval": 1000 }),
    );
    client.post("/api/start", &Value::Null);
    events.until(|message| message.kind() == "prompt" && message.data["iteration"] == 2);
    wait_until("the model is speaking", || never.waiting() == 1);
    let began = Instant::now();
    assert_eq!(
        client.post("/api/stop", &Value::Null),
        json!({ "ok": true })
    );
    let took = began.elapsed();
    assert!(took < STOP_MAX, "stopping took {took:?}");
    wait_until("the provider's stream is closed", || {
        sim.open_streams() == 0
    });
    let last = events.until(|message| message.kind() == "stopped");
    assert!(!kinds(&last).contains(&"response"), "{last:#?}");
    let state = client.get("/api/state")["state"].clone();
    assert_eq!(
        (&state["running"], &state["iteration"]),
        (&json!(false), &json!(2))
    );
    let history = client.get("/api/history");
    assert_eq!(numbers_of(&history), [1], "half an answer is none");
    // It goes on where it was.
    client.post("/api/start", &Value::Null);
    let again = events.until(|message| message.kind() == "iteration");
    assert_eq!(again.last().expect("one").data["iteration"], 3);
    stop(&client);
}

/// Whether a text has these words, one after the other.
fn in_order(text: &str, words: &[&str]) {
    let mut from = 0;
    for word in words {
        let found = text[from..].find(word);
        from += found.unwrap_or_else(|| panic!("{word} after {from} of {text}")) + word.len();
    }
}

/// The numbers of a history.
fn numbers_of(history: &Value) -> Vec<u64> {
    let list = history.as_array().expect("a list").iter();
    list.filter_map(|one| one["iteration"].as_u64()).collect()
}

#[test]
fn after_a_kill_the_loop_goes_on_and_the_stream_has_no_hole() {
    let gate = Gate::new();
    let held = gate.clone();
    let sim = model(move |iteration, _| {
        let answer = Answer::words(format!("answer {iteration}"));
        match iteration {
            2 => answer.held(&held),
            _ => answer,
        }
    });
    let mut house = house_with(&sim);
    let client = Client::owner(&house);
    let mut events = client.events("/api/events", None);
    client.post(
        "/api/config",
        &json!({ "user": "Go on.", "interval": 1000 }),
    );
    client.post("/api/start", &Value::Null);
    let mut seen = events.until_state_of(1);
    seen.extend(events.until(|message| message.kind() == "prompt"));
    wait_until("the model is asked", || gate.waiting() == 1);
    let last = seen.iter().rev().find_map(|message| message.id);
    let last = last.expect("an id");
    house.kill();
    gate.open();
    while events.next().is_some() {}

    house.start_daemon();
    let client = Client::owner(&house);
    let mut events = client.events("/api/events", Some(last));
    let connected = events.next().expect("a first message");
    assert_eq!((connected.kind(), connected.id), ("connected", Some(last)));
    assert_eq!(
        connected.data["state"]["running"], true,
        "it goes on by itself"
    );
    let more = events.until_state_of(3);
    seen.extend(more.iter().cloned());
    let of = |kind: &str| {
        let told = seen.iter().filter(|message| message.kind() == kind);
        told.map(|message| message.data["iteration"].as_u64().expect("a number"))
            .collect::<Vec<_>>()
    };
    for kind in ["iteration", "prompt", "response"] {
        assert_eq!(of(kind), [1, 2, 3], "{kind}: {seen:#?}");
    }
    let ids: Vec<u64> = seen.iter().filter_map(|message| message.id).collect();
    assert!(ids.is_sorted_by(|one, next| one < next), "{ids:?}");
    stop(&client);
    let history = client.get("/api/history");
    assert_eq!(numbers_of(&history)[..3], [1, 2, 3]);
    // The same iteration was asked, not another one.
    let prompts = sim.asked();
    let second: Vec<_> = prompts
        .iter()
        .filter(|asked| super::iteration_of(asked) == 2)
        .map(|asked| asked.last_user().to_owned())
        .collect();
    assert!(
        second.iter().all(|prompt| *prompt == second[0]),
        "{second:#?}"
    );
}

#[test]
fn many_loops_run_beside_each_other() {
    let sim = model(|iteration, asked| {
        let whose = asked.last_user().contains("Sweep.");
        Answer::words(format!(
            "{} {iteration}",
            if whose { "swept" } else { "dug" }
        ))
    });
    let house = house_with(&sim);
    let client = Client::owner(&house);
    for (id, user) in [("broom", "Sweep."), ("spade", "Dig.")] {
        let made =
            json!({ "id": id, "config": { "user": user, "interval": 1000, "maxIterations": 2 } });
        let made = client.post("/api/loops", &made);
        assert_eq!(
            (&made["id"], &made["config"]["user"]),
            (&json!(id), &json!(user))
        );
    }
    let mut streams: Vec<_> = ["broom", "spade"]
        .into_iter()
        .map(|id| client.events(&format!("/api/loops/{id}/events"), None))
        .collect();
    for id in ["broom", "spade"] {
        client.post(&format!("/api/loops/{id}/start"), &Value::Null);
    }
    for (events, word) in streams.iter_mut().zip(["swept", "dug"]) {
        let told = events.until(|message| message.kind() == "stopped");
        let said = told.iter().filter(|message| message.kind() == "response");
        let said: Vec<_> = said
            .map(|message| message.data["response"].clone())
            .collect();
        assert_eq!(
            said,
            [json!(format!("{word} 1")), json!(format!("{word} 2"))]
        );
    }
    let listed = client.get("/api/loops");
    let listed = listed.as_array().expect("a list");
    let shown: Vec<_> = listed
        .iter()
        .map(|one| {
            (
                one["id"].as_str(),
                one["running"].as_bool(),
                one["iteration"].as_u64(),
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            (Some("broom"), Some(false), Some(2)),
            (Some("spade"), Some(false), Some(2))
        ]
    );
    let reply = client.send("DELETE", "/api/loops/broom", &[], "");
    assert_eq!(reply.status, 200, "{reply:?}");
    assert_eq!(client.send("GET", "/api/loops/broom", &[], "").status, 404);
}
