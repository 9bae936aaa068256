//! Stored rules as a person reads them, and the command line that would store one. Pure.

use super::table::Table;
use super::words::{one_line, wrap};
use super::{Screen, Tone, damaged, moment, runs};
use crate::tree::text::quoted;
use hob_core::permission::rule_note;
use hob_core::visible_text::deceives;
use hob_wire::rooms::permission::{Mode, Reach, Rule, Rules, Terms};
use std::fmt::Write;

/// Letters of an id that a list shows at least; as many more as tell its rules apart.
const ID_LETTERS_MIN: usize = 8;

/// A page of rules below the mode that covers the rest.
pub fn list(page: &Rules, screen: &Screen) -> Vec<String> {
    let mut out = vec![mode(page.mode)];
    out.extend(damaged::lines(&page.damaged, screen));
    if page.rules.is_empty() {
        out.push("No rules are stored. Store one: hob permission add --help".to_owned());
        return out;
    }
    let ids: Vec<&str> = page.rules.iter().map(|rule| rule.id.as_str()).collect();
    let letters = telling_letters(&ids);
    let mut table = Table::new()
        .column("RULE")
        .column("SAYS")
        .column("CALLS")
        .column("WHERE")
        .column("EXPIRES");
    for rule in &page.rules {
        table.row(vec![
            one_line(&rule.id).chars().take(letters).collect(),
            rule.terms.decision.name().to_owned(),
            calls(&rule.terms),
            reach(&rule.terms),
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
            out.push(screen.paint(Tone::Warning, &line));
        }
    }
    if page.more
        && let Some(last) = page.rules.last()
    {
        let more = format!("More: hob permission list --after {}", one_line(&last.id));
        out.push(screen.paint(Tone::Quiet, &more));
    }
    out
}

/// What was stored, and how it is taken away.
pub fn added(rule: &Rule, screen: &Screen) -> Vec<String> {
    let id = one_line(&rule.id);
    let line = format!("Stored {id}: {}.", sentence(rule, screen));
    let away = format!("Take it away with: hob permission remove {id}");
    let mut out = vec![screen.paint(Tone::Good, &line)];
    out.extend(rule_note(&rule.terms).map(|note| screen.paint(Tone::Warning, &note)));
    out.push(screen.paint(Tone::Quiet, &away));
    out
}

pub fn removed(rule: &Rule, screen: &Screen) -> Vec<String> {
    let line = format!(
        "Removed {}: {}.",
        one_line(&rule.id),
        sentence(rule, screen)
    );
    vec![screen.paint(Tone::Good, &line)]
}

/// A whole rule: `allow write in folder /work, until 2026-11-22 21:37`.
fn sentence(rule: &Rule, screen: &Screen) -> String {
    let terms = &rule.terms;
    let mut out = format!("{} {}", terms.decision.name(), calls(terms));
    out.push_str(match terms.scope {
        Reach::Always => ", ",
        Reach::Once | Reach::Run | Reach::Session | Reach::Folder => " in ",
    });
    out.push_str(&reach(terms));
    if let Some(at) = rule.expires_at {
        out.push_str(", until ");
        out.push_str(&moment::short(at, screen));
    }
    out
}

/// Which calls a rule is about, without where: `exec command='cargo test'`.
pub fn calls(terms: &Terms) -> String {
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
    // A folder's own path says nothing more than the folder does.
    let path = terms.path.as_deref();
    let path = path.filter(|path| terms.folder.as_deref() != Some(*path));
    words.extend(path.map(|path| format!("below {}", one_line(path))));
    words.extend(terms.host.as_deref().map(|host| match host {
        "*" => "at any host".to_owned(),
        host => format!("at {}", one_line(host)),
    }));
    let sessions = terms.sessions.as_deref().map(one_line);
    words.extend(sessions.map(|keys| format!("in {keys}")));
    let kind = terms.kind.as_deref().map(one_line);
    words.extend(kind.map(|kind| format!("of {kind} sessions")));
    let channel = terms.channel.as_deref().map(one_line);
    words.extend(channel.map(|channel| format!("by {channel}")));
    words.join(" ")
}

/// How far a rule reaches: `session chat:main`.
pub fn reach(terms: &Terms) -> String {
    let named = |what: &str, name: Option<String>| match name {
        Some(name) => format!("{what} {}", one_line(&name)),
        None => what.to_owned(),
    };
    match terms.scope {
        Reach::Once => "this call".to_owned(),
        Reach::Run => named("run", terms.run_id.map(runs::short_id)),
        Reach::Session => named("session", terms.session_key.clone()),
        Reach::Folder => named("folder", terms.folder.clone()),
        Reach::Always => "always".to_owned(),
    }
}

/// The command that stores this rule, as a shell takes it.
pub fn add_line(terms: &Terms) -> String {
    add_words(terms).join(" ")
}

/// The same in pieces, a flag with its value each.
pub fn add_words(terms: &Terms) -> Vec<String> {
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
        // A value that begins with a dash would be read as a flag of its own.
        let glue = if value.starts_with('-') { '=' } else { ' ' };
        format!("--{flag}{glue}{}", shell_word(&value))
    });
    ["hob permission add".to_owned()]
        .into_iter()
        .chain(flags)
        .collect()
}

/// A value as a shell takes it, whatever is in it; what would not show is spelt out.
fn shell_word(value: &str) -> String {
    if !deceives(value) {
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

fn mode(mode: Mode) -> String {
    let words = match mode {
        Mode::ReadOnly => {
            "Mode read-only: looking inside the workspace is allowed, all else denied."
        }
        Mode::Ask => "Mode ask: looking inside the workspace is allowed, all else asked.",
        Mode::Workspace => {
            "Mode workspace: changes and sandboxed commands inside the workspace are allowed."
        }
        Mode::Full => "Mode full: everything is allowed but what a rule denies or asks for.",
    };
    words.to_owned()
}

fn expires(rule: &Rule, screen: &Screen) -> String {
    match rule.expires_at {
        None => "never".to_owned(),
        Some(at) if at <= screen.now_ms => "expired".to_owned(),
        Some(at) => moment::short(at, screen),
    }
}

/// As many letters as tell these ids apart.
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
