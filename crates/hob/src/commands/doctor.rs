//! `hob doctor`: checks this machine and its hob home, and names a fix for each problem. Changes
//! nothing and leaves nothing running.

use crate::context::CommandContext;
use crate::doctor::{self, Finding, FindingLevel};
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{count_noun, pad, wrap};
use crate::render::{ScreenStyle, TextTone};
use crate::tree::help_text::examples;
use serde_json::json;

/// Columns before a finding's text.
const INDENT: usize = 10;

/// Looks for problems and says how to fix them.
///
/// Checks the home and its permissions, disk space, config, sandbox, lock, daemon, socket, port,
/// store, services, loops, jobs and what a local model needs. Changes nothing and leaves nothing
/// running; exits with 1 if something is broken.
#[derive(Debug, clap::Args)]
#[command(after_help = examples(&["hob doctor", "hob doctor --json"]))]
pub struct DoctorArgs;

pub async fn run(context: &CommandContext) -> Result<(), CommandFailure> {
    let findings = doctor::examine(context).await;
    let broken = findings
        .iter()
        .filter(|finding| finding.level == FindingLevel::Broken)
        .count();
    let terminal = &context.terminal;
    if terminal.json {
        terminal.document(&json!({ "findings": findings, "broken": broken }))?;
    } else {
        terminal.lines(lines(&findings, terminal.screen()))?;
    }
    if broken > 0 {
        return Err(CommandFailure::quiet(ExitStatus::Failed));
    }
    Ok(())
}

pub fn lines(findings: &[Finding], screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    for finding in findings {
        let (word, tone) = match finding.level {
            FindingLevel::Well => ("ok", TextTone::Good),
            FindingLevel::Note => ("note", TextTone::Quiet),
            FindingLevel::Warning => ("warning", TextTone::Warning),
            FindingLevel::Broken => ("BROKEN", TextTone::Bad),
        };
        let mark = screen.paint(tone, &pad(word, INDENT - 2));
        let text = format!("{}: {}", finding.check, finding.message);
        lines.extend(block(&mark, &text, screen));
        if let Some(fix) = &finding.fix {
            let mark = pad("", INDENT - 2);
            lines.extend(block(&mark, &format!("→ {fix}"), screen));
        }
    }
    lines.push(String::new());
    lines.push(verdict(findings));
    lines
}

/// A mark and the text beside it; wrapped lines are indented below the text.
fn block(mark: &str, text: &str, screen: &ScreenStyle) -> Vec<String> {
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
    let of = |level: FindingLevel| {
        let found = findings
            .iter()
            .filter(|finding| finding.level == level)
            .count();
        u64::try_from(found).unwrap_or(u64::MAX)
    };
    match (of(FindingLevel::Broken), of(FindingLevel::Warning)) {
        (0, 0) => "All is well.".to_owned(),
        (0, warnings) => format!("It works, with {}.", count_noun(warnings, "warning")),
        (1, _) => "1 thing is broken.".to_owned(),
        (broken, _) => format!("{broken} things are broken."),
    }
}
