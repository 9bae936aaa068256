//! The main help page: three commands to start with, then all commands grouped by task.
//!
//! Invariant: every visible command is on the page once; one that no group names is in the last.

use super::help_text::COLUMNS;
use crate::render::text::{pad, wrap};
use clap::Command;
use std::fmt::Write;

/// The commands to start with, and what each does. `hob` alone on a terminal names them too.
pub const FIRST_STEPS: [(&str, &str); 3] = [
    ("ask \"what time is it?\"", "ask a model"),
    ("chat", "talk with one, in this folder"),
    ("cron add --help", "have work done every morning"),
];

/// The groups by task. A command may be missing here, but not in the program's own list.
const GROUPS: &[(&str, &[&str])] = &[
    (
        "Ask and talk",
        &["onboard", "ask", "chat", "terminal", "say"],
    ),
    (
        "See what was done",
        &["run", "undo", "session", "cost", "events"],
    ),
    ("Let it work by itself", &["cron", "loop", "autostart"]),
    ("Choose models and services", &["model", "service", "tool"]),
    ("Decide what it may do", &["permission", "audit", "token"]),
    (
        "Look after hob",
        &[
            "status",
            "doctor",
            "config",
            "import",
            "up",
            "down",
            "restart",
            "logs",
            "verify",
            "daemon",
            "uninstall",
        ],
    ),
];
const LAST_GROUP: &str = "For programs and scripts";

/// The template of the main help page.
pub fn template(command: &Command) -> String {
    let mut text = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    let names = visible(command).map(|(name, _)| name.len());
    let widest = names.max().unwrap_or(0);
    let first = FIRST_STEPS.iter();
    let lines = first.map(|(line, what)| (format!("hob {line}"), (*what).to_owned()));
    section("Start here", &lines.collect::<Vec<_>>(), 0, &mut text);
    let is_in = |name: &str, group: &[&str]| group.contains(&name);
    for (heading, group) in GROUPS {
        let listed = group
            .iter()
            .filter_map(|wanted| visible(command).find(|(name, _)| name == wanted));
        section(heading, &listed.collect::<Vec<_>>(), widest, &mut text);
    }
    let rest =
        visible(command).filter(|(name, _)| !GROUPS.iter().any(|(_, group)| is_in(name, group)));
    section(LAST_GROUP, &rest.collect::<Vec<_>>(), widest, &mut text);
    text.push_str("\nOptions:\n{options}{after-help}");
    text
}

/// The commands that are not hidden, with their descriptions.
fn visible(command: &Command) -> impl Iterator<Item = (String, String)> + '_ {
    let shown = command.get_subcommands().filter(|sub| !sub.is_hide_set());
    shown.map(|sub| {
        let about = sub.get_about().map(ToString::to_string);
        (sub.get_name().to_owned(), about.unwrap_or_default())
    })
}

fn section(heading: &str, lines: &[(String, String)], widest: usize, text: &mut String) {
    if lines.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = write!(text, "\n{heading}:\n");
    let names = lines.iter().map(|(name, _)| name.len());
    let widest = names.max().unwrap_or(0).max(widest);
    for (name, about) in lines {
        let mut name = name.as_str();
        for line in wrap(about, COLUMNS.saturating_sub(widest + 4)) {
            let _ = writeln!(text, "  {}  {line}", pad(name, widest));
            name = "";
        }
    }
}

#[cfg(test)]
#[path = "command_groups_tests.rs"]
mod tests;
