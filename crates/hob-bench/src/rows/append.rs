//! Durable appends: the store's group commit against raw SQLite committing the same rows in
//! hand-made batches of the same size; and, as information, the whole way over the wire.

use crate::daemon::Home;
use crate::measure::{Rounds, blocking_rate, rate};
use crate::peer::{Peer, request};
use crate::report::{Goal, Row};
use crate::yardsticks::sqlite;
use anyhow::{Context, Result};
use hob_kit::clock::Clock;
use hob_kit::dice::Dice;
use hob_store::{Store, StoreOptions};
use hob_wire::rooms::session::{CreateParams, SendParams};
use serde_json::json;
use std::time::Instant;
use tempfile::TempDir;

const ROUNDS: usize = 5;

/// What is appended: a paragraph.
pub(crate) fn text() -> String {
    "The quick brown fox jumps over the lazy dog. ".repeat(5)
}

pub(crate) async fn run(quick: bool) -> Result<Vec<Row>> {
    let scale = if quick { 20 } else { 1 };
    let mut rows = Vec::new();
    for (concurrency, count) in [(1, 2_000), (8, 12_000), (100, 60_000)] {
        let count = count / scale;
        let mut rounds = Rounds::default();
        for _ in 0..ROUNDS {
            let raw = raw_rate(count, concurrency).await?;
            rounds.push(raw, store_rate(count, concurrency).await?);
        }
        rows.push(Row {
            name: format!("durable appends, {concurrency} at once"),
            unit: "/s",
            hob: rounds.hob(),
            yardstick: Some(rounds.yardstick()),
            yardstick_name: "raw SQLite, same rows and batches",
            goal: (concurrency == 100).then_some(Goal::RatioAtLeast(0.7)),
        });
    }
    let count = 20_000 / scale;
    rows.push(Row {
        name: "durable appends over the wire, 100 at once".to_owned(),
        unit: "/s",
        hob: wire_rate(count, 100).await?,
        yardstick: None,
        yardstick_name: "-",
        goal: None,
    });
    Ok(rows)
}

async fn raw_rate(count: usize, concurrency: usize) -> Result<f64> {
    let (rows, batch) = (i64::try_from(count)?, i64::try_from(concurrency)?);
    blocking_rate(count, move |dir| sqlite::append(dir, rows, batch, batch)).await
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn store_rate(count: usize, concurrency: usize) -> Result<f64> {
    let dir = TempDir::new()?;
    let (publisher, inbox) = hob_bus::publisher();
    let store = Store::open(StoreOptions {
        database: dir.path().join("hob.db"),
        clock: Clock::system(),
        dice: Dice::system(),
        publisher,
        had_life: false,
    })?;
    drop(inbox);
    let mut keys = Vec::new();
    for at in 0..concurrency {
        let session_key = Some(format!("bench:{at}"));
        let params = CreateParams {
            session_key,
            ..CreateParams::default()
        };
        keys.push(store.create_session(params).await?.session.session_key);
    }
    let started = Instant::now();
    let clients = keys.into_iter().map(|session_key| {
        let store = store.clone();
        tokio::spawn(async move {
            for _ in 0..count / concurrency {
                let params = SendParams {
                    session_key: session_key.clone(),
                    content: text().as_str().into(),
                    role: None,
                    idempotency_key: None,
                };
                store
                    .send_message(params)
                    .await
                    .context("no append may be shed")?;
            }
            anyhow::Ok(())
        })
    });
    let clients: Vec<_> = clients.collect();
    for client in clients {
        client.await??;
    }
    let elapsed = started.elapsed();
    store.close().await;
    Ok(rate(count / concurrency * concurrency, elapsed))
}

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn wire_rate(count: usize, concurrency: usize) -> Result<f64> {
    let home = Home::new()?;
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let token = home.token()?;
    let mut peers = Vec::new();
    for at in 0..concurrency {
        let mut peer = Peer::connect(&url, Some(&token)).await?;
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
