//! `agent.*` and `run.*`.

use super::{client, connect, house_with, model, run};
use crate::conformance::wire::{number, text};
use serde_json::{Value, json};
use std::collections::BTreeSet;

const TOPICS: [&str; 4] = ["run.started", "run.delta", "run.tool", "run.completed"];

fn deltas<'e>(events: &'e [Value], field: &'e str) -> impl Iterator<Item = &'e str> {
    let deltas = events.iter().filter(|event| event["event"] == "run.delta");
    deltas.filter_map(move |event| event["payload"][field].as_str())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_answered_at_its_end_and_streamed_before() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &TOPICS).await;
    let created = json!({ "sessionKey": "cli:chat", "kind": "cli", "metadata": {} });
    cli.call("session.create", created).await;
    let (answer, events) = run(
        &mut cli,
        json!({ "sessionKey": "cli:chat", "task": "hello" }),
    )
    .await;
    let answer = answer.expect("it runs");
    let said = "You said: hello. And that is all I know of it.";
    assert_eq!(
        (&answer["success"], &answer["response"]),
        (&json!(true), &json!(said))
    );
    assert!(number(&answer["tokensUsed"], "output") > 0, "{answer}");
    let told: String = deltas(&events, "delta").collect();
    assert_eq!(told, said);
    assert!(deltas(&events, "delta").count() > 1);
    for event in &events {
        assert_eq!(event["payload"]["runId"], answer["runId"], "{event}");
        assert_eq!(event["payload"]["sessionKey"], "cli:chat", "{event}");
    }
    // Each delta has a position of its own.
    let positions: BTreeSet<(u64, u64)> = events
        .iter()
        .filter(|event| event["event"] == "run.delta")
        .map(|event| (number(event, "seq"), number(event, "sub")))
        .collect();
    assert_eq!(positions.len(), deltas(&events, "delta").count());
    let last = events.last().expect("events");
    assert_eq!(last["event"], "run.completed");
    assert_eq!(
        (&last["payload"]["response"], &last["payload"]["success"]),
        (&json!(said), &json!(true))
    );
    assert_eq!(events[0]["event"], "run.started");
}

