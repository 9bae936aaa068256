//! `exec` of `true`, asked for over the wire, against a bare start of the same program and against
//! the same program in bubblewrap alone.

use super::search::ToolPeer;
use crate::measure::LatencySamples;
use crate::report::BenchRow;
use crate::yardsticks::program;
use anyhow::Result;
use serde_json::json;
use tempfile::TempDir;

pub(crate) const NOTE: &str = "`bash -c true` in an empty folder; medians of alternating rounds. hob is asked with `tool.execute` over a WebSocket, keeps the call in its audit log with an fsync, starts its shim and the sandbox, and answers when nothing of the command is left.";

const ROUNDS: usize = 41;
const BARE: &[&str] = &["bash", "-c", "true"];
const WRAPPED: &[&str] = &[
    "bwrap",
    "--unshare-all",
    "--ro-bind",
    "/",
    "/",
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    "--tmpfs",
    "/tmp",
    "--die-with-parent",
    "--new-session",
    "bash",
    "-c",
    "true",
];

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let folder = TempDir::new()?;
    let mut hand = ToolPeer::new(folder.path()).await?;
    let args = json!({ "command": "true" });
    // The first call finds out what the machine can enforce.
    hand.call("exec", &args).await?;
    let mut hob = LatencySamples::default();
    let (mut bare, mut wrapped) = (LatencySamples::default(), LatencySamples::default());
    for _ in 0..if quick { 3 } else { ROUNDS } {
        bare.push(program::run(BARE, folder.path(), None)?);
        wrapped.push(program::run(WRAPPED, folder.path(), None)?);
        hob.push(hand.call("exec", &args).await?.0);
    }
    let median = hob.percentile_ms(50);
    let row = |yardstick: f64, yardstick_name| BenchRow {
        name: format!("exec of true, against {yardstick_name}"),
        unit: "ms",
        hob: median,
        yardstick: Some(yardstick),
        yardstick_name,
        goal: None,
    };
    Ok(vec![
        row(bare.percentile_ms(50), "a bare spawn"),
        row(wrapped.percentile_ms(50), "bubblewrap alone"),
    ])
}
