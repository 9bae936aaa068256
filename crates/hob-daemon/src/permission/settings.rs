//! Settings of permissions. Every key is live: a narrowed mode applies to the next call.

use hob_core::permission::TierCeilings;
use hob_kit::settings::{SettingKey, SettingKind, SettingValue, Settings};
use hob_wire::work::{PermissionMode, Tier};
use std::collections::BTreeMap;

const TIERS: SettingKind = SettingKind::Choice(&["read", "write", "exec", "external"]);

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "permission.deadline",
        SettingKind::Duration {
            min_ms: 1_000,
            max_ms: 240_000,
        },
        "120s",
        "How long a question waits for an answer before it is denied. While a terminal shows it to a person it waits without end.",
    )
    .live(),
    SettingKey::new(
        "permission.mode",
        SettingKind::Choice(&["read-only", "ask", "workspace", "full"]),
        "ask",
        "What happens to a tool call that no stored rule covers. 'read-only' allows looking inside the workspace and denies the rest; 'ask' asks for the rest; 'workspace' also allows changes and sandboxed commands inside the workspace; 'full' allows everything that no rule denies or asks for.",
    )
    .live(),
    SettingKey::new(
        "permission.kinds.*",
        TIERS,
        "external",
        "The farthest that tools may reach in sessions of this kind, such as 'cron': read, write, exec or external. What lies beyond is denied without asking.",
    )
    .live(),
    SettingKey::new(
        "permission.channels.*",
        TIERS,
        "read",
        "The farthest that tools may reach in runs whose task came by this channel, such as 'telegram'. A channel that is not named may only read.",
    )
    .live(),
];

pub(super) fn mode(settings: &Settings) -> PermissionMode {
    match settings.text("permission.mode") {
        "read-only" => PermissionMode::ReadOnly,
        "workspace" => PermissionMode::Workspace,
        "full" => PermissionMode::Full,
        _ => PermissionMode::Ask,
    }
}

pub(super) fn ceilings(settings: &Settings) -> TierCeilings {
    TierCeilings {
        kinds: tiers(settings, "permission.kinds.*"),
        channels: tiers(settings, "permission.channels.*"),
    }
}

/// The tiers by the name in place of the pattern's `*`.
fn tiers(settings: &Settings, pattern: &str) -> BTreeMap<String, Tier> {
    let start = pattern.trim_end_matches('*');
    let tier_of = |name: &String| {
        let bare = settings.entry(&format!("{start}{name}"));
        let entry = bare.or_else(|| settings.entry(&format!("{start}\"{name}\"")));
        match entry.map(|entry| &entry.value) {
            Some(SettingValue::Text(word)) => parse_tier(word),
            // A name quoted in another way gets the narrowest tier.
            _ => Tier::Read,
        }
    };
    let names = settings.names(pattern).into_iter();
    names.map(|name| (name.clone(), tier_of(&name))).collect()
}

/// Parses a tier. It was checked when it was set; anything else is the narrowest.
fn parse_tier(word: &str) -> Tier {
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
