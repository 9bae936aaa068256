//! `config.schema`: every declared setting with its kind, default, value and source.

use super::wire_origin;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_wire::rooms::config::{
    ConfigInstance, ConfigKeySchema, ConfigOrigin, ConfigSchemaResult, SettingKindSchema,
};

/// Describes the declared settings below `prefix`; all with an empty one.
pub(super) fn describe(
    configured: &Settings,
    effective: &Settings,
    prefix: &str,
) -> ConfigSchemaResult {
    let below = format!("{prefix}.");
    let wanted =
        |key: &&SettingKey| prefix.is_empty() || key.path == prefix || key.path.starts_with(&below);
    let keys = configured.catalog().keys().filter(wanted);
    let mut settings: Vec<ConfigKeySchema> = keys
        .map(|key| describe_key(configured, effective, key))
        .collect();
    settings.sort_by(|one, other| one.key.cmp(&other.key));
    ConfigSchemaResult { settings }
}

fn describe_key(configured: &Settings, effective: &Settings, key: &SettingKey) -> ConfigKeySchema {
    let now = effective.entry(key.path);
    let of_file = configured.entry(key.path);
    let pending = of_file
        .filter(|of_file| now.is_some_and(|now| now.value != of_file.value))
        .map(|of_file| of_file.value.to_json());
    let instances = configured
        .entries()
        .filter(|(path, _)| key.is_pattern() && is_instance(configured, key, path))
        .map(|(path, entry)| ConfigInstance {
            key: path.to_owned(),
            value: entry.value.to_json(),
            origin: wire_origin(entry.origin),
        });
    ConfigKeySchema {
        key: key.path.to_owned(),
        kind: kind_of(key.kind),
        default: key.default_value().map(|value| value.to_json()),
        value: now.map(|now| now.value.to_json()),
        pending,
        origin: of_file.map_or(ConfigOrigin::Default, |entry| wire_origin(entry.origin)),
        instances: instances.collect(),
        live: key.live,
        settable: key.over_wire,
        variable: key.variable(),
        about: key.doc.to_owned(),
    }
}

fn is_instance(settings: &Settings, key: &SettingKey, path: &str) -> bool {
    let declared = settings.catalog().find(path);
    declared.is_some_and(|declared| declared.path == key.path)
}

fn kind_of(kind: SettingKind) -> SettingKindSchema {
    match kind {
        SettingKind::Bool => SettingKindSchema::Bool,
        SettingKind::Integer { min, max } => SettingKindSchema::Integer { min, max },
        SettingKind::Duration { min_ms, max_ms } => SettingKindSchema::Duration { min_ms, max_ms },
        SettingKind::Choice(words) => SettingKindSchema::Choice {
            choices: words.iter().map(|word| (*word).to_owned()).collect(),
        },
        SettingKind::Text => SettingKindSchema::Text { expects: None },
        SettingKind::Checked { expects, .. } => SettingKindSchema::Text {
            expects: Some(expects.to_owned()),
        },
        SettingKind::List => SettingKindSchema::List,
    }
}
