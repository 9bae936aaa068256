//! Following a session as blocks: the first page at any length, and the way of a streamed token to
//! fifty followers, against subscribers of the plain deltas.

use crate::daemon::{BenchHome, ServerProcess, SimProcess};
use crate::measure::LatencySamples;
use crate::peer::{BusPeer, request};
use crate::report::{BenchGoal, BenchRow};
use crate::stream::wall_us;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "The first page is session.blocks with 50 blocks. Each message is a paragraph and a list. Streamed tokens say when they were sent; both rows read one scripted server in a process of its own, at 50 tokens a second.";

const SIZES: [usize; 3] = [10, 1_000, 100_000];
const FOLLOWERS: usize = 50;
/// Messages sent in one go.
const FILL_AT_ONCE: usize = 500;
const EVERY_US: u64 = 20_000;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let mut rows = first_pages(quick).await?;
    rows.extend(followed(quick).await?);
    Ok(rows)
}

async fn first_pages(quick: bool) -> Result<Vec<BenchRow>> {
    let calls = if quick { 50 } else { 2_000 };
    let home = BenchHome::new()?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    let mut rows = Vec::new();
    let mut smallest = None;
    for size in SIZES.map(|size| if quick { size.min(1_000) } else { size }) {
        let session = format!("bench:{size}");
        fill(&mut peer, &session, size).await?;
        first_page(&mut peer, &session, calls / 10).await?;
        let mut samples = first_page(&mut peer, &session, calls).await?;
        let p99 = samples.percentile_ms(99);
        let yardstick = *smallest.get_or_insert(p99);
        rows.push(BenchRow {
            name: format!("first page of {size} messages, p99"),
            unit: "ms",
            hob: p99,
            yardstick: Some(yardstick),
            yardstick_name: "the same call with 10 messages",
            goal: Some(BenchGoal::RatioAtMost(2.0)),
        });
    }
    Ok(rows)
}

async fn fill(peer: &mut BusPeer, session: &str, messages: usize) -> Result<()> {
    let create = json!({ "sessionKey": session });
    peer.call("session.create", create).await?;
    let content = "A paragraph of some words.\n\n- one\n- two\n- three\n";
    let send = json!({ "sessionKey": session, "content": content, "role": "assistant" });
    let numbers: Vec<usize> = (0..messages).collect();
    for some in numbers.chunks(FILL_AT_ONCE) {
        let frames = some.iter().map(|_| request("1", "session.send", &send));
        peer.send_all(frames).await?;
        for _ in some {
            let answer = peer.next().await?;
            ensure!(answer.contains("\"ok\":true"), "not filled: {answer}");
        }
    }
    Ok(())
}

async fn first_page(peer: &mut BusPeer, session: &str, calls: usize) -> Result<LatencySamples> {
    let mut samples = LatencySamples::default();
    for _ in 0..calls {
        let started = Instant::now();
        let page = peer.call("session.blocks", json!({ "sessionKey": session }));
        let page = page.await?;
        samples.push(started.elapsed());
        ensure!(page["blocks"].as_array().is_some_and(|it| !it.is_empty()));
    }
    Ok(samples)
}

/// What a subscriber reads of a run.
#[derive(Clone, Copy, Debug)]
struct StreamedTopic {
    topic: &'static str,
    /// The field of the payload that has the text.
    field: &'static str,
}

const DELTAS: StreamedTopic = StreamedTopic {
    topic: "run.delta",
    field: "delta",
};
const BLOCKS: StreamedTopic = StreamedTopic {
    topic: "session.block",
    field: "text",
};

async fn followed(quick: bool) -> Result<Vec<BenchRow>> {
    let tokens = if quick { 20 } else { 500 };
    let (mut plain, plain_mb) = read_by_all(DELTAS, tokens).await?;
    let (mut blocks, blocks_mb) = read_by_all(BLOCKS, tokens).await?;
    let yardstick_name = "subscribers of run.delta";
    let mut row = |percent, goal| BenchRow {
        name: format!("streamed token to {FOLLOWERS} followers, p{percent}"),
        unit: "ms",
        hob: blocks.percentile_ms(percent),
        yardstick: Some(plain.percentile_ms(percent)),
        yardstick_name,
        goal,
    };
    Ok(vec![
        row(50, None),
        row(99, Some(BenchGoal::AddedAtMost(2.0))),
        BenchRow {
            name: format!("memory with {FOLLOWERS} followers"),
            unit: "MB",
            hob: blocks_mb,
            yardstick: Some(plain_mb),
            yardstick_name,
            goal: Some(BenchGoal::AddedAtMost(4.0)),
        },
    ])
}

/// Streams one answer to all followers: the latency of each token, and the memory at the end.
#[expect(
    clippy::disallowed_methods,
    reason = "these tasks end within the measurement"
)]
async fn read_by_all(of: StreamedTopic, tokens: usize) -> Result<(LatencySamples, f64)> {
    let (stamps, every_us) = (tokens.to_string(), EVERY_US.to_string());
    let sim = SimProcess::start(&["--stamps", &stamps, "--every-us", &every_us])?;
    let home = BenchHome::asking(&sim, "")?;
    let daemon = home.start()?;
    let mut readers = Vec::new();
    for _ in 0..FOLLOWERS {
        let mut peer = home.connect(&daemon).await?;
        let params = json!({ "events": [of.topic], "sessionKey": "bench:followed" });
        peer.call("gateway.subscribe", params).await?;
        let begin_us = sim.stamps_begin_us;
        readers.push(tokio::spawn(read(peer, of, tokens, begin_us)));
    }
    start_run(&home, &daemon).await?;
    let mut samples = LatencySamples::default();
    for reader in readers {
        samples.extend(reader.await??);
    }
    Ok((samples, daemon.memory_mb()?))
}

async fn start_run(home: &BenchHome, daemon: &ServerProcess) -> Result<()> {
    let mut peer = home.connect(daemon).await?;
    let task = json!({ "sessionKey": "bench:followed", "task": "Tell me the time." });
    peer.call("agent.run", task).await?;
    Ok(())
}

/// Reads all tokens; each one's way from the scripted server to here is a sample.
async fn read(
    mut peer: BusPeer,
    of: StreamedTopic,
    tokens: usize,
    begin_us: u64,
) -> Result<LatencySamples> {
    let mut samples = LatencySamples::default();
    while samples.len() < tokens {
        let frame: Value = serde_json::from_str(&peer.next().await?)?;
        let payload = &frame["payload"];
        let role = &payload["details"]["role"];
        if frame["event"] != of.topic || role == "user" {
            continue;
        }
        let now_us = wall_us();
        let text = payload[of.field].as_str().unwrap_or_default();
        for stamp in text.split_ascii_whitespace() {
            let sent_us: u64 = stamp.parse().context("a stamp")?;
            let way_us = now_us.saturating_sub(begin_us).saturating_sub(sent_us);
            samples.push(Duration::from_micros(way_us));
        }
    }
    Ok(samples)
}
