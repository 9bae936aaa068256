//! `df`: disk usage.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "df",
    programs: &["df"],
    read,
};

const FULL_PERCENT: u64 = 80;
const VERY_FULL_PERCENT: u64 = 90;

fn read(text: &str) -> Option<ParsedOutput> {
    let mut lines = text
        .lines()
        .skip_while(|line| !line.starts_with("Filesystem"));
    let header: Vec<&str> = lines.next()?.split_whitespace().collect();
    let percent = header
        .iter()
        .position(|name| ["Use%", "IUse%", "Capacity"].contains(name))?;
    let (mut disks, mut findings) = (Vec::new(), Vec::new());
    let mut fullest: Option<(u64, String)> = None;
    for row in split_rows(lines, percent) {
        let Some(used) = row.get(percent).and_then(|word| word.strip_suffix('%')) else {
            continue;
        };
        let used: u64 = used.parse().ok()?;
        // A mount point may contain spaces.
        let mount = row[percent + 1..].join(" ");
        disks.push(json!({
            "filesystem": row[0],
            "size": row[percent - 3],
            "used": row[percent - 2],
            "available": row[percent - 1],
            "usedPercent": used,
            "mountedOn": mount,
        }));
        // Loop devices and snaps are read-only images, which are always full.
        if row[0].starts_with("/dev/loop") || mount.starts_with("/snap/") {
            continue;
        }
        if used > FULL_PERCENT {
            let importance = if used > VERY_FULL_PERCENT {
                Importance::Critical
            } else {
                Importance::High
            };
            let left = row[percent - 1];
            findings.push(finding(
                "disk",
                format!("{mount} is {used} % full ({left} left)"),
                importance,
            ));
        }
        if fullest.as_ref().is_none_or(|(most, _)| used > *most) {
            fullest = Some((used, mount));
        }
    }
    let found = count(disks.len(), "filesystem", "filesystems");
    let summary = match fullest {
        Some((used, mount)) => format!("{found}; {mount} is the fullest with {used} %."),
        None => format!("{found}."),
    };
    disks.truncate(ROWS_MAX);
    Some(ParsedOutput {
        parsed: json!({ "filesystems": disks }),
        findings,
        summary,
    })
}

/// Splits rows into words; a long device name has its own line.
fn split_rows<'a>(lines: impl Iterator<Item = &'a str>, percent: usize) -> Vec<Vec<&'a str>> {
    let mut rows: Vec<Vec<&str>> = Vec::new();
    let mut name = None;
    for line in lines {
        let mut row: Vec<&str> = line.split_whitespace().collect();
        if let Some(name) = name.take() {
            row.insert(0, name);
        }
        match row.len() {
            0 => {}
            1 => name = Some(row[0]),
            // The other columns are read by their distance from the percentage.
            len if len > percent + 1 && percent >= 4 => rows.push(row),
            _ => {}
        }
    }
    rows
}
