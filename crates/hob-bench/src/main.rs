//! `hob-bench`: how fast hob is, each figure beside a yardstick measured in the same run, because
//! machines are noisy and ratios are not.
//!
//! A yardstick (`yardsticks/`) uses no crate of ours and does the same work with the same client,
//! payload, rows and fsyncs. The binary under test is the one that stands beside this program.

mod daemon;
mod idle_cost;
mod measure;
mod peer;
mod report;
mod rows;
mod stream;
mod yardsticks;

use anyhow::Result;
use clap::{Parser, Subcommand};
use report::{BenchReport, BenchRow, GroupNote};
use std::path::PathBuf;

/// Benchmarks of hob, each beside its yardstick.
#[derive(Parser)]
#[command(max_term_width = 80)]
struct BenchOptions {
    /// Print one JSON document.
    #[arg(long, global = true)]
    json: bool,
    /// Print the Markdown page docs/benchmarks.md holds.
    #[arg(long, global = true, conflicts_with = "json")]
    markdown: bool,
    /// Only rows whose name contains this.
    #[arg(long, global = true)]
    only: Option<String>,
    /// A short run that shows that everything works; its figures mean little.
    #[arg(long, global = true)]
    quick: bool,
    #[command(subcommand)]
    role: Option<ProcessRole>,
}

/// The other parts this program plays, each in a process of its own.
#[derive(Subcommand)]
enum ProcessRole {
    /// Be the bare relay: forward every message from one socket to the other.
    #[command(hide = true)]
    Relay,
    /// Be the bare program that answers each connection of a socket with the same bytes.
    #[command(hide = true)]
    Answerer { socket: PathBuf, answer: PathBuf },
    /// Be the bare program that has tmux run what a WebSocket asks for.
    #[command(hide = true)]
    Typist,
}

fn main() -> Result<()> {
    let options = BenchOptions::parse();
    match &options.role {
        Some(ProcessRole::Answerer { socket, answer }) => {
            return yardsticks::answerer::run(socket, answer);
        }
        Some(ProcessRole::Typist) => return yardsticks::typist::run(),
        Some(ProcessRole::Relay) | None => {}
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        match options.role {
            Some(ProcessRole::Relay) => yardsticks::relay::run().await,
            _ => bench(&options).await,
        }
    })
}

async fn bench(options: &BenchOptions) -> Result<()> {
    let mut report = BenchReport::new()?;
    for group in rows::GROUPS {
        let wanted = |name: &str| {
            options
                .only
                .as_deref()
                .is_none_or(|only| name.contains(only))
        };
        if !wanted(group.name) {
            continue;
        }
        report::progress(group.name);
        let measured: Vec<BenchRow> = (group.run)(options.quick).await?;
        report.rows.extend(measured);
        report.notes.extend(group.note.map(|text| GroupNote {
            group: group.name,
            text,
        }));
    }
    report.print(options.json, options.markdown)
}