#[tokio::test(flavor = "multi_thread")]
async fn thinking_is_no_text_of_the_answer() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &TOPICS).await;
    let (answer, events) = run(&mut cli, json!({ "sessionKey": "cli:t", "task": "think" })).await;
    assert_eq!(answer.expect("it runs")["response"], "The answer is here.");
    let told: String = deltas(&events, "delta").collect();
    assert_eq!(told, "The answer is here.");
    let thought: String = deltas(&events, "thinking").collect();
    assert_eq!(thought, "Let me see what it may be.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_says_so_in_its_answer() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    let (answer, _) = run(&mut cli, json!({ "sessionKey": "cli:f", "task": "refuse" })).await;
    let answer = answer.expect("a failed run is an answer");
    assert_eq!(answer["success"], false);
    assert!(!text(&answer, "error").is_empty());
    assert!(answer["response"].is_string(), "{answer}");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_parameter_reaches_the_model_or_the_tools() {
    let sim = model();
    let house = house_with(&sim, "");
    std::fs::write(house.work().join("note.txt"), "seven\n").expect("written");
    let mut cli = client(&house, "cli", &TOPICS).await;
    let params = json!({
        "sessionKey": "cli:p", "task": "read note.txt", "provider": "sim", "model": "one",
        "workspaceDir": house.work(), "thinkingLevel": "high", "verbose": true, "agentId": "main",
        "bootstrapOverrides": { "SOUL.md": "Speak like a sailor." },
    });
    let (answer, events) = run(&mut cli, params).await;
    let answer = answer.expect("it runs");
    assert!(text(&answer, "response").contains("seven"), "{answer}");
    assert_eq!(answer["model"], "sim/one");
    assert_eq!(answer["tools"][0]["toolName"], "read", "{answer}");
    assert_eq!(answer["tools"][0]["isError"], false, "{answer}");
    let asked = sim.asked();
    let first = asked.first().expect("it was asked");
    assert!(
        first.system.contains("Speak like a sailor."),
        "{}",
        first.system
    );
    let tools: Vec<&Value> = events
        .iter()
        .filter(|event| event["event"] == "run.tool")
        .collect();
    assert_eq!(tools[0]["payload"]["toolName"], "read");
    assert_eq!(tools[0]["payload"]["args"], json!({ "path": "note.txt" }));
    assert_eq!(tools[0]["payload"]["phase"], "start");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_thinking_level_reaches_a_model_that_has_one() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    let mut thinking = Vec::new();
    for level in [Value::Null, json!("low"), json!("high")] {
        let params = json!({
            "sessionKey": "cli:think", "task": "hello", "thinkingLevel": level,
            "provider": "claude", "model": "claude-opus-4-5",
        });
        let (answer, _) = run(&mut cli, params).await;
        assert_eq!(answer.expect("it runs")["success"], true);
        let asked = sim.asked();
        let last = asked.last().expect("it was asked");
        thinking.push([
            last.body["thinking"].clone(),
            last.body["output_config"].clone(),
        ]);
    }
    assert_eq!(thinking[0][0], Value::Null);
    assert!(thinking[1][0].is_object(), "{thinking:?}");
    assert_ne!(thinking[1], thinking[2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_hob_does_not_have_is_refused_by_its_name() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    for (more, named) in [
        (json!({ "agentId": "researcher" }), "agentId"),
        (json!({ "provider": "sim" }), "provider"),
        (json!({ "thinkingLevel": "galactic" }), "galactic"),
        (json!({ "verbose": "loud" }), "verbose"),
        (
            json!({ "bootstrapOverrides": ["SOUL.md"] }),
            "bootstrapOverrides",
        ),
        (json!({ "workspaceDir": "relative" }), "workspace"),
        (json!({ "model": "nobody/nothing" }), "nobody"),
        (json!({ "colour": "red" }), "colour"),
    ] {
        let mut params = json!({ "sessionKey": "cli:r", "task": "hello" });
        let fields = params.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        let message = cli.refused("INVALID_PARAMS", "agent.run", params).await;
        assert!(message.contains(named), "{named}: {message}");
    }
    assert_eq!(sim.asked_count(), 0);
    cli.refused("INVALID_PARAMS", "agent.run", json!([1])).await;
    cli.refused("INVALID_PARAMS", "agent.run", json!({ "task": "x" }))
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_does_not_run_is_told_without_an_error() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &[]).await;
    let idle = json!({ "running": false, "activeRuns": [] });
    let unknown = [
        json!({ "sessionKey": "never:seen" }),
        json!({ "runId": "run-1700000000000-ab12c" }),
        json!({ "runId": "0197a3f0-0000-7000-8000-000000000000" }),
    ];
    for selector in &unknown {
        assert_eq!(cli.call("agent.status", selector.clone()).await, idle);
        let ended = cli.call("agent.abort", selector.clone()).await;
        assert_eq!(ended["aborted"], false, "{selector}");
    }
    assert_eq!(cli.call("agent.status", json!({})).await, idle);
    cli.refused("INVALID_PARAMS", "agent.abort", json!({}))
        .await;
    // A session that has been created and never run.
    let key = json!({ "sessionKey": "cli:new" });
    cli.call("session.create", key.clone()).await;
    assert_eq!(cli.call("agent.status", key.clone()).await, idle);
    assert_eq!(cli.call("agent.abort", key).await["aborted"], false);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_shown_and_ended_by_its_session() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut cli = client(&house, "cli", &["run.delta"]).await;
    let params = json!({ "sessionKey": "cli:e", "task": "endless" });
    let waiting = cli.post("agent.run", params).await;
    let run_id = text(&cli.event_of("run.delta").await["payload"], "runId");
    let of_session = json!({ "sessionKey": "cli:e" });
    let mut other = connect(&house).await;
    for selector in [json!({}), of_session.clone(), json!({ "runId": run_id })] {
        let status = other.call("agent.status", selector).await;
        assert_eq!(status["running"], true, "{status}");
        assert_eq!(status["activeRuns"][0]["runId"], run_id.as_str());
    }
    let ended = other.call("agent.abort", of_session.clone()).await;
    assert_eq!(ended["aborted"], true, "{ended}");
    assert_eq!(ended["runs"][0]["runId"], run_id.as_str());
    let answer = cli.answer(&waiting).await;
    assert_eq!(answer["payload"]["success"], false, "{answer}");
    assert_eq!(answer["payload"]["runId"], run_id.as_str());
    let again = other.call("agent.abort", of_session).await;
    assert_eq!(again["aborted"], false, "{again}");
    let stats = other.call("agent.stats", json!({})).await;
    assert_eq!(
        (&stats["totalRuns"], &stats["activeRuns"]),
        (&json!(1), &json!(0))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_when_its_client_leaves() {
    let sim = model();
    let house = house_with(&sim, "");
    let mut watcher = client(&house, "watcher", &["run.started", "run.completed"]).await;
    let mut cli = client(&house, "cli", &[]).await;
    let params = json!({ "sessionKey": "cli:l", "task": "hello" });
    cli.post("agent.run", params).await;
    watcher.event_of("run.started").await;
    drop(cli);
    let ended = watcher.event_of("run.completed").await;
    assert_eq!(ended["payload"]["success"], true, "{ended}");
}
