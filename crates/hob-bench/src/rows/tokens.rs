//! Tokens of a scripted model, streamed through hob's `/v1/chat/completions`, against the same
//! client reading the scripted server itself: how late each token is, and how many come.

use crate::daemon::{BenchHome, ServerProcess, SimProcess};
use crate::measure::{LatencySamples, rate};
use crate::report::{BenchGoal, BenchRow};
use crate::stream::{self, StreamTarget};
use anyhow::{Result, ensure};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "both sides read one scripted server in a process of its own with one raw client; each token says when it was sent. Streams begin at moments of their own, as those of people do. hob runs with agent.concurrency = 64, so that no stream waits for another.";

const SETTINGS: &str = "[agent]\nconcurrency = 64\n";
/// Rounds of hob and the bare server alternate, so that both meet the same noise.
const ROUNDS: usize = 3;
const SERVER: &str = "the scripted server itself";

/// Streams at once, and the microseconds between two tokens of one.
struct StreamLoad {
    streams: usize,
    every_us: usize,
}

/// The pace of a fast model for one reader, and of many models for many.
const LATENCY: [StreamLoad; 2] = [
    StreamLoad {
        streams: 1,
        every_us: 5_000,
    },
    StreamLoad {
        streams: 50,
        every_us: 20_000,
    },
];

/// The highest load the bare client keeps up with.
const THROUGHPUT: [StreamLoad; 2] = [
    StreamLoad {
        streams: 1,
        every_us: 500,
    },
    StreamLoad {
        streams: 50,
        every_us: 10_000,
    },
];

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let round = Duration::from_millis(if quick { 200 } else { 4_000 });
    let mut rows = Vec::new();
    for load in LATENCY {
        rows.extend(latency(&load, round).await?);
    }
    for load in THROUGHPUT {
        rows.push(throughput(&load, round).await?);
    }
    Ok(rows)
}

async fn latency(load: &StreamLoad, round: Duration) -> Result<[BenchRow; 2]> {
    let pair = StreamPair::start(load, round)?;
    let (mut hob, mut bare) = (LatencySamples::default(), LatencySamples::default());
    for _ in 0..ROUNDS {
        bare.extend(pair.read(&pair.bare).await?.0);
        hob.extend(pair.read(&pair.hob).await?.0);
    }
    let mut row = |percent, goal| BenchRow {
        name: format!(
            "streamed token, {} at once, {} /s each, p{percent}",
            load.streams,
            1_000_000 / load.every_us
        ),
        unit: "ms",
        hob: hob.percentile_ms(percent),
        yardstick: Some(bare.percentile_ms(percent)),
        yardstick_name: SERVER,
        goal,
    };
    Ok([row(50, None), row(99, Some(BenchGoal::AddedAtMost(2.0)))])
}

async fn throughput(load: &StreamLoad, round: Duration) -> Result<BenchRow> {
    let pair = StreamPair::start(load, round)?;
    let (mut hob, mut bare) = (0.0_f64, 0.0_f64);
    // The better round of each: a stall of the machine hits one of them.
    for _ in 0..ROUNDS {
        bare = bare.max(pair.read(&pair.bare).await?.1);
        hob = hob.max(pair.read(&pair.hob).await?.1);
    }
    Ok(BenchRow {
        name: format!("streamed tokens, {} at once", load.streams),
        unit: "/s",
        hob,
        yardstick: Some(bare),
        yardstick_name: SERVER,
        goal: Some(BenchGoal::RatioAtLeast(0.95)),
    })
}

/// The scripted server, and hob in front of it.
struct StreamPair {
    bare: StreamTarget,
    hob: StreamTarget,
    streams: usize,
    tokens: usize,
    every: Duration,
    _alive: (SimProcess, BenchHome, ServerProcess),
}

impl StreamPair {
    fn start(load: &StreamLoad, round: Duration) -> Result<Self> {
        let every = Duration::from_micros(u64::try_from(load.every_us)?);
        let tokens = usize::try_from(round.as_micros() / every.as_micros())?;
        let (stamps, every_us) = (tokens.to_string(), load.every_us.to_string());
        let sim = SimProcess::start(&["--stamps", &stamps, "--every-us", &every_us])?;
        let home = BenchHome::asking(&sim, SETTINGS)?;
        let daemon = home.start()?;
        let bare = StreamTarget {
            address: sim.process.address.clone(),
            token: None,
            model: "sim-small".to_owned(),
            stamps_begin_us: sim.stamps_begin_us,
        };
        let hob = StreamTarget {
            address: daemon.address.clone(),
            token: Some(home.token()?),
            model: "sim/sim-small".to_owned(),
            ..bare.clone()
        };
        Ok(StreamPair {
            bare,
            hob,
            streams: load.streams,
            tokens,
            every,
            _alive: (sim, home, daemon),
        })
    }

    /// Reads every stream once: the samples, and tokens a second from the first request to the
    /// last token.
    #[expect(
        clippy::disallowed_methods,
        reason = "these tasks end within the measurement"
    )]
    async fn read(&self, target: &StreamTarget) -> Result<(LatencySamples, f64)> {
        let started = Instant::now();
        let readers = (0..self.streams).map(|at| {
            let target = target.clone();
            let begin = self.every * phase(at) / 1_000;
            tokio::spawn(async move {
                tokio::time::sleep(begin).await;
                stream::read(&target).await
            })
        });
        let readers: Vec<_> = readers.collect();
        let mut samples = LatencySamples::default();
        for reader in readers {
            let read = reader.await??;
            ensure!(
                read.len() == self.tokens,
                "{} of {} tokens came",
                read.len(),
                self.tokens
            );
            samples.extend(read);
        }
        let rate = rate(samples.len(), started.elapsed());
        Ok((samples, rate))
    }
}

/// Where in the time between two tokens a stream begins, in thousandths; the same in every run.
fn phase(stream: usize) -> u32 {
    let scattered = stream.wrapping_mul(2_654_435_761) >> 7;
    u32::try_from(scattered % 1_000).unwrap_or_default()
}
