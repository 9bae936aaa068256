//! `grep` and `glob` over a large tree, asked for over the wire, against ripgrep started anew.

use crate::daemon::{BenchHome, ServerProcess};
use crate::measure::LatencySamples;
use crate::peer::BusPeer;
use crate::report::{BenchGoal, BenchRow};
use crate::yardsticks::program;
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub(crate) const NOTE: &str = "a tree of 20,000 source-like files in 1,000 folders (about 60 MB), its pages in memory; 40 lines match, 40 files fit the glob; medians of alternating rounds. ripgrep is the packaged one, started for each search and read to its end; hob is asked with `tool.execute` over a WebSocket.";

const FOLDERS: usize = 1_000;
const FILES: usize = 20;
const ROUNDS: usize = 9;
/// Lines that match, and files that fit.
const FOUND: usize = 40;
const NEEDLE: &str = "needle_in_the_haystack";

pub(crate) async fn run(quick: bool) -> Result<Vec<BenchRow>> {
    let tree = TempDir::new()?;
    grow(tree.path(), if quick { 50 } else { FOLDERS })?;
    let mut hand = ToolPeer::new(tree.path()).await?;
    let grep = json!({ "pattern": "needle_in_[a-z]+_haystack" });
    let glob = json!({ "pattern": "**/rare_*.rs" });
    let searches: [(&str, Value, &[&str]); 2] = [
        ("grep", grep, &["rg", "-n", "needle_in_[a-z]+_haystack"]),
        ("glob", glob, &["rg", "--files", "-g", "**/rare_*.rs"]),
    ];
    let mut rows = Vec::new();
    for (tool, args, bare) in searches {
        let (mut hob, mut ripgrep) = (LatencySamples::default(), LatencySamples::default());
        for _ in 0..=ROUNDS {
            ripgrep.push(program::run(bare, tree.path(), Some(FOUND))?);
            hob.push(hand.search(tool, &args).await?);
        }
        rows.push(BenchRow {
            name: format!("{tool} over {} files", FOLDERS * FILES),
            unit: "ms",
            hob: hob.percentile_ms(50),
            yardstick: Some(ripgrep.percentile_ms(50)),
            yardstick_name: "ripgrep",
            goal: Some(BenchGoal::RatioAtMost(1.5)),
        });
    }
    Ok(rows)
}

/// A client of a daemon whose tools work in one folder.
pub(super) struct ToolPeer {
    peer: BusPeer,
    workspace: Value,
    _alive: (BenchHome, ServerProcess),
}

impl ToolPeer {
    pub(super) async fn new(workspace: &Path) -> Result<Self> {
        let home = BenchHome::new()?;
        let daemon = home.start()?;
        let url = format!("ws://{}/ws", daemon.address);
        let peer = BusPeer::connect(&url, Some(&home.token()?)).await?;
        Ok(ToolPeer {
            peer,
            workspace: json!(workspace),
            _alive: (home, daemon),
        })
    }

    /// Calls a tool; how long it took and what it answered.
    pub(super) async fn call(&mut self, tool: &str, args: &Value) -> Result<(Duration, Value)> {
        let context = json!({ "workspace": self.workspace });
        let params = json!({ "name": tool, "args": args, "context": context });
        let started = Instant::now();
        let answer = self.peer.call("tool.execute", params).await?;
        let elapsed = started.elapsed();
        ensure!(answer["isError"] != true, "{tool}: {answer}");
        Ok((elapsed, answer))
    }

    pub(super) async fn ask(&mut self, method: &str, params: Value) -> Result<(Duration, Value)> {
        let started = Instant::now();
        let answer = self.peer.call(method, params).await?;
        Ok((started.elapsed(), answer))
    }

    async fn search(&mut self, tool: &str, args: &Value) -> Result<Duration> {
        let (elapsed, answer) = self.call(tool, args).await?;
        let text = answer["content"][0]["text"].as_str().unwrap_or_default();
        let hits = text.lines().filter(|line| line.contains(".rs")).count();
        ensure!(hits >= FOUND, "{tool} found {hits}: {text}");
        Ok(elapsed)
    }
}

/// Plants the tree; what is searched for stands in few of its files.
fn grow(root: &Path, folders: usize) -> Result<()> {
    let line = "    let value = compute(value, &mut state).unwrap_or_default(); // as before\n";
    let text = line.repeat(40);
    let planted = folders * FILES / FOUND;
    for folder in 0..folders {
        let path = root.join(format!("crate_{}/module_{folder}", folder % 25));
        std::fs::create_dir_all(&path)?;
        for file in 0..FILES {
            let is_rare = (folder * FILES + file).is_multiple_of(planted);
            let name = if is_rare { "rare" } else { "file" };
            let needle = if is_rare { NEEDLE } else { "hay" };
            let content = format!("{text}// {needle}\n{text}");
            std::fs::write(path.join(format!("{name}_{file}.rs")), content)?;
        }
    }
    Ok(())
}
