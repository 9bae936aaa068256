//! What loops cost: an iteration against the model call it makes, a thousand loops at rest against
//! none, and a thousand that are all due at once.

use crate::daemon::{BenchHome, ServerProcess, SimProcess};
use crate::idle_cost::IdleComparison;
use crate::measure::LatencySamples;
use crate::peer::BusPeer;
use crate::report::BenchRow;
use crate::stream::{self, StreamTarget};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "an iteration is `loop.once` over a WebSocket until `loop.stopped`: put on record, its prompt built, the run accepted, the model asked, everything written and fsynced; the yardstick is the scripted server asked for the same words with a bare client. At rest: loops that sleep for an hour after their first iteration, against the same daemon with none. Due at once: the daemon is killed, started again after the time of all of them has passed, and how long after the start each begins its next iteration is its lateness; agent.concurrency is as shipped, so that iterations begin at once and their runs wait in the queue.";

const ITERATIONS: usize = 200;
const LOOPS: usize = 1_000;
const REST: Duration = Duration::from_secs(30);
const ANSWER: &str = "All of it is done.";
const TASK: &str = "Say that you are done.";
/// The time limit of a step before the measurement fails.
const PATIENCE: Duration = Duration::from_mins(10);

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let sim = SimProcess::start(&["--say", ANSWER])?;
    let (iterations, loops) = if quick { (10, 50) } else { (ITERATIONS, LOOPS) };
    let rest = if quick { Duration::from_secs(2) } else { REST };
    let mut rows = vec![overhead(&sim, iterations).await?];
    rows.extend(at_rest(&sim, loops, rest).await?);
    rows.push(due_at_once(&sim, loops).await?);
    Ok(rows)
}

async fn overhead(sim: &SimProcess, iterations: usize) -> Result<BenchRow> {
    let home = BenchHome::asking(sim, "")?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    create(&mut peer, "bench", 3_600_000).await?;
    let mut ear = home.connect(&daemon).await?;
    ear.call("gateway.subscribe", json!({ "events": ["loop.stopped"] }))
        .await?;
    let target = StreamTarget {
        address: sim.process.address.clone(),
        token: None,
        model: "sim-small".to_owned(),
        stamps_begin_us: sim.stamps_begin_us,
    };
    let (mut hob, mut bare) = (LatencySamples::default(), LatencySamples::default());
    for _ in 0..iterations {
        let begun = Instant::now();
        peer.call("loop.once", json!({ "name": "bench" })).await?;
        heard(&mut ear, "loop.stopped").await?;
        hob.push(begun.elapsed());
        let begun = Instant::now();
        let question = json!([{ "role": "user", "content": TASK }]);
        stream::ask(&target, json!({ "messages": question })).await?;
        bare.push(begun.elapsed());
    }
    Ok(BenchRow {
        name: "an iteration of a loop, p50".to_owned(),
        unit: "ms",
        hob: hob.percentile_ms(50),
        yardstick: Some(bare.percentile_ms(50)),
        yardstick_name: "the model call itself",
        goal: None,
    })
}

async fn at_rest(sim: &SimProcess, loops: usize, rest: Duration) -> Result<[BenchRow; 2]> {
    let alone = BenchHome::asking(sim, "")?;
    let bare = alone.start()?;
    let home = BenchHome::asking(sim, "[agent]\nconcurrency = 64\n")?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    begin(&mut peer, loops, 3_600_000).await?;
    all_at(&mut peer, loops, |state| state["phase"] == "sleep").await?;
    // What the first iterations left to be done is not rest.
    tokio::time::sleep(rest / 5).await;
    let at_rest = IdleComparison {
        what: format!("{loops} loops"),
        hob: &daemon,
        bare: &bare,
        bare_name: "no loop",
        memory_mb: ServerProcess::memory_mb,
    };
    at_rest.rows(rest).await
}

async fn due_at_once(sim: &SimProcess, loops: usize) -> Result<BenchRow> {
    let home = BenchHome::asking(sim, "")?;
    let first = home.start()?;
    let mut peer = home.connect(&first).await?;
    // So long that none begins a second iteration before the last has ended its first.
    let interval_ms = 1_000 * u64::try_from(loops)?.clamp(20, 120);
    begin(&mut peer, loops, interval_ms).await?;
    all_at(&mut peer, loops, |state| state["phase"] == "sleep").await?;
    drop(first);
    tokio::time::sleep(Duration::from_millis(interval_ms)).await;
    let daemon = home.start()?;
    let ready_ms = stream::wall_us() / 1_000;
    let mut peer = home.connect(&daemon).await?;
    let past_first = |state: &Value| state["iteration"].as_u64() >= Some(2);
    all_at(&mut peer, loops, past_first).await?;
    let mut late = LatencySamples::default();
    for at in 0..loops {
        let params = json!({ "name": format!("bench-{at}"), "before": 3, "limit": 1 });
        let page = peer.call("loop.history", params).await?;
        let second = &page["iterations"][0];
        ensure!(second["iteration"] == 2, "{page}");
        let begun = second["startedAt"].as_u64().unwrap_or(u64::MAX);
        late.push(Duration::from_millis(begun.saturating_sub(ready_ms)));
    }
    Ok(BenchRow {
        name: format!("{loops} loops due at once, lateness p99"),
        unit: "ms",
        hob: late.percentile_ms(99),
        yardstick: None,
        yardstick_name: "-",
        goal: None,
    })
}

async fn create(peer: &mut BusPeer, name: &str, interval_ms: u64) -> Result<()> {
    let config = json!({ "user": TASK, "intervalMs": interval_ms, "tools": [] });
    let params = json!({ "name": name, "config": config });
    peer.call("loop.create", params).await.map(drop)
}

/// Makes loops and starts them.
async fn begin(peer: &mut BusPeer, loops: usize, interval_ms: u64) -> Result<()> {
    for at in 0..loops {
        let name = format!("bench-{at}");
        create(peer, &name, interval_ms).await?;
        peer.call("loop.start", json!({ "name": name })).await?;
    }
    Ok(())
}

/// Waits until something is so of every loop.
async fn all_at(peer: &mut BusPeer, loops: usize, so: impl Fn(&Value) -> bool) -> Result<()> {
    let begun = Instant::now();
    loop {
        let listed = peer.call("loop.list", json!({})).await?;
        let states = listed["loops"].as_array().into_iter().flatten();
        let there = states.filter(|one| so(&one["state"])).count();
        if there >= loops {
            return Ok(());
        }
        ensure!(begun.elapsed() < PATIENCE, "{there} of {loops} came so far");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Waits for an event.
async fn heard(ear: &mut BusPeer, topic: &str) -> Result<()> {
    loop {
        let frame: Value = serde_json::from_str(&ear.next().await?)?;
        if frame["type"] == "event" && frame["event"] == topic {
            return Ok(());
        }
    }
}
