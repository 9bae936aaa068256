//! `journalctl` and other logs: lines that begin with a time.

use super::{OutputKind, ParsedOutput, count, finding};
use hob_wire::analysis::{Importance, OutputFinding};
use serde_json::json;
use std::collections::BTreeMap;

pub(super) const KIND: OutputKind = OutputKind {
    name: "journal",
    programs: &["journalctl", "dmesg"],
    read,
};

const SHOWN: usize = 5;
/// Lines of `lastErrors` and `lastWarnings`.
const LAST_MAX: usize = 10;
const LAST_CHARS_MAX: usize = 300;
const SOURCES_MAX: usize = 20;
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];
const ERRORS: &[&str] = &[
    "error", "errors", "failed", "failure", "fatal", "panic", "critical", "segfault", "emerg",
    "err",
];
const WARNINGS: &[&str] = &["warning", "warn", "deprecated"];
const KILLED: &str = "Out of memory: Killed process";

struct JournalLine<'a> {
    time: &'a str,
    source: Option<&'a str>,
    message: &'a str,
}

fn read(text: &str) -> Option<ParsedOutput> {
    let all = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("-- "));
    let (mut total, mut lines) = (0, Vec::new());
    for line in all {
        total += 1;
        lines.extend(parse_line(line));
    }
    // A message of several lines has one timestamp; a text with only a few timestamps is not a log.
    if lines.len() < 2 || lines.len() * 2 < total {
        return None;
    }
    let errors: Vec<&JournalLine<'_>> = lines
        .iter()
        .filter(|line| mentions(line.message, ERRORS))
        .collect();
    let warning_lines: Vec<&JournalLine<'_>> = lines
        .iter()
        .filter(|line| !mentions(line.message, ERRORS) && mentions(line.message, WARNINGS))
        .collect();
    let warnings = warning_lines.len();
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for source in lines.iter().filter_map(|line| line.source) {
        *sources.entry(source).or_default() += 1;
    }
    let mut sources: Vec<(&str, usize)> = sources.into_iter().collect();
    sources.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    sources.truncate(SOURCES_MAX);
    let (from, to) = (lines[0].time, lines[lines.len() - 1].time);
    let wrong = match errors.len() {
        0 => "no errors".to_owned(),
        some => count(some, "error", "errors"),
    };
    let found = count(lines.len(), "line", "lines");
    let summary = format!("{found} from {from} to {to}, {wrong}.");
    let parsed = json!({
        "lines": lines.len(), "errors": errors.len(), "warnings": warnings, "from": from, "to": to,
        "lastErrors": last_texts(&errors), "lastWarnings": last_texts(&warning_lines),
        "sources": sources.iter().map(|(name, lines)| json!({ "name": name, "lines": lines })).collect::<Vec<_>>(),
    });
    Some(ParsedOutput {
        parsed,
        findings: findings(&errors, &lines, warnings),
        summary,
    })
}

/// The newest lines as texts, in their order.
fn last_texts(lines: &[&JournalLine<'_>]) -> Vec<String> {
    let from = lines.len().saturating_sub(LAST_MAX);
    let text = |line: &&JournalLine<'_>| {
        let source = line.source.map(|source| format!("{source}: "));
        let text = format!(
            "{} {}{}",
            line.time,
            source.unwrap_or_default(),
            line.message
        );
        text.chars().take(LAST_CHARS_MAX).collect()
    };
    lines[from..].iter().map(text).collect()
}

fn findings(
    errors: &[&JournalLine<'_>],
    lines: &[JournalLine<'_>],
    warnings: usize,
) -> Vec<OutputFinding> {
    let mut findings = Vec::new();
    for killed in lines
        .iter()
        .filter(|line| line.message.contains(KILLED))
        .take(SHOWN)
    {
        findings.push(finding(
            "memory",
            format!("{}: {}", killed.time, killed.message),
            Importance::Critical,
        ));
    }
    // The newest errors come first, because the list is cut.
    for error in errors
        .iter()
        .rev()
        .filter(|line| !line.message.contains(KILLED))
        .take(SHOWN)
    {
        let source = error
            .source
            .map_or_else(String::new, |source| format!(" {source}"));
        let message = format!("{}{source}: {}", error.time, error.message);
        findings.push(finding("error", message, Importance::High));
    }
    if warnings > 0 {
        let message = count(warnings, "line is a warning", "lines are warnings");
        findings.push(finding("warning", message, Importance::Low));
    }
    findings
}

fn parse_line(line: &str) -> Option<JournalLine<'_>> {
    let (time, rest) = split_time(line)?;
    let rest = rest.trim_start();
    // `host program[7]: message`, or only a message.
    let named = rest.split_once(": ").and_then(|(head, message)| {
        let mut words = head.split(' ');
        let (host, source) = (words.next()?, words.next()?);
        // More than two words before the colon are part of the message.
        let single = words.next().is_none() && !host.is_empty();
        single.then(|| (source.split('[').next().unwrap_or(source), message))
    });
    let (source, message) = named.map_or((None, rest), |(source, message)| (Some(source), message));
    Some(JournalLine {
        time,
        source,
        message,
    })
}

/// Returns the timestamp at the start of a line, and the rest.
fn split_time(line: &str) -> Option<(&str, &str)> {
    if let Some((seconds, rest)) = line.strip_prefix('[').and_then(|line| line.split_once(']')) {
        let seconds = seconds.trim();
        let number = |c: char| c.is_ascii_digit() || c == '.';
        return (seconds.contains('.') && seconds.chars().all(number)).then_some((seconds, rest));
    }
    let (end, clock) = if MONTHS.iter().any(|month| line.starts_with(month)) {
        (line.get(..15)?.len(), line.get(7..15)?)
    } else if is_date(line.get(..10)?) && matches!(line.as_bytes().get(10), Some(b'T' | b' ')) {
        let behind = line.get(11..)?;
        let end = behind.find(' ').unwrap_or(behind.len());
        (11 + end, behind.get(..8)?)
    } else {
        return None;
    };
    is_clock(clock).then(|| (&line[..end], &line[end..]))
}

fn is_date(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    })
}

fn is_clock(text: &str) -> bool {
    text.bytes().enumerate().all(|(at, byte)| match at {
        2 | 5 => byte == b':',
        _ => byte.is_ascii_digit(),
    })
}

/// Returns true if a message contains one of these words without a negation before it.
fn mentions(message: &str, words: &[&str]) -> bool {
    let split = |c: char| !c.is_ascii_alphanumeric() && c != '_';
    let mut before = "";
    for word in message.split(split).filter(|word| !word.is_empty()) {
        let known = words.iter().any(|known| word.eq_ignore_ascii_case(known));
        if known && !["no", "0", "without", "not"].contains(&before.to_ascii_lowercase().as_str()) {
            return true;
        }
        before = word;
    }
    false
}
