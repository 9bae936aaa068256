//! Commands in a shared terminal, against tmux driven by hand.

use crate::daemon::{Home, Process};
use crate::measure::Samples;
use crate::peer::Peer;
use crate::report::{Goal, Row};
use crate::yardsticks::tmux::{Control, Look, Starting, end_server};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub(crate) const NOTE: &str = "`echo` in bash, from the request over a WebSocket (`terminal.execute`) to its answer with output and exit code. Each command is on record before it is typed and its end before it is told: two commits with fsync. The yardstick in control mode drives the same bash with marks of the same kind over one connection and commits the same rows with SQLite alone. The one that starts tmux for everything asks whether the session is there, types, and looks at the screen, with the same commits: without a pause until the word it knows is there, or as Archy does at its fastest, every 100 ms until the screen is the same three times.";

const CONTROL: &str = "tmux in control mode, the same rows";
const ROUNDS: usize = 301;
/// Those that look every 100 ms take long.
const SETTLED_EVERY: usize = 15;
const QUEUED: usize = 1_000;

pub(crate) async fn run(quick: bool) -> Result<Vec<Row>> {
    let place = Place::start().await?;
    let mut peer = place.home.connect(&place.daemon).await?;
    let mut rows = round_trips(&mut peer, if quick { 5 } else { ROUNDS }).await?;
    rows.extend(queued(&mut peer, if quick { 20 } else { QUEUED }).await?);
    Ok(rows)
}

/// A daemon with a terminal. Its tmux goes with it.
struct Place {
    home: Home,
    daemon: Process,
}

impl Place {
    async fn start() -> Result<Place> {
        let home = Home::new()?;
        let config = "[terminal]\nshell = \"/bin/bash\"\n";
        std::fs::write(home.path().join("config.toml"), config)?;
        let daemon = home.start()?;
        let place = Place { home, daemon };
        let mut peer = place.home.connect(&place.daemon).await?;
        execute(&mut peer, "begin").await?;
        Ok(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        end_server(&self.home.path().join("run/tmux.sock"));
    }
}

async fn execute(peer: &mut Peer, word: &str) -> Result<Duration> {
    let params = json!({ "name": "bench", "command": format!("echo {word}") });
    let started = Instant::now();
    let answer = peer.call("terminal.execute", params).await?;
    let elapsed = started.elapsed();
    let command = &answer["commands"][0];
    ensure!(command["exitCode"] == 0, "{answer}");
    let output = command["output"].as_str().unwrap_or_default();
    ensure!(output.trim() == word, "{answer}");
    Ok(elapsed)
}

async fn round_trips(peer: &mut Peer, rounds: usize) -> Result<Vec<Row>> {
    let (mut hob, mut raw) = (Samples::default(), Samples::default());
    let (mut knowing, mut settled) = (Samples::default(), Samples::default());
    let mut control = Control::start()?;
    let mut tmux = Starting::start()?;
    for round in 0..rounds {
        let word = format!("word-{round}");
        let line = format!("echo {word}");
        raw.push(tokio::task::block_in_place(|| control.run(&line))?);
        hob.push(execute(peer, &word).await?);
        let mut start = |word: &str, look| tokio::task::block_in_place(|| tmux.run(word, look));
        knowing.push(start(&word, Look::Knowing)?);
        if round % SETTLED_EVERY == 0 {
            settled.push(start(&format!("settled-{round}"), Look::Settled)?);
        }
    }
    let hob_p50 = hob.percentile_ms(50);
    let row = |name: &str, hob: f64, yardstick: f64, yardstick_name, goal| Row {
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
            Some(Goal::RatioAtMost(1.3)),
        ),
        row(
            "a command in a terminal, p99",
            hob.percentile_ms(99),
            raw.percentile_ms(99),
            CONTROL,
            None,
        ),
        row(
            "a command in a terminal, against tmux started each time",
            hob_p50,
            knowing.percentile_ms(50),
            "tmux started for each thing, without a pause",
            Some(Goal::RatioAtMost(0.2)),
        ),
        row(
            "a command in a terminal, against tmux started as Archy does",
            hob_p50,
            settled.percentile_ms(50),
            "tmux started for each thing, every 100 ms",
            Some(Goal::RatioAtMost(0.2)),
        ),
    ])
}

async fn queued(peer: &mut Peer, count: usize) -> Result<Vec<Row>> {
    let lines: Vec<String> = (0..count)
        .map(|number| format!("echo queued-{number}"))
        .collect();
    let words: Vec<&str> = lines.iter().map(String::as_str).collect();
    let mut control = Control::start()?;
    let raw = tokio::task::block_in_place(|| control.run_all(&words))?;
    let params = json!({ "name": "bench", "commands": words });
    let started = Instant::now();
    let answer = peer.call("terminal.execute", params).await?;
    let hob = started.elapsed();
    let commands = answer["commands"].as_array().context("commands")?;
    ensure!(commands.len() == count, "{} commands", commands.len());
    let good = |command: &Value| command["state"] == "done" && command["exitCode"] == 0;
    ensure!(commands.iter().all(good), "not all of them ended well");
    let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
    #[expect(
        clippy::cast_precision_loss,
        reason = "counts here stay far below 2^52"
    )]
    let each = |time: Duration| ms(time) / count as f64;
    let row = |name: String, hob: f64, yardstick: f64| Row {
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
