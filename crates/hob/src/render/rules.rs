//! Formats stored permission rules, and the command line that stores one. Pure.

use super::table::TextTable;
use super::text::{one_line, wrap};
use super::{ScreenStyle, TextTone, damaged_rows, runs, time};
use crate::tree::help_text::quoted;
use hob_core::permission::rule_note;
use hob_core::visible_text::needs_escaping;
use hob_wire::rooms::permission::{
    AnswerReach, PermissionListResult, PermissionMode, PermissionRule, RuleTerms,
};
use std::fmt::Write;

/// The least letters of an id in a list; more are shown if needed to tell rules apart.
const ID_LETTERS_MIN: usize = 8;

/// A page of rules, below the permission mode that applies to other calls.
pub fn list(page: &PermissionListResult, screen: &ScreenStyle) -> Vec<String> {
    let mut out = vec![mode(page.mode)];
    out.extend(damaged_rows::lines(&page.damaged, screen));
    if page.rules.is_empty() {
        out.push("No rules are stored. Store one: hob permission add --help".to_owned());
        return out;
    }
    let ids: Vec<&str> = page.rules.iter().map(|rule| rule.id.as_str()).collect();
    let letters = telling_letters(&ids);
    let mut table = TextTable::new()
        .column("RULE")
        .column("SAYS")
        .column("WHERE")
        .column("CALLS")
        .column("EXPIRES")
        .lesser();
    for rule in &page.rules {
        table.row(vec![
            one_line(&rule.id).chars().take(letters).collect(),
            rule.terms.decision.name().to_owned(),
            reach(&rule.terms),
            calls(&rule.terms),
            expires(rule, screen),
        ]);
    }
    out.push(String::new());
    out.extend(table.lines(screen));
    for rule in &page.rules {
        let Some(note) = page.notes.get(&rule.id) else {
            continue;
        };
        let id: String = one_line(&rule.id).chars().take(letters).collect();
        let columns = screen.width.unwrap_or(usize::MAX);
        for line in wrap(&format!("{id}: {}", one_line(note)), columns) {
            out.push(screen.paint(TextTone::Warning, &line));
        }
    }
    if page.more
        && let Some(last) = page.rules.last()
    {
        let more = format!("More: hob permission list --after {}", one_line(&last.id));
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out
}

/// The confirmation of a stored rule, with the command that removes it.
pub fn added(rule: &PermissionRule, screen: &ScreenStyle) -> Vec<String> {
    let id = one_line(&rule.id);
    let line = format!("Stored {id}: {}.", sentence(rule, screen));
    let away = format!("Remove it with: hob permission remove {id}");
    let mut out = vec![screen.paint(TextTone::Good, &line)];
    out.extend(rule_note(&rule.terms).map(|note| screen.paint(TextTone::Warning, &note)));
    out.push(screen.paint(TextTone::Quiet, &away));
    out
}

pub fn removed(rule: &PermissionRule, screen: &ScreenStyle) -> Vec<String> {
    let line = format!(
        "Removed {}: {}.",
        one_line(&rule.id),
        sentence(rule, screen)
    );
    vec![screen.paint(TextTone::Good, &line)]
}

/// A whole rule: `allow write in folder /work, until 2026-11-22 21:37`.
fn sentence(rule: &PermissionRule, screen: &ScreenStyle) -> String {
    let terms = &rule.terms;
    let mut out = format!("{} {}", terms.decision.name(), calls(terms));
    out.push_str(match terms.scope {
        AnswerReach::Always => ", ",
        AnswerReach::Once | AnswerReach::Run | AnswerReach::Session | AnswerReach::Folder => " in ",
    });
    out.push_str(&reach(terms));
    if let Some(at) = rule.expires_at {
        out.push_str(", until ");
        out.push_str(&time::short(at, screen));
    }
    out
}

/// The calls a rule covers, without its scope: `exec command='cargo test'`. What limits it to a
/// session or job comes first, where no narrow screen cuts it off: `in cron:tidy: write`.
pub fn calls(terms: &RuleTerms) -> String {
    let limits = limits(terms);
    if limits.is_empty() {
        return covered(terms);
    }
    format!("{}: {}", limits.join(" "), covered(terms))
}

/// The sessions and the channel that a rule is limited to.
fn limits(terms: &RuleTerms) -> Vec<String> {
    let sessions = terms.sessions.as_deref().map(one_line);
    let sessions = sessions.map(|keys| format!("in {keys}"));
    let kind = terms.kind.as_deref().map(one_line);
    let kind = kind.map(|kind| format!("of {kind} sessions"));
    let channel = terms.channel.as_deref().map(one_line);
    let channel = channel.map(|channel| format!("by {channel}"));
    [sessions, kind, channel].into_iter().flatten().collect()
}

fn covered(terms: &RuleTerms) -> String {
    let tool = match terms.tool.as_str() {
        "*" => "every tool".to_owned(),
        name => one_line(name),
    };
    let mut words = vec![tool];
    let matches = terms.matches.iter();
    words.extend(matches.map(|(name, pattern)| {
        let (name, pattern) = (one_line(name), quoted(&one_line(pattern)));
        format!("{name}={pattern}")
    }));
    // A path equal to the folder adds nothing.
    let path = terms.path.as_deref();
    let path = path.filter(|path| terms.folder.as_deref() != Some(*path));
    words.extend(path.map(|path| format!("below {}", one_line(path))));
    words.extend(terms.host.as_deref().map(|host| match host {
        "*" => "at any host".to_owned(),
        host => format!("at {}", one_line(host)),
    }));
    words.join(" ")
}

/// The scope of a rule: `session chat:main`.
pub fn reach(terms: &RuleTerms) -> String {
    let named = |what: &str, name: Option<String>| match name {
        Some(name) => format!("{what} {}", one_line(&name)),
        None => what.to_owned(),
    };
    match terms.scope {
        AnswerReach::Once => "this call".to_owned(),
        AnswerReach::Run => named("run", terms.run_id.map(runs::short_id)),
        AnswerReach::Session => named("session", terms.session_key.clone()),
        AnswerReach::Folder => named("folder", terms.folder.clone()),
        AnswerReach::Always => "always".to_owned(),
    }
}

/// The shell command that stores this rule.
pub fn add_line(terms: &RuleTerms) -> String {
    add_words(terms).join(" ")
}

/// The same command in pieces, each a flag with its value.
pub fn add_words(terms: &RuleTerms) -> Vec<String> {
    let mut flags: Vec<(&str, String)> = vec![("tool", terms.tool.clone())];
    let matches = terms.matches.iter();
    flags.extend(matches.map(|(name, pattern)| ("match", format!("{name}={pattern}"))));
    flags.extend(terms.path.clone().map(|path| ("path", path)));
    flags.extend(terms.host.clone().map(|host| ("host", host)));
    flags.push(("decision", terms.decision.name().to_owned()));
    flags.push(("scope", terms.scope.name().to_owned()));
    flags.extend(terms.session_key.clone().map(|key| ("session", key)));
    flags.extend(terms.run_id.map(|run| ("run", run.to_string())));
    flags.extend(terms.folder.clone().map(|folder| ("folder", folder)));
    flags.extend(terms.sessions.clone().map(|keys| ("sessions", keys)));
    flags.extend(terms.kind.clone().map(|kind| ("kind", kind)));
    flags.extend(terms.channel.clone().map(|channel| ("channel", channel)));
    let expires = terms.expires_ms.map(hob_kit::duration::format_ms);
    flags.extend(expires.map(|expires| ("expires", expires)));
    let flags = flags.into_iter().map(|(flag, value)| {
        // A value that begins with a dash would be parsed as a flag.
        let glue = if value.starts_with('-') { '=' } else { ' ' };
        format!("--{flag}{glue}{}", shell_word(&value))
    });
    ["hob permission add".to_owned()]
        .into_iter()
        .chain(flags)
        .collect()
}

/// Quotes a value for a shell; invisible characters are escaped.
fn shell_word(value: &str) -> String {
    if !needs_escaping(value) {
        return quoted(value);
    }
    let mut out = "$'".to_owned();
    for letter in value.chars() {
        match letter {
            '\'' | '\\' => out.extend(['\\', letter]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            // Writing to a string cannot fail.
            other if !other.is_ascii() || other.is_control() => {
                let code = u32::from(other);
                let _ = if code > 0xffff {
                    write!(out, "\\U{code:08x}")
                } else {
                    write!(out, "\\u{code:04x}")
                };
            }
            shown => out.push(shown),
        }
    }
    out.push('\'');
    out
}

fn mode(mode: PermissionMode) -> String {
    let words = match mode {
        PermissionMode::ReadOnly => {
            "Mode read-only: reading inside the workspace is allowed, everything else denied."
        }
        PermissionMode::Ask => {
            "Mode ask: reading inside the workspace is allowed, everything else asks."
        }
        PermissionMode::Workspace => {
            "Mode workspace: changes and sandboxed commands inside the workspace are allowed."
        }
        PermissionMode::Full => {
            "Mode full: everything is allowed but what a rule denies or asks for."
        }
    };
    words.to_owned()
}

fn expires(rule: &PermissionRule, screen: &ScreenStyle) -> String {
    match rule.expires_at {
        None => "never".to_owned(),
        Some(at) if at <= screen.now_ms => "expired".to_owned(),
        Some(at) => time::short(at, screen),
    }
}

/// The number of letters that tells these ids apart.
fn telling_letters(ids: &[&str]) -> usize {
    let longest = ids.iter().map(|id| id.chars().count()).max().unwrap_or(0);
    let tells = |letters: &usize| {
        let mut heads: Vec<String> = ids
            .iter()
            .map(|id| id.chars().take(*letters).collect())
            .collect();
        heads.sort_unstable();
        heads.windows(2).all(|pair| pair[0] != pair[1])
    };
    (ID_LETTERS_MIN..longest).find(tells).unwrap_or(longest)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
