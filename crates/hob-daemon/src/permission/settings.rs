//! What a person may choose about permissions. Every key is live: a mode that is narrowed holds
//! for the next call.

use hob_core::permission::Ceilings;
use hob_kit::settings::{Key, Kind, Settings, Value};
use hob_wire::work::{Mode, Tier};
use std::collections::BTreeMap;

const TIERS: Kind = Kind::Choice(&["read", "write", "exec", "external"]);

pub const KEYS: &[Key] = &[
    Key::new(
        "permission.deadline",
        Kind::Duration {
            min_ms: 1_000,
            max_ms: 240_000,
        },
        "120s",
        "How long a question waits for an answer before it is denied. While a terminal shows it to a person it waits without end.",
    )
    .live(),
    Key::new(
        "permission.mode",
        Kind::Choice(&["read-only", "ask", "workspace", "full"]),
        "ask",
        "What happens to a tool call that no stored rule covers. 'read-only' allows looking inside the workspace and denies the rest; 'ask' asks for the rest; 'workspace' also allows changes and sandboxed commands inside the workspace; 'full' allows everything that no rule denies or asks for.",
    )
    .live(),
    Key::new(
        "permission.kinds.*",
        TIERS,
        "external",
        "The farthest that tools may reach in sessions of this kind, such as 'cron': read, write, exec or external. What lies beyond is denied without asking.",
    )
    .live(),
    Key::new(
        "permission.channels.*",
        TIERS,
        "read",
        "The farthest that tools may reach in runs whose task came by this channel, such as 'telegram'. A channel that is not named may only read.",
    )
    .live(),
];

pub(super) fn mode(settings: &Settings) -> Mode {
    match settings.text("permission.mode") {
        "read-only" => Mode::ReadOnly,
        "workspace" => Mode::Workspace,
        "full" => Mode::Full,
        _ => Mode::Ask,
    }
}

pub(super) fn ceilings(settings: &Settings) -> Ceilings {
    Ceilings {
        kinds: tiers(settings, "permission.kinds.*"),
        channels: tiers(settings, "permission.channels.*"),
    }
}

/// The tiers by the names that the pattern's `*` stands for.
fn tiers(settings: &Settings, pattern: &str) -> BTreeMap<String, Tier> {
    let start = pattern.trim_end_matches('*');
    let tier_of = |name: &String| {
        let bare = settings.entry(&format!("{start}{name}"));
        let entry = bare.or_else(|| settings.entry(&format!("{start}\"{name}\"")));
        match entry.map(|entry| &entry.value) {
            Some(Value::Text(word)) => tier(word),
            // A name that is written in yet another way is held to the least.
            _ => Tier::Read,
        }
    };
    let names = settings.names(pattern).into_iter();
    names.map(|name| (name.clone(), tier_of(&name))).collect()
}

/// A word that was checked when it was set; any other would be the narrowest.
fn tier(word: &str) -> Tier {
    match word {
        "external" => Tier::External,
        "exec" => Tier::Exec,
        "write" => Tier::Write,
        _ => Tier::Read,
    }
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
