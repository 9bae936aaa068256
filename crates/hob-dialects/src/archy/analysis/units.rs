//! `systemctl`: the list of units, and the status of one.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding, list_some};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "systemctl",
    programs: &["systemctl"],
    read,
};
pub(super) const STATUS: OutputKind = OutputKind {
    name: "systemctl",
    programs: &["systemctl"],
    read: status,
};

const FAILED_SHOWN: usize = 5;

fn read(text: &str) -> Option<ParsedOutput> {
    let mut lines = text.lines().skip_while(|line| line.trim().is_empty());
    let header: Vec<&str> = lines.next()?.split_whitespace().collect();
    if header.get(..4) != Some(&["UNIT", "LOAD", "ACTIVE", "SUB"]) {
        return None;
    }
    let (mut units, mut failed, mut findings) = (Vec::new(), Vec::new(), Vec::new());
    let mut running_services = 0;
    for line in lines.take_while(|line| !line.trim().is_empty()) {
        let words: Vec<&str> = line
            .trim_start_matches(['●', '*', '×', ' '])
            .split_whitespace()
            .collect();
        let [unit, load, active, sub, description @ ..] = words.as_slice() else {
            continue;
        };
        let description = description.join(" ");
        if *active == "failed" {
            let message = format!("{unit} has failed: {description}");
            findings.push(finding("service", message, Importance::High));
            failed.push((*unit).to_owned());
        } else if *load == "not-found" {
            let message = format!("{unit} is wanted but not installed");
            findings.push(finding("service", message, Importance::Low));
        }
        running_services += usize::from(*sub == "running" && unit.ends_with(".service"));
        units.push(json!({
            "unit": unit, "load": load, "active": active, "sub": sub, "description": description,
        }));
    }
    let found = count(units.len(), "unit", "units");
    let summary = if failed.is_empty() {
        format!("{found}, none of them failed.")
    } else {
        format!(
            "{found}, {} failed: {}.",
            failed.len(),
            list_some(&failed, FAILED_SHOWN)
        )
    };
    units.truncate(ROWS_MAX);
    Some(ParsedOutput {
        parsed: json!({
            "units": units, "failed": failed, "runningServices": running_services,
        }),
        findings,
        summary,
    })
}

fn status(text: &str) -> Option<ParsedOutput> {
    let first = text.lines().find(|line| !line.trim().is_empty())?;
    let head = first.trim_start_matches(['●', '○', '×', '↻', '*', ' ']);
    let (unit, description) = head.split_once(" - ").unwrap_or((head, ""));
    // A unit name has a suffix such as `.service` and no space.
    if unit.contains(' ') || !unit.contains('.') {
        return None;
    }
    let field = |name: &str| {
        let value = text
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name));
        value.map(|value| value.trim().to_owned())
    };
    let (loaded, active) = (field("Loaded:")?, field("Active:")?);
    let state = active.split(" since ").next().unwrap_or(&active).to_owned();
    let mut findings = Vec::new();
    if active.starts_with("failed") {
        findings.push(finding(
            "service",
            format!("{unit} has failed: {active}"),
            Importance::High,
        ));
    }
    let pid = field("Main PID:").and_then(|pid| pid.split(' ').next()?.parse::<u32>().ok());
    let parsed = json!({
        "unit": unit, "description": description, "loaded": loaded, "active": active,
        "mainPid": pid, "memory": field("Memory:"),
    });
    Some(ParsedOutput {
        parsed,
        findings,
        summary: format!("{unit} is {state}."),
    })
}
