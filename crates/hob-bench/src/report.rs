//! Prints the results as a table, as JSON, or as the page in docs.

use anyhow::{Context, Result};
use serde::Serialize;
use std::fmt::Write as _;
use std::io::Write as _;

/// One figure beside its yardstick.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BenchRow {
    pub(crate) name: String,
    pub(crate) unit: &'static str,
    pub(crate) hob: f64,
    /// The yardstick's own figure; a row without one is information.
    pub(crate) yardstick: Option<f64>,
    pub(crate) yardstick_name: &'static str,
    pub(crate) goal: Option<BenchGoal>,
}

/// The goal of a row.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "kind", content = "value")]
pub(crate) enum BenchGoal {
    /// hob / yardstick at least.
    RatioAtLeast(f64),
    /// hob / yardstick at most.
    RatioAtMost(f64),
    /// hob's own figure below.
    Below(f64),
    /// hob - yardstick at most.
    AddedAtMost(f64),
}

impl BenchRow {
    pub(crate) fn ratio(&self) -> Option<f64> {
        let yardstick = self.yardstick.filter(|yardstick| *yardstick > 0.0);
        yardstick.map(|yardstick| self.hob / yardstick)
    }

    fn added(&self) -> Option<f64> {
        self.yardstick.map(|yardstick| self.hob - yardstick)
    }

    fn met(&self) -> Option<bool> {
        let ratio = self.ratio();
        self.goal.map(|goal| match goal {
            BenchGoal::RatioAtLeast(goal) => ratio.is_some_and(|ratio| ratio >= goal),
            BenchGoal::RatioAtMost(goal) => ratio.is_some_and(|ratio| ratio <= goal),
            BenchGoal::Below(goal) => self.hob < goal,
            BenchGoal::AddedAtMost(goal) => self.added().is_some_and(|added| added <= goal),
        })
    }

    fn cells(&self) -> [String; 6] {
        let goal = match self.goal {
            None => "-".to_owned(),
            Some(BenchGoal::RatioAtLeast(goal)) => format!("ratio ≥ {goal}"),
            Some(BenchGoal::RatioAtMost(goal)) => format!("ratio ≤ {goal}"),
            Some(BenchGoal::Below(goal)) => format!("< {goal} {}", self.unit),
            Some(BenchGoal::AddedAtMost(goal)) => format!("added ≤ {goal} {}", self.unit),
        };
        let verdict = match self.met() {
            None => "",
            Some(true) => " (met)",
            Some(false) => " (missed)",
        };
        [
            self.name.clone(),
            format!("{} {}", figure(self.hob), self.unit),
            self.yardstick.map_or("-".to_owned(), |own| {
                format!("{} {}", figure(own), self.unit)
            }),
            self.yardstick_name.to_owned(),
            self.ratio()
                .map_or("-".to_owned(), |ratio| format!("{ratio:.2}")),
            format!("{goal}{verdict}"),
        ]
    }
}

/// A whole run.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct BenchReport {
    pub(crate) machine: String,
    pub(crate) rows: Vec<BenchRow>,
    /// Explanations of the rows, by group.
    pub(crate) notes: Vec<GroupNote>,
}

/// The explanation of a group of rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct GroupNote {
    pub(crate) group: &'static str,
    pub(crate) text: &'static str,
}

const HEAD: [&str; 6] = ["Row", "hob", "yardstick", "which", "ratio", "goal"];

impl BenchReport {
    pub(crate) fn new() -> Result<Self> {
        Ok(BenchReport {
            machine: machine()?,
            rows: Vec::new(),
            notes: Vec::new(),
        })
    }

    pub(crate) fn print(&self, json: bool, markdown: bool) -> Result<()> {
        let text = if json {
            serde_json::to_string_pretty(self)? + "\n"
        } else if markdown {
            self.page()
        } else {
            let notes = self.notes.iter().map(|note| note.line() + "\n");
            let notes: String = notes.collect();
            format!("{}\n\n{}\n{notes}", self.machine, self.table())
        };
        std::io::stdout()
            .write_all(text.as_bytes())
            .context("print the report")
    }

    fn table(&self) -> String {
        let cells: Vec<[String; 6]> = self.rows.iter().map(BenchRow::cells).collect();
        let width = |column: usize| {
            let widths = cells.iter().map(|row| row[column].chars().count());
            widths.max().unwrap_or(0).max(HEAD[column].len())
        };
        let line = |row: [&str; 6]| {
            let padded = row
                .iter()
                .enumerate()
                .map(|(at, cell)| format!("{cell:<0$}", width(at)));
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let rows = cells
            .iter()
            .map(|row| line(row.each_ref().map(String::as_str)));
        line(HEAD) + &rows.collect::<String>()
    }

    fn page(&self) -> String {
        let mut page = format!(
            "# Benchmarks\n\nMeasured by `cargo xtask bench --markdown` on: {}.\n\n\
             Machines are noisy: read the ratios, each taken against its yardstick in the same \
             run. A yardstick\nuses no crate of ours and does the same work with the same client, \
             payload, rows and fsyncs\n(`crates/hob-bench/src/yardsticks`).\n\n",
            self.machine
        );
        let _ = writeln!(
            page,
            "| {} |\n|{}",
            HEAD.join(" | "),
            "---|".repeat(HEAD.len())
        );
        for row in &self.rows {
            let _ = writeln!(page, "| {} |", row.cells().join(" | "));
        }
        page.push('\n');
        for note in &self.notes {
            let _ = writeln!(page, "- {}", note.line());
        }
        page
    }
}

impl GroupNote {
    fn line(&self) -> String {
        format!("{}: {}", self.group, self.text)
    }
}

/// Says on stderr what is being measured.
#[expect(
    clippy::print_stderr,
    reason = "a person waits for minutes and wants to see progress"
)]
pub(crate) fn progress(what: &str) {
    eprintln!("measuring: {what}");
}

fn figure(value: f64) -> String {
    if value >= 100.0 {
        format!("{value:.0}")
    } else {
        format!("{value:.2}")
    }
}

fn machine() -> Result<String> {
    let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").context("read /proc/cpuinfo")?;
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let model = model.map_or("an unnamed processor", |(_, name)| name);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    Ok(format!("{model}, {cores} cores, Linux {}", kernel.trim()))
}
