//! `ps` and `top`: running processes.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding};
use hob_wire::analysis::{Importance, OutputFinding};
use serde_json::{Map, Value, json};

pub(super) const KIND: OutputKind = OutputKind {
    name: "ps",
    programs: &["ps", "top"],
    read,
};

/// In tenths of a percent, the precision of `ps`.
const BUSY_PERMILLE: u32 = 900;
const LARGE_PERMILLE: u32 = 500;

fn read(text: &str) -> Option<ParsedOutput> {
    let mut before = Vec::new();
    let mut lines = text.lines();
    let header = loop {
        let line = lines.next()?;
        let header: Vec<&str> = line.split_whitespace().collect();
        let last = header
            .last()
            .is_some_and(|name| ["CMD", "COMMAND", "Command"].contains(name));
        if last && header.contains(&"PID") {
            break header;
        }
        before.push(line);
    };
    let column = |name: &str| header.iter().position(|column| *column == name);
    let (pid, cpu, memory) = (column("PID")?, column("%CPU"), column("%MEM"));
    let state = column("STAT").or(column("S"));
    let mut seen = ProcessTotals::default();
    let mut rows = Vec::new();
    for line in lines {
        let Some(row) = split_row(line, header.len()) else {
            continue;
        };
        if row[pid].parse::<u32>().is_err() {
            // `top` prints the list repeatedly: only the last one counts.
            if row[pid] == "PID" {
                (seen, rows) = (ProcessTotals::default(), Vec::new());
            }
            continue;
        }
        let name = program_name(row[header.len() - 1]);
        let percent = |at: Option<usize>| at.and_then(|at| permille(row[at]));
        seen.add(
            &format!("{name} ({})", row[pid]),
            percent(cpu),
            percent(memory),
        );
        seen.zombies += usize::from(state.is_some_and(|at| row[at].starts_with('Z')));
        seen.count += 1;
        if rows.len() < ROWS_MAX {
            rows.push(row_to_json(&header, &row));
        }
    }
    // `top` prints the load above its list.
    let load = before
        .iter()
        .find_map(|line| line.split_once("load average:"));
    let load = load.map(|(_, load)| load.trim().to_owned());
    let summary = seen.summary(load.as_deref());
    let parsed = json!({ "processes": rows, "count": seen.count, "loadAverage": load });
    Some(ParsedOutput {
        parsed,
        findings: seen.findings,
        summary,
    })
}

/// Splits a row into words; the last column takes the rest.
fn split_row(line: &str, columns: usize) -> Option<Vec<&str>> {
    let mut rest = line.trim_start();
    let mut row = Vec::with_capacity(columns);
    for _ in 1..columns {
        let (word, behind) = rest.split_once(char::is_whitespace)?;
        row.push(word);
        rest = behind.trim_start();
    }
    row.push(rest.trim_end());
    (!rest.is_empty()).then_some(row)
}

fn row_to_json(header: &[&str], row: &[&str]) -> Value {
    let key = |name: &str| name.trim_matches(['%', '+']).to_lowercase();
    let fields: Map<String, Value> = header
        .iter()
        .zip(row)
        .map(|(name, word)| (key(name), json!(word)))
        .collect();
    Value::Object(fields)
}

/// Returns the program of a command line.
fn program_name(command: &str) -> &str {
    let program = command.split_whitespace().next().unwrap_or(command);
    // Kernel threads are printed in brackets and may contain a slash.
    if command.starts_with('[') {
        command
    } else {
        program.rsplit('/').next().unwrap_or(program)
    }
}

/// Parses `98.5` into tenths; some locales use a comma.
fn permille(text: &str) -> Option<u32> {
    let (whole, part) = text.split_once(['.', ',']).unwrap_or((text, "0"));
    let tenth: u32 = part.get(..1)?.parse().ok()?;
    whole
        .parse::<u32>()
        .ok()?
        .checked_mul(10)?
        .checked_add(tenth)
}

fn percent(permille: u32) -> String {
    format!("{}.{}", permille / 10, permille % 10)
}

#[derive(Default)]
struct ProcessTotals {
    count: usize,
    zombies: usize,
    busiest: Option<(u32, String)>,
    findings: Vec<OutputFinding>,
}

impl ProcessTotals {
    fn add(&mut self, name: &str, cpu: Option<u32>, memory: Option<u32>) {
        if let Some(cpu) = cpu {
            if cpu > BUSY_PERMILLE {
                let message = format!("{name} uses {} % of a processor", percent(cpu));
                self.findings
                    .push(finding("processor", message, Importance::High));
            }
            if self.busiest.as_ref().is_none_or(|(most, _)| cpu > *most) {
                self.busiest = Some((cpu, name.to_owned()));
            }
        }
        if let Some(memory) = memory.filter(|memory| *memory > LARGE_PERMILLE) {
            let message = format!("{name} uses {} % of the memory", percent(memory));
            self.findings
                .push(finding("memory", message, Importance::High));
        }
    }

    fn summary(&mut self, load: Option<&str>) -> String {
        if self.zombies > 0 {
            let zombies = count(self.zombies, "process is a zombie", "processes are zombies");
            self.findings
                .push(finding("process", zombies, Importance::Medium));
        }
        let mut parts = vec![count(self.count, "process", "processes")];
        if let Some((cpu, name)) = self.busiest.as_ref().filter(|(cpu, _)| *cpu > 0) {
            parts.push(format!(
                "{name} is the busiest with {} % of a processor",
                percent(*cpu)
            ));
        }
        if let Some(load) = load {
            parts.push(format!("the load is {load}"));
        }
        parts.join("; ") + "."
    }
}
