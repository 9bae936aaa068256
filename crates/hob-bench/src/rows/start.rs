//! Cold start to the first answered request, and idle memory. The goals are what a Rust peer of
//! this field needs; the bare relay, which does next to nothing, shows the floor.

use crate::daemon::{BenchHome, start_role};
use crate::measure::LatencySamples;
use crate::peer::{BusPeer, request};
use crate::report::{BenchGoal, BenchRow};
use anyhow::Result;
use serde_json::json;
use std::time::{Duration, Instant};

const SESSIONS: usize = 10_000;
/// Sessions made in one go; two requests each stay below what a connection may have pending.
const FILL_AT_ONCE: usize = 200;
const PEER_START_MS: f64 = 42.0;
const PEER_MEMORY_MB: f64 = 19.0;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let starts = if quick { 2 } else { 20 };
    let full = BenchHome::new()?;
    fill(&full, if quick { SESSIONS / 100 } else { SESSIONS }).await?;
    let (mut empty_times, mut full_times, mut relay_times) = (
        LatencySamples::default(),
        LatencySamples::default(),
        LatencySamples::default(),
    );
    for _ in 0..starts {
        relay_times.push(relay_start().await?);
        empty_times.push(hob_start(&BenchHome::new()?).await?);
        full_times.push(hob_start(&full).await?);
    }
    let relay_ms = relay_times.percentile_ms(50);
    let start_row = |name: &str, mut samples: LatencySamples| BenchRow {
        name: format!("cold start to first answer, {name}"),
        unit: "ms",
        hob: samples.percentile_ms(50),
        yardstick: Some(relay_ms),
        yardstick_name: "bare relay",
        goal: Some(BenchGoal::Below(PEER_START_MS)),
    };
    let home = BenchHome::new()?;
    let (daemon, relay) = (home.start()?, start_role("relay")?);
    tokio::time::sleep(Duration::from_secs(if quick { 1 } else { 5 })).await;
    let memory = BenchRow {
        name: "idle memory".to_owned(),
        unit: "MB",
        hob: daemon.memory_mb()?,
        yardstick: Some(relay.memory_mb()?),
        yardstick_name: "bare relay",
        goal: Some(BenchGoal::Below(PEER_MEMORY_MB)),
    };
    Ok(vec![
        start_row("empty home", empty_times),
        start_row("10,000 sessions", full_times),
        memory,
    ])
}

async fn hob_start(home: &BenchHome) -> Result<Duration> {
    let started = Instant::now();
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let mut peer = BusPeer::connect(&url, Some(&home.token()?)).await?;
    peer.call("session.list", json!({})).await?;
    Ok(started.elapsed())
}

async fn relay_start() -> Result<Duration> {
    let started = Instant::now();
    let relay = start_role("relay")?;
    let url = format!("ws://{}/", relay.address);
    let mut service = BusPeer::connect(&url, None).await?;
    let mut client = BusPeer::connect(&url, None).await?;
    client.send("?").await?;
    service.next().await?;
    service.send("!").await?;
    client.next().await?;
    Ok(started.elapsed())
}

pub(super) async fn fill(home: &BenchHome, sessions: usize) -> Result<()> {
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let mut peer = BusPeer::connect(&url, Some(&home.token()?)).await?;
    let keys: Vec<String> = (0..sessions).map(|at| format!("bench:{at}")).collect();
    // Many at once share a sync, which makes filling a house a matter of seconds.
    for keys in keys.chunks(FILL_AT_ONCE) {
        let frames = keys.iter().flat_map(|key| {
            let create = json!({ "sessionKey": key });
            let said = json!({ "sessionKey": key, "content": "hello" });
            [
                request("1", "session.create", &create),
                request("2", "session.send", &said),
            ]
        });
        peer.send_all(frames).await?;
        for _ in 0..keys.len() * 2 {
            let answer = peer.next().await?;
            anyhow::ensure!(answer.contains("\"ok\":true"), "not filled: {answer}");
        }
    }
    Ok(())
}
