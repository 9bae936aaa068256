//! What stored rules cost a call: a decision with ten thousand of them against one with none, and
//! a whole tool call over the bus against a round trip through the bare relay.

use super::route::RelayClient;
use super::search::ToolPeer;
use crate::measure::LatencySamples;
use crate::report::{BenchGoal, BenchRow};
use anyhow::Result;
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) const NOTE: &str = "`permission.check` and `tool.execute` of `time` over a WebSocket, one at a time. The rules are stored ones, a third each for the tool, for other tools and for any tool, with patterns, folders and hosts that do not fit. A tool call is kept in the audit log with an fsync.";

const RULES: usize = 10_000;

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let folder = TempDir::new()?;
    let (rules, count) = if quick { (300, 20) } else { (RULES, 2_000) };
    let mut bare = ToolPeer::new(folder.path()).await?;
    let mut crowded = ToolPeer::new(folder.path()).await?;
    for number in 0..rules {
        crowded.ask("permission.add", rule(number)).await?;
    }
    let check = json!({
        "tool": "exec",
        "args": { "command": "cargo test --workspace" },
        "context": { "sessionKey": "bench", "workspace": folder.path() },
    });
    let (mut with, mut without) = (LatencySamples::default(), LatencySamples::default());
    let mut calls = LatencySamples::default();
    for _ in 0..count {
        without.push(bare.ask("permission.check", check.clone()).await?.0);
        with.push(crowded.ask("permission.check", check.clone()).await?.0);
        calls.push(bare.call("time", &json!({})).await?.0);
    }
    let mut relay = RelayClient::through_relay().await?;
    let mut trips = relay.one_by_one(count).await?;
    Ok(vec![
        BenchRow {
            name: format!("permission check, {RULES} rules"),
            unit: "ms",
            hob: with.percentile_ms(50),
            yardstick: Some(without.percentile_ms(50)),
            yardstick_name: "the same with no rule",
            goal: Some(BenchGoal::AddedAtMost(1.0)),
        },
        BenchRow {
            name: "tool call over the bus".to_owned(),
            unit: "ms",
            hob: calls.percentile_ms(50),
            yardstick: Some(trips.percentile_ms(50)),
            yardstick_name: "bare two-hop relay",
            goal: None,
        },
    ])
}

/// A rule that covers no call of this measurement.
fn rule(number: usize) -> Value {
    let mut rule = json!({ "decision": "allow", "scope": "always" });
    match number % 3 {
        0 => {
            rule["tool"] = json!("exec");
            rule["match"] = json!({ "command": format!("make target-{number} *") });
        }
        1 => {
            rule["tool"] = json!(format!("tool_{number}"));
            rule["path"] = json!(format!("/srv/project-{number}"));
        }
        _ => {
            rule["tool"] = json!("*");
            rule["host"] = json!(format!("host-{number}.example.org"));
            rule["path"] = json!(format!("/srv/project-{number}"));
        }
    }
    rule
}
