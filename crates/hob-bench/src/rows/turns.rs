//! Durable turns: `agent.run` over the wire to its end, accepted, begun and completed in three
//! fsynced writes, against raw SQLite committing the same rows of as many turns in hand-made
//! batches.

use crate::daemon::{BenchHome, SimProcess};
use crate::measure::{RoundPairs, blocking_rate, rate};
use crate::peer::{BusPeer, request};
use crate::report::BenchRow;
use crate::yardsticks::turns;
use anyhow::Result;
use serde_json::json;
use std::time::Instant;

pub(crate) const NOTE: &str = "a turn is one `agent.run` with `wait` and a fresh context over a WebSocket: accepted, its step begun, the model asked over HTTP, its answer written, each write fsynced; a turn that is shed or fails ends the measurement. The scripted server answers at once. hob runs with agent.concurrency = 128. The yardstick writes the rows and asks nobody. The one peer that publishes such a figure: 461 /s at 8 at once, and 318 /s at 100 with requests shed, on 32 cores.";

const ROUNDS: usize = 3;
const SETTINGS: &str = "[agent]\nconcurrency = 128\n";
pub(crate) const TASK: &str = "Say that you are done.";
pub(crate) const ANSWER: &str = "All of it is done.";

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let scale = if quick { 20 } else { 1 };
    let sim = SimProcess::start(&["--say", ANSWER])?;
    let mut rows = Vec::new();
    for (concurrency, count) in [(8, 4_000), (100, 10_000)] {
        let count = count / scale;
        let mut rounds = RoundPairs::default();
        for _ in 0..ROUNDS {
            let raw = raw_rate(count, concurrency).await?;
            rounds.push(raw, hob_rate(&sim, count, concurrency).await?);
        }
        rows.push(BenchRow {
            name: format!("durable turns over the wire, {concurrency} at once"),
            unit: "/s",
            hob: rounds.hob(),
            yardstick: Some(rounds.yardstick()),
            yardstick_name: "raw SQLite, three commits of the same rows",
            goal: None,
        });
    }
    Ok(rows)
}

async fn raw_rate(count: usize, concurrency: usize) -> Result<f64> {
    let (rows, batch) = (i64::try_from(count)?, i64::try_from(concurrency)?);
    blocking_rate(count, move |dir| turns::write(dir, rows, batch)).await
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn hob_rate(sim: &SimProcess, count: usize, concurrency: usize) -> Result<f64> {
    let home = BenchHome::asking(sim, SETTINGS)?;
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let token = home.token()?;
    let mut peers = Vec::new();
    for at in 0..concurrency {
        let mut peer = BusPeer::connect(&url, Some(&token)).await?;
        let key = format!("bench:{at}");
        peer.call("session.create", json!({ "sessionKey": key }))
            .await?;
        let run = json!({ "sessionKey": key, "task": TASK, "context": "fresh", "wait": true });
        peers.push((peer, request("1", "agent.run", &run)));
    }
    let started = Instant::now();
    let clients = peers.into_iter().map(|(mut peer, run)| {
        tokio::spawn(async move {
            for _ in 0..count / concurrency {
                peer.send(run.clone()).await?;
                let answer = peer.next().await?;
                let good = answer.contains("\"ok\":true") && answer.contains("\"success\":true");
                anyhow::ensure!(good && answer.contains(ANSWER), "not answered: {answer}");
            }
            anyhow::Ok(())
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        client.await??;
    }
    Ok(rate(count / concurrency * concurrency, started.elapsed()))
}
