//! Durable appends: the store's group commit against raw SQLite committing the same rows in
//! hand-made batches of the same size; and, as information, the whole way over the wire.

use crate::daemon::BenchHome;
use crate::measure::{LatencySamples, RoundPairs, rate};
use crate::peer::{BusPeer, request};
use crate::report::{BenchGoal, BenchRow};
use crate::yardsticks::sqlite;
use anyhow::{Context, Result};
use hob_kit::clock::Clock;
use hob_kit::randomness::Randomness;
use hob_store::{Store, StoreOptions};
use hob_wire::rooms::session::{SessionCreateParams, SessionSendParams};
use serde_json::json;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const ROUNDS: usize = 5;

/// The appended text: a paragraph.
pub(crate) fn text() -> String {
    "The quick brown fox jumps over the lazy dog. ".repeat(5)
}

/// The explanation of the rows.
pub(crate) const NOTE: &str = "the latency of an append is the time from its request to the answer \
     that it is on disk. Each row of a batch of the yardstick waited from the batch's begin to the \
     end of its commit: nobody there comes while a commit is under way.";

/// Percentiles of the latency that have rows.
const PERCENTS: [usize; 2] = [50, 99];

/// One round of appends.
#[derive(Debug)]
pub(crate) struct AppendRound {
    pub(crate) elapsed: Duration,
    /// The latency of each append.
    pub(crate) latencies: LatencySamples,
}

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let scale = if quick { 20 } else { 1 };
    let mut rows = Vec::new();
    for (concurrency, count) in [(1, 2_000), (8, 12_000), (100, 60_000)] {
        rows.extend(at_once(concurrency, count / scale).await?);
    }
    let count = 20_000 / scale;
    rows.push(BenchRow {
        name: "durable appends over the wire, 100 at once".to_owned(),
        unit: "/s",
        hob: wire_rate(count, 100).await?,
        yardstick: None,
        yardstick_name: "-",
        goal: None,
    });
    Ok(rows)
}

/// The rate and the latencies of so many appends at once.
async fn at_once(concurrency: usize, count: usize) -> Result<Vec<BenchRow>> {
    let mut rates = RoundPairs::default();
    let mut latencies = PERCENTS.map(|percent| (percent, RoundPairs::default()));
    for _ in 0..ROUNDS {
        let mut raw = raw_appends(count, concurrency).await?;
        let mut store = store_appends(count, concurrency).await?;
        rates.push(
            rate(raw.latencies.len(), raw.elapsed),
            rate(store.latencies.len(), store.elapsed),
        );
        for (percent, rounds) in &mut latencies {
            let raw_ms = raw.latencies.percentile_ms(*percent);
            rounds.push(raw_ms, store.latencies.percentile_ms(*percent));
        }
    }
    let row =
        |name: String, unit: &'static str, rounds: &RoundPairs, goal: Option<BenchGoal>| BenchRow {
            name,
            unit,
            hob: rounds.hob(),
            yardstick: Some(rounds.yardstick()),
            yardstick_name: "raw SQLite, same rows and batches",
            goal,
        };
    let name = format!("durable appends, {concurrency} at once");
    let goal = (concurrency == 100).then_some(BenchGoal::RatioAtLeast(0.7));
    let mut rows = vec![row(name.clone(), "/s", &rates, goal)];
    for (percent, rounds) in &latencies {
        rows.push(row(format!("{name}, p{percent}"), "ms", rounds, None));
    }
    Ok(rows)
}

async fn raw_appends(count: usize, concurrency: usize) -> Result<AppendRound> {
    let (rows, batch) = (i64::try_from(count)?, i64::try_from(concurrency)?);
    let dir = TempDir::new()?;
    let path = dir.path().to_owned();
    let work = move || sqlite::append(&path, rows, batch, batch);
    tokio::task::spawn_blocking(work).await?
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn store_appends(count: usize, concurrency: usize) -> Result<AppendRound> {
    let dir = TempDir::new()?;
    let (publisher, inbox) = hob_bus::publisher();
    let store = Store::open(StoreOptions {
        database: dir.path().join("hob.db"),
        clock: Clock::system(),
        randomness: Randomness::system(),
        publisher,
        had_database: false,
    })?;
    drop(inbox);
    let mut keys = Vec::new();
    for at in 0..concurrency {
        let session_key = Some(format!("bench:{at}"));
        let params = SessionCreateParams {
            session_key,
            ..SessionCreateParams::default()
        };
        keys.push(store.create_session(params).await?.session.session_key);
    }
    let started = Instant::now();
    let clients = keys.into_iter().map(|session_key| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut latencies = LatencySamples::default();
            for _ in 0..count / concurrency {
                let asked = Instant::now();
                let params = SessionSendParams {
                    session_key: session_key.clone(),
                    content: text().as_str().into(),
                    role: None,
                    idempotency_key: None,
                };
                store
                    .send_message(params)
                    .await
                    .context("no append may be shed")?;
                latencies.push(asked.elapsed());
            }
            anyhow::Ok(latencies)
        })
    });
    let clients: Vec<_> = clients.collect();
    let mut latencies = LatencySamples::default();
    for client in clients {
        latencies.extend(client.await??);
    }
    let elapsed = started.elapsed();
    store.close().await;
    Ok(AppendRound { elapsed, latencies })
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn wire_rate(count: usize, concurrency: usize) -> Result<f64> {
    let home = BenchHome::new()?;
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let token = home.token()?;
    let mut peers = Vec::new();
    for at in 0..concurrency {
        let mut peer = BusPeer::connect(&url, Some(&token)).await?;
        let key = format!("bench:{at}");
        peer.call("session.create", json!({ "sessionKey": key }))
            .await?;
        let send = request(
            "1",
            "session.send",
            &json!({ "sessionKey": key, "content": text() }),
        );
        peers.push((peer, send));
    }
    let started = Instant::now();
    let clients = peers.into_iter().map(|(mut peer, send)| {
        tokio::spawn(async move {
            for _ in 0..count / concurrency {
                peer.send(send.clone()).await?;
                let answer = peer.next().await?;
                anyhow::ensure!(answer.contains("\"ok\":true"), "shed: {answer}");
            }
            anyhow::Ok(())
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        client.await??;
    }
    Ok(rate(count, started.elapsed()))
}
