//! `session.list` while fifty clients each watch a stream of words, against the same call in the
//! same house when it is quiet.

use crate::daemon::BenchHome;
use crate::measure::LatencySamples;
use crate::peer::BusPeer;
use crate::report::{BenchGoal, BenchRow};
use crate::rows::start::fill;
use anyhow::Result;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

const CLIENTS: usize = 50;
/// A fast model's pace.
const WORDS_A_SECOND: u32 = 50;

#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end with their sockets"
)]
pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let calls = if quick { 100 } else { 2_000 };
    let home = BenchHome::new()?;
    fill(&home, if quick { 50 } else { 1_000 }).await?;
    let daemon = home.start()?;
    let url = format!("ws://{}/ws", daemon.address);
    let token = home.token()?;
    let mut caller = BusPeer::connect(&url, Some(&token)).await?;
    list(&mut caller, calls / 10).await?;
    let mut idle = list(&mut caller, calls).await?;

    let mut source = BusPeer::connect(&url, Some(&token)).await?;
    let register = json!({
        "service": "bench", "events": ["bench.word"], "volatile": ["bench.word"],
    });
    source.call("gateway.register", register).await?;
    let received = Arc::new(AtomicUsize::new(0));
    for at in 0..CLIENTS {
        let mut client = BusPeer::connect(&url, Some(&token)).await?;
        let only = json!({ "events": ["bench.word"], "sessionKey": format!("bench:{at}") });
        client.call("gateway.subscribe", only).await?;
        let received = Arc::clone(&received);
        tokio::spawn(async move {
            while client.next().await.is_ok() {
                received.fetch_add(1, Ordering::Relaxed);
            }
        });
    }
    let stop = Arc::new(AtomicBool::new(false));
    let streaming = tokio::spawn(stream(source, Arc::clone(&stop)));
    tokio::time::sleep(Duration::from_millis(500)).await;
    let before = received.load(Ordering::Relaxed);
    let mut busy = list(&mut caller, calls).await?;
    let delivered = received.load(Ordering::Relaxed) - before;
    stop.store(true, Ordering::Relaxed);
    streaming.await??;
    anyhow::ensure!(
        delivered > 0,
        "nothing was streamed while the listing was measured"
    );
    Ok(vec![BenchRow {
        name: format!("session.list p99 while {CLIENTS} clients stream"),
        unit: "ms",
        hob: busy.percentile_ms(99),
        yardstick: Some(idle.percentile_ms(99)),
        yardstick_name: "the same call when idle",
        goal: Some(BenchGoal::RatioAtMost(3.0)),
    }])
}

async fn list(caller: &mut BusPeer, calls: usize) -> Result<LatencySamples> {
    let mut samples = LatencySamples::default();
    for _ in 0..calls {
        let started = Instant::now();
        caller.call("session.list", json!({ "limit": 50 })).await?;
        samples.push(started.elapsed());
    }
    Ok(samples)
}

/// Sends each client its next word at the pace of a fast model.
async fn stream(mut source: BusPeer, stop: Arc<AtomicBool>) -> Result<()> {
    let mut pace = tokio::time::interval(Duration::from_secs(1) / WORDS_A_SECOND);
    while !stop.load(Ordering::Relaxed) {
        pace.tick().await;
        let words = (0..CLIENTS).map(|at| {
            let payload = json!({ "sessionKey": format!("bench:{at}"), "word": "lorem" });
            json!({ "type": "event", "source": "bench", "event": "bench.word", "payload": payload })
                .to_string()
        });
        source.send_all(words).await?;
    }
    Ok(())
}
