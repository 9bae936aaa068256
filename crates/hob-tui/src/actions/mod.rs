//! The named actions: one table feeds keys, palette, slash commands, help and the manual.
//!
//! Invariants: every key that does something is in the table or in a keymap file; two actions never
//! share a key where both could act.

mod key;
mod keymap;
mod table;

pub use key::{Key, KeyCode};
pub use keymap::{Keymap, KeymapError};
pub use table::{ACTIONS, Action, ActionSpec, Context};

use std::fmt::Write;

/// The slash command that a line begins with, and what follows it.
pub fn parse_slash(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix('/')?;
    // A path is no command.
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    let is_name = !name.is_empty() && name.chars().all(|it| it.is_ascii_lowercase() || it == '-');
    is_name.then(|| (name, argument.trim()))
}

/// The action of a slash command.
pub fn slash_action(name: &str) -> Option<&'static ActionSpec> {
    let mut specs = ACTIONS.iter();
    specs.find(|spec| slash_name(spec) == Some(name))
}

/// The name of an action's slash command, without its argument.
pub fn slash_name(spec: &ActionSpec) -> Option<&'static str> {
    spec.slash.and_then(|slash| slash.split(' ').next())
}

/// The table as Markdown, for the manual.
pub fn manual(keymap: &Keymap) -> String {
    let mut out =
        String::from("| Action | What it does | Keys | Slash command |\n|---|---|---|---|\n");
    for spec in ACTIONS {
        let keys = keymap.keys_of(spec.action).iter();
        let keys: Vec<String> = keys.map(|key| format!("`{key}`")).collect();
        let slash = spec.slash.map_or_else(String::new, |it| format!("`/{it}`"));
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {slash} |",
            spec.name,
            spec.title,
            keys.join(" ")
        );
    }
    out
}

#[cfg(test)]
#[path = "../actions_tests.rs"]
mod tests;
