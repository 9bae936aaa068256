//! Commands in a shared terminal, against tmux driven by hand.

use crate::daemon::{BenchHome, ServerProcess, start_role};
use crate::measure::LatencySamples;
use crate::peer::BusPeer;
use crate::report::{BenchGoal, BenchRow};
use crate::yardsticks::tmux::end_server;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "`echo` in bash, asked for over a WebSocket with one client, until the answer with output and exit code. Each command is on record before it is typed and its end before it is told: two commits with fsync. The yardstick in control mode is a bare program of one thread that drives the same bash with marks of the same kind over one connection and commits the same rows with SQLite alone; what it takes itself is the same without the WebSocket. The one that starts tmux for everything asks whether the session is there, types, and looks at the screen, with the same commits: without a pause until the word it knows is there, or as Archy does at its fastest, every 100 ms until the screen is the same three times.";

const CONTROL: &str = "tmux in control mode, the same client and rows";
const METHOD: &str = "terminal.execute";
const ROUNDS: usize = 301;
/// Fewer rounds for clients that poll every 100 ms, because they take long.
const SETTLED_EVERY: usize = 15;
const QUEUED: usize = 1_000;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let place = TerminalDaemon::start().await?;
    let mut peer = place.home.connect(&place.daemon).await?;
    let typist = start_role("typist")?;
    let mut yardstick = BusPeer::connect(&format!("ws://{}", typist.address), None).await?;
    let rounds = if quick { 5 } else { ROUNDS };
    let mut rows = round_trips(&mut peer, &mut yardstick, rounds).await?;
    let count = if quick { 20 } else { QUEUED };
    rows.extend(queued(&mut peer, &mut yardstick, count).await?);
    yardstick.call("end", json!({})).await?;
    Ok(rows)
}

/// A daemon with a terminal. Its tmux goes with it.
struct TerminalDaemon {
    home: BenchHome,
    daemon: ServerProcess,
}

impl TerminalDaemon {
    async fn start() -> Result<TerminalDaemon> {
        let home = BenchHome::new()?;
        let config = "[terminal]\nshell = \"/bin/bash\"\n";
        std::fs::write(home.path().join("config.toml"), config)?;
        let daemon = home.start()?;
        let place = TerminalDaemon { home, daemon };
        let mut peer = place.home.connect(&place.daemon).await?;
        echo(&mut peer, METHOD, "begin").await?;
        Ok(place)
    }
}

impl Drop for TerminalDaemon {
    fn drop(&mut self) {
        end_server(&self.home.path().join("run/tmux.sock"));
    }
}

/// Has a word echoed; how long that took, and how long the one who did it says it took.
async fn echo(peer: &mut BusPeer, method: &str, word: &str) -> Result<(Duration, Duration)> {
    let params = json!({ "name": "bench", "command": format!("echo {word}") });
    let started = Instant::now();
    let answer = peer.call(method, params).await?;
    let elapsed = started.elapsed();
    let command = &answer["commands"][0];
    ensure!(command["exitCode"] == 0, "{answer}");
    let output = command["output"].as_str().unwrap_or_default();
    ensure!(output.trim() == word, "{answer}");
    let took_us = answer["tookUs"].as_u64().unwrap_or_default();
    Ok((elapsed, Duration::from_micros(took_us)))
}

async fn round_trips(
    peer: &mut BusPeer,
    yardstick: &mut BusPeer,
    rounds: usize,
) -> Result<Vec<BenchRow>> {
    let (mut hob, mut raw) = (LatencySamples::default(), LatencySamples::default());
    let (mut bare, mut knowing) = (LatencySamples::default(), LatencySamples::default());
    let mut settled = LatencySamples::default();
    for round in 0..rounds {
        let word = format!("word-{round}");
        let (elapsed, took) = echo(yardstick, "control", &word).await?;
        raw.push(elapsed);
        bare.push(took);
        hob.push(echo(peer, METHOD, &word).await?.0);
        knowing.push(echo(yardstick, "knowing", &word).await?.0);
        if round % SETTLED_EVERY == 0 {
            let word = format!("settled-{round}");
            settled.push(echo(yardstick, "settled", &word).await?.0);
        }
    }
    let hob_p50 = hob.percentile_ms(50);
    let row = |name: &str, hob: f64, yardstick: f64, yardstick_name, goal| BenchRow {
        name: name.to_owned(),
        unit: "ms",
        hob,
        yardstick: Some(yardstick),
        yardstick_name,
        goal,
    };
    Ok(vec![
        row(
            "a command in a terminal, p50",
            hob_p50,
            raw.percentile_ms(50),
            CONTROL,
            Some(BenchGoal::RatioAtMost(1.3)),
        ),
        row(
            "a command in a terminal, p99",
            hob.percentile_ms(99),
            raw.percentile_ms(99),
            CONTROL,
            None,
        ),
        row(
            "a command in a terminal, against tmux without the WebSocket",
            hob_p50,
            bare.percentile_ms(50),
            "tmux in control mode, the same rows",
            None,
        ),
        row(
            "a command in a terminal, against tmux started each time",
            hob_p50,
            knowing.percentile_ms(50),
            "tmux started for each thing, without a pause",
            Some(BenchGoal::RatioAtMost(0.2)),
        ),
        row(
            "a command in a terminal, against tmux started as Archy does",
            hob_p50,
            settled.percentile_ms(50),
            "tmux started for each thing, every 100 ms",
            Some(BenchGoal::RatioAtMost(0.2)),
        ),
    ])
}

/// Has many commands run that are asked for at once.
async fn echo_all(peer: &mut BusPeer, method: &str, commands: &[String]) -> Result<Duration> {
    let params = json!({ "name": "bench", "commands": commands });
    let started = Instant::now();
    let answer = peer.call(method, params).await?;
    let elapsed = started.elapsed();
    let ended = answer["commands"].as_array().context("commands")?;
    ensure!(ended.len() == commands.len(), "{} commands", ended.len());
    let good = |command: &Value| command["state"] == "done" && command["exitCode"] == 0;
    ensure!(ended.iter().all(good), "not all of them ended well");
    Ok(elapsed)
}

async fn queued(
    peer: &mut BusPeer,
    yardstick: &mut BusPeer,
    count: usize,
) -> Result<Vec<BenchRow>> {
    let lines = (0..count).map(|number| format!("echo queued-{number}"));
    let lines: Vec<String> = lines.collect();
    let raw = echo_all(yardstick, "control", &lines).await?;
    let hob = echo_all(peer, METHOD, &lines).await?;
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts here stay far below 2^52"
    )]
    let each = |time: Duration| ms(time) / count as f64;
    let row = |name: String, hob: f64, yardstick: f64| BenchRow {
        name,
        unit: "ms",
        hob,
        yardstick: Some(yardstick),
        yardstick_name: CONTROL,
        goal: None,
    };
    Ok(vec![
        row(format!("{count} queued commands, all"), ms(hob), ms(raw)),
        row(
            format!("{count} queued commands, each"),
            each(hob),
            each(raw),
        ),
    ])
}
