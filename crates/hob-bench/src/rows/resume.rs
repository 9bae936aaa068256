//! A thousand runs cut off in the middle of a model call by `kill -9`: how long the next start
//! takes to take all of them up again, and to bring all of them to their end.

use crate::daemon::{BenchHome, SimProcess};
use crate::peer::{BusPeer, request};
use crate::report::BenchRow;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "the runs are cut by kill -9 while a silent model is asked (agent.concurrency = 1,000 in that life) and go on with the settings as shipped, 8 at work at once, against a model that answers at once. Times are from the start of the process.";

const RUNS: usize = 1_000;
/// Runs asked for in one go, below what a connection may have pending.
const ASK_AT_ONCE: usize = 200;
const PATIENCE: Duration = Duration::from_mins(2);
const MANY_AT_WORK: &str = "[agent]\nconcurrency = 1000\n";

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let runs = if quick { RUNS / 20 } else { RUNS };
    let silent = SimProcess::start(&["--silent"])?;
    let home = BenchHome::asking(&silent, MANY_AT_WORK)?;
    let seq = cut_off(&home, runs).await?;
    let port = silent.process.address.rsplit(':').next();
    let port = port.unwrap_or_default().to_owned();
    drop(silent);
    let answering = SimProcess::start(&["--port", &port])?;
    home.point_at(&answering, "")?;
    let started = Instant::now();
    let daemon = home.start()?;
    let mut peer = peer(&daemon.address, &home).await?;
    let topics = json!(["run.started", "run.completed"]);
    peer.call(
        "gateway.subscribe",
        json!({ "events": topics, "since": seq }),
    )
    .await?;
    let (mut resumed, mut completed) = (0, 0);
    let mut all_resumed = Duration::ZERO;
    while completed < runs {
        let event = next_event(&mut peer).await?;
        let payload = &event["payload"];
        if event["event"] == "run.started" {
            ensure!(payload["resumed"] == 1, "not resumed: {event}");
            resumed += 1;
            if resumed == runs {
                all_resumed = started.elapsed();
            }
        } else if event["event"] == "run.completed" {
            ensure!(payload["success"] == true, "not well: {event}");
            completed += 1;
        }
    }
    let all_completed = started.elapsed();
    let row = |what: &str, took: Duration| BenchRow {
        name: format!("{runs} unfinished runs at start, to all {what}"),
        unit: "ms",
        hob: took.as_secs_f64() * 1_000.0,
        yardstick: None,
        yardstick_name: "-",
        goal: None,
    };
    Ok(vec![
        row("resumed", all_resumed),
        row("completed", all_completed),
    ])
}

/// Starts runs that wait for a silent model, and kills the daemon; gives the last event before.
async fn cut_off(home: &BenchHome, runs: usize) -> Result<u64> {
    let daemon = home.start()?;
    let mut watcher = peer(&daemon.address, home).await?;
    let topics = json!(["run.started"]);
    watcher
        .call("gateway.subscribe", json!({ "events": topics }))
        .await?;
    let mut asker = peer(&daemon.address, home).await?;
    let keys: Vec<String> = (0..runs).map(|at| format!("bench:{at}")).collect();
    for keys in keys.chunks(ASK_AT_ONCE) {
        let frames = keys.iter().map(|key| {
            let run = json!({ "sessionKey": key, "task": "Say something." });
            request("1", "agent.run", &run)
        });
        asker.send_all(frames).await?;
        for _ in keys {
            let answer = asker.next().await?;
            ensure!(answer.contains("\"ok\":true"), "not accepted: {answer}");
        }
    }
    let mut seq = 0;
    for _ in 0..runs {
        let event = next_event(&mut watcher).await?;
        seq = event["seq"].as_u64().unwrap_or(seq);
    }
    Ok(seq)
}

async fn peer(address: &str, home: &BenchHome) -> Result<BusPeer> {
    BusPeer::connect(&format!("ws://{address}/ws"), Some(&home.token()?)).await
}

async fn next_event(peer: &mut BusPeer) -> Result<Value> {
    loop {
        let text = tokio::time::timeout(PATIENCE, peer.next()).await??;
        let frame: Value = serde_json::from_str(&text)?;
        if frame["type"] == "event" {
            return Ok(frame);
        }
    }
}
