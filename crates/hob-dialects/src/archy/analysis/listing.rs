//! `ls -l`: the entries of a folder.

use super::{OutputKind, ParsedOutput, ROWS_MAX, count, finding};
use hob_wire::analysis::Importance;
use serde_json::json;

pub(super) const KIND: OutputKind = OutputKind {
    name: "ls",
    programs: &["ls", "dir", "vdir"],
    read,
};

#[derive(Debug)]
struct ListingEntry<'a> {
    mode: &'a str,
    owner: &'a str,
    group: &'a str,
    size: &'a str,
    modified: String,
    name: &'a str,
    target: Option<&'a str>,
}

fn read(text: &str) -> Option<ParsedOutput> {
    let mut entries = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let total = line
            .strip_prefix("total ")
            .is_some_and(|size| !size.contains(' '));
        let folder = line.ends_with(':') && !line.contains(' ');
        // Error messages of `ls` itself are mixed into its list.
        if total || folder || line.starts_with("ls: ") {
            continue;
        }
        entries.push(parse_entry(line)?);
    }
    if entries.is_empty() && !text.lines().any(|line| line == "total 0") {
        return None;
    }
    let mut findings = Vec::new();
    for entry in &entries {
        let mode = entry.mode.as_bytes();
        // In `drwxrwxrwt` byte 8 is the write bit of all others, and byte 9 may be the sticky bit.
        let (writable, sticky) = (mode[8] == b'w', matches!(mode[9], b't' | b'T'));
        // Links always look writable, and devices such as /dev/null are meant to be.
        if writable && !sticky && mode[0] != b'l' && mode[0] != b'c' {
            let message = format!("{} may be changed by everybody", entry.name);
            findings.push(finding("permission", message, Importance::Medium));
        }
        if matches!(mode[3], b's' | b'S') && mode[0] == b'-' {
            let message = format!("{} runs as its owner {}", entry.name, entry.owner);
            findings.push(finding("permission", message, Importance::Low));
        }
    }
    let named: Vec<&ListingEntry<'_>> = entries
        .iter()
        .filter(|entry| entry.name != "." && entry.name != "..")
        .collect();
    let folders = named
        .iter()
        .filter(|entry| entry.mode.starts_with('d'))
        .count();
    let summary = format!(
        "{} and {}.",
        count(folders, "folder", "folders"),
        count(named.len() - folders, "other entry", "other entries")
    );
    let files = || named.iter().filter(|entry| entry.mode.starts_with('-'));
    // With `-h` a size is no number, and counts as nothing.
    let bytes: u64 = files()
        .filter_map(|entry| entry.size.parse::<u64>().ok())
        .fold(0, u64::saturating_add);
    let rows: Vec<_> = entries.iter().take(ROWS_MAX).map(to_json).collect();
    Some(ParsedOutput {
        parsed: json!({
            "entries": rows, "count": named.len(), "folders": folders,
            "files": files().count(), "bytes": bytes,
        }),
        findings,
        summary,
    })
}

fn parse_entry(line: &str) -> Option<ListingEntry<'_>> {
    let mut rest = line;
    let mut word = || {
        let text = rest.trim_start();
        let (word, behind) = text.split_once(' ')?;
        rest = behind;
        Some(word)
    };
    let mode = word()?;
    word()?.parse::<u32>().ok()?;
    let (owner, group, mut size) = (word()?, word()?, word()?);
    // A device has two numbers instead of a size.
    if size.ends_with(',') {
        size = word()?;
    }
    let kinds = mode.len() >= 10 && mode.is_ascii() && "-dlcbps".contains(&mode[..1]);
    if !kinds || !mode[1..10].bytes().all(|byte| b"rwxsStT-".contains(&byte)) {
        return None;
    }
    let first = word()?;
    let words = if first.starts_with(|c: char| c.is_ascii_digit()) && first.contains('-') {
        2
    } else {
        3
    };
    let mut modified = vec![first];
    for _ in 1..words {
        modified.push(word()?);
    }
    // `--full-time` adds a zone after the time.
    let zone = rest.split(' ').next().filter(|word| {
        word.len() == 5
            && word.starts_with(['+', '-'])
            && word[1..].bytes().all(|b| b.is_ascii_digit())
    });
    if words == 2
        && let Some(zone) = zone
    {
        modified.push(zone);
        rest = rest[zone.len()..].strip_prefix(' ').unwrap_or("");
    }
    let (name, target) = match rest.split_once(" -> ").filter(|_| mode.starts_with('l')) {
        Some((name, target)) => (name, Some(target)),
        None => (rest, None),
    };
    (!name.is_empty()).then_some(())?;
    Some(ListingEntry {
        mode,
        owner,
        group,
        size,
        modified: modified.join(" "),
        name,
        target,
    })
}

fn to_json(entry: &ListingEntry<'_>) -> serde_json::Value {
    let kind = match &entry.mode[..1] {
        "d" => "folder",
        "l" => "link",
        "c" | "b" => "device",
        "p" => "pipe",
        "s" => "socket",
        _ => "file",
    };
    json!({
        "name": entry.name, "kind": kind, "mode": entry.mode, "owner": entry.owner,
        "group": entry.group, "size": entry.size, "modified": entry.modified,
        "target": entry.target,
    })
}
