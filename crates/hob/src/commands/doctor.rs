//! `hob doctor`: what is well, what is not, and how to fix it. Leaves nothing running, changes nothing.

use crate::context::Context;
use crate::doctor::{self, Finding, Level};
use crate::failure::{Exit, Failure};
use crate::render::words::{count, pad, wrap};
use crate::render::{Screen, Tone};
use crate::tree::text;
use clap::{ArgMatches, Command};
use serde_json::json;

/// Columns before a finding's text.
const INDENT: usize = 10;

pub fn command() -> Command {
    Command::new("doctor")
        .about("Looks for what is broken, and says how to fix it")
        .long_about(
            "Looks at the home and its permissions, disk space, config, sandbox, lock, daemon, \
             socket, port, store, services, loops, jobs and what a local model needs. Changes nothing and leaves nothing running; exits with 1 when something is broken.",
        )
        .after_help(text::examples(&[
            "hob doctor".to_owned(),
            "hob doctor --json".to_owned(),
        ]))
}

pub async fn run(context: &Context, _: &ArgMatches) -> Result<(), Failure> {
    let findings = doctor::examine(context).await;
    let broken = findings
        .iter()
        .filter(|finding| finding.level == Level::Broken)
        .count();
    let terminal = &context.terminal;
    if terminal.json {
        terminal.document(&json!({ "findings": findings, "broken": broken }))?;
    } else {
        terminal.lines(lines(&findings, terminal.screen()))?;
    }
    if broken > 0 {
        return Err(Failure::quiet(Exit::Failed));
    }
    Ok(())
}

pub fn lines(findings: &[Finding], screen: &Screen) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in findings {
        let (word, tone) = match finding.level {
            Level::Well => ("ok", Tone::Good),
            Level::Note => ("note", Tone::Quiet),
            Level::Warning => ("warning", Tone::Warning),
            Level::Broken => ("BROKEN", Tone::Bad),
        };
        let mark = screen.paint(tone, &pad(word, INDENT - 2));
        let said = format!("{}: {}", finding.check, finding.message);
        lines.extend(block(&mark, &said, screen));
        if let Some(fix) = &finding.fix {
            let mark = pad("", INDENT - 2);
            lines.extend(block(&mark, &format!("→ {fix}"), screen));
        }
    }
    lines.push(String::new());
    lines.push(verdict(findings));
    lines
}

/// A mark and the text beside it, wrapped under itself.
fn block(mark: &str, text: &str, screen: &Screen) -> Vec<String> {
    let wrapped = match screen.width {
        Some(width) => wrap(text, width.saturating_sub(INDENT).max(20)),
        None => vec![text.to_owned()],
    };
    let below = " ".repeat(INDENT - 2);
    let marks = std::iter::once(mark.to_owned()).chain(std::iter::repeat(below));
    let lines = wrapped.into_iter().zip(marks);
    lines
        .map(|(line, mark)| format!("{mark}  {line}"))
        .collect()
}

fn verdict(findings: &[Finding]) -> String {
    let of = |level: Level| {
        let found = findings
            .iter()
            .filter(|finding| finding.level == level)
            .count();
        u64::try_from(found).unwrap_or(u64::MAX)
    };
    match (of(Level::Broken), of(Level::Warning)) {
        (0, 0) => "All is well.".to_owned(),
        (0, warnings) => format!("It works, with {}.", count(warnings, "warning")),
        (1, _) => "1 thing is broken.".to_owned(),
        (broken, _) => format!("{broken} things are broken."),
    }
}
