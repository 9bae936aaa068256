//! What jobs cost: processor and memory of a daemon with ten thousand of them at rest against the
//! same daemon with none, and how late they are told when all are due in the same second.

use crate::daemon::{BenchHome, ServerProcess, SimProcess};
use crate::idle_cost::IdleComparison;
use crate::measure::LatencySamples;
use crate::peer::{BusPeer, request};
use crate::report::BenchRow;
use crate::stream::wall_us;
use crate::yardsticks::sqlite;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;
use tempfile::TempDir;

pub(crate) const NOTE: &str = "jobs by cron fields that are not due while they rest. For lateness all are due at the same instant; it is the time from there until their `cron.trigger`, which follows the commit of the slot, was received over a WebSocket, while their runs begin against the scripted model. The yardstick commits the same rows, 256 slots with cursors and events a commit, with SQLite alone.";

const JOBS: usize = 10_000;
const REST: Duration = Duration::from_secs(30);
/// Jobs added with one flush.
const ADD_AT_ONCE: usize = 200;
/// Jobs that hob decides in one transaction.
const DECIDED_AT_ONCE: i64 = 256;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let (jobs, rest) = if quick {
        (300, Duration::from_secs(2))
    } else {
        (JOBS, REST)
    };
    let mut rows: Vec<BenchRow> = idle(jobs, rest).await?.into();
    rows.extend(same_second(jobs, if quick { 5 } else { 60 }).await?);
    Ok(rows)
}

async fn idle(jobs: usize, rest: Duration) -> Result<[BenchRow; 2]> {
    let alone = BenchHome::new()?;
    let bare = alone.start()?;
    let home = BenchHome::new()?;
    let daemon = home.start()?;
    let mut peer = home.connect(&daemon).await?;
    // Fields of many minutes and hours, in February.
    let schedule = |at: usize| format!("{} {} 1 2 *", at % 60, at / 60 % 24);
    add(&mut peer, jobs, schedule).await?;
    tokio::time::sleep(rest / 10).await;
    let at_rest = IdleComparison {
        what: format!("{JOBS} jobs"),
        hob: &daemon,
        bare: &bare,
        bare_name: "no job",
        memory_mb: ServerProcess::memory_mb,
    };
    at_rest.rows(rest).await
}

async fn same_second(jobs: usize, ahead_s: u64) -> Result<Vec<BenchRow>> {
    let sim = SimProcess::start(&[])?;
    let home = BenchHome::asking(&sim, "")?;
    let daemon = home.start()?;
    let mut adder = home.connect(&daemon).await?;
    let due_ms = (wall_us() / 1_000_000 + ahead_s) * 1_000;
    let due = jiff::Timestamp::from_millisecond(i64::try_from(due_ms)?)?;
    add(&mut adder, jobs, |_| format!("at {due}")).await?;
    ensure!(wall_us() / 1_000 < due_ms, "adding the jobs took too long");
    let mut late = LatencySamples::default();
    let mut seq = 0;
    while late.len() < jobs {
        // A reader that falls behind is told so, and goes on where it was.
        let mut reader = home.connect(&daemon).await?;
        let only = json!({ "events": ["cron.trigger"], "since": seq });
        reader.call("gateway.subscribe", only).await?;
        while late.len() < jobs {
            let Ok(text) = reader.next().await else {
                break;
            };
            let frame: Value = serde_json::from_str(&text)?;
            if frame["topic"] == "cron.trigger" || frame["event"] == "cron.trigger" {
                seq = frame["seq"].as_u64().unwrap_or(seq);
                let passed_us = wall_us().saturating_sub(due_ms * 1_000);
                late.push(Duration::from_micros(passed_us));
            }
        }
    }
    let dir = TempDir::new()?;
    let count = i64::try_from(jobs)?;
    let raw = sqlite::slots(dir.path(), count, DECIDED_AT_ONCE)?;
    let mut raw_times = LatencySamples::default();
    for time in raw {
        raw_times.push(time);
    }
    let row = |percent: usize, late: &mut LatencySamples, raw: &mut LatencySamples| BenchRow {
        name: format!("{JOBS} jobs due in the same second, late, p{percent}"),
        unit: "ms",
        hob: late.percentile_ms(percent),
        yardstick: Some(raw.percentile_ms(percent)),
        yardstick_name: "raw SQLite, the same rows and batches",
        goal: None,
    };
    Ok(vec![
        row(50, &mut late, &mut raw_times),
        row(99, &mut late, &mut raw_times),
    ])
}

async fn add(peer: &mut BusPeer, jobs: usize, schedule: impl Fn(usize) -> String) -> Result<()> {
    let all: Vec<usize> = (0..jobs).collect();
    for some in all.chunks(ADD_AT_ONCE) {
        let frames = some.iter().map(|at| {
            let job = json!({
                "name": format!("job-{at:05}"), "schedule": schedule(*at), "zone": "UTC",
                "task": "Say something.",
            });
            request(&at.to_string(), "cron.add", &job)
        });
        peer.send_all(frames).await?;
        for _ in some {
            let frame: Value = serde_json::from_str(&peer.next().await?)?;
            ensure!(frame["ok"] == true, "{frame}");
        }
    }
    Ok(())
}
