//! Reads the folder of Archy's program: its `.env` and `.api` files. Its conversations are not kept,
//! and its learned memories have no place in hob.

use super::settings::KEYS;
use crate::import_builder::PlanBuilder;
use crate::import_folder::{SourceEntryKind, SourceFolder};
use crate::import_formats::parse_env_lines;
use crate::import_notes::{NO_MEMORY, read_settings_file};
use crate::importer::Importer;
use hob_kit::settings::SettingKey;
use serde_json::json;
use std::collections::BTreeMap;

pub(crate) const IMPORTER: Importer = Importer {
    advice: "name the folder of its program, which holds its .env",
    ..Importer::new("archy", "Archy", read)
};

/// The files of settings; the earlier one wins, as in Archy.
const FILES: [&str; 2] = [".env", ".api"];
const FILE_BYTES_MAX: u64 = 64 * 1024;
/// Endings of databases, which hold what it learned.
const DATABASES: [&str; 3] = [".db", ".sqlite", ".sqlite3"];
/// The provider when none is named.
const PROVIDER: &str = "gemini";
/// Variables that are read together with others.
const MODEL_VARIABLES: [&str; 4] = ["AI_PROVIDER", "AI_API_KEY", "AI_MODEL", "GEMINI_MODEL"];
/// Variables with another address of a provider, and the provider.
const HOSTS: [(&str, &str); 4] = [
    ("GEMINI_HOST", "gemini"),
    ("OPENAI_HOST", "openai"),
    ("ANTHROPIC_HOST", "anthropic"),
    ("LOCAL_AI_HOST", "local"),
];

fn read(folder: &SourceFolder, builder: &mut PlanBuilder) {
    let mut variables = BTreeMap::new();
    for name in FILES {
        let Some(text) = read_settings_file(folder, name, FILE_BYTES_MAX, builder) else {
            continue;
        };
        let settings = parse_env_lines(&text);
        if let Some(lines) = settings.unread() {
            builder.skip(format!("{name}: lines {lines}"), "they are not understood");
        }
        for (variable, value) in settings.values {
            if !value.trim().is_empty() {
                let variable = variables.entry(variable);
                variable.or_insert_with(|| (value.trim().to_owned(), name));
            }
        }
    }
    read_variables(&variables, builder);
    skip_databases(folder, builder);
    builder.skip("conversations", "Archy keeps none on disk");
}

/// A variable's value, and its file.
type Variables = BTreeMap<String, (String, &'static str)>;

fn read_variables(variables: &Variables, builder: &mut PlanBuilder) {
    let text = |name: &str| variables.get(name).map(|(value, _)| value.as_str());
    let has_own_host = |provider: &str| {
        let mut hosts = HOSTS.iter().filter(|(_, of)| *of == provider);
        hosts.any(|(variable, _)| text(variable).is_some())
    };
    let provider = text("AI_PROVIDER").unwrap_or(PROVIDER).to_ascii_lowercase();
    for (name, (value, file)) in variables {
        let what = format!("{file}: {name}");
        let of = match name.as_str() {
            "AI_API_KEY" => Some(provider.clone()),
            name => name.strip_suffix("_API_KEY").map(str::to_ascii_lowercase),
        };
        if let Some(of) = of {
            if has_own_host(&of) {
                // A key must not go to another server than the one it was meant for.
                let reason = format!(
                    "its provider has an address of its own; add it with hob model add {of}"
                );
                builder.skip(what, reason);
            } else {
                builder.add_key(&of, value, &what);
            }
            continue;
        }
        if MODEL_VARIABLES.contains(&name.as_str()) {
            continue;
        }
        match KEYS.iter().find(|key| key.alias == Some(name.as_str())) {
            Some(key) => add_setting(key, &what, value, builder),
            None => builder.skip(what, "hob has no such setting"),
        }
    }
    let model = text("AI_MODEL").or_else(|| text("GEMINI_MODEL").filter(|_| provider == PROVIDER));
    match model {
        Some(model) if has_own_host(&provider) || provider == "local" => {
            let reason = "its provider has an address of its own; add it with hob model add";
            builder.skip(format!("the model {model}"), reason);
        }
        Some(model) => builder.set_default_model(&provider, model),
        None => {}
    }
}

/// Adds a setting of this dialect, by the variable that hob has for it too.
fn add_setting(key: &SettingKey, what: &str, value: &str, builder: &mut PlanBuilder) {
    if key.path.starts_with("listen.") {
        let reason = format!("opening it is a grant: hob config set {} {value}", key.path);
        return builder.skip(what, reason);
    }
    if !key.over_wire {
        let reason = format!("only a person sets it: hob config set {} {value}", key.path);
        return builder.skip(what, reason);
    }
    match key.kind.parse(value) {
        Ok(parsed) => builder.add_setting(key.path, json!(parsed.to_json())),
        Err(reason) => builder.skip(what, reason),
    }
}

fn skip_databases(folder: &SourceFolder, builder: &mut PlanBuilder) {
    let listing = match folder.list("") {
        Ok(listing) => listing,
        Err(error) => return builder.skip("the folder", error.reason()),
    };
    for entry in listing.entries {
        let is_database = DATABASES.iter().any(|ending| entry.name.ends_with(ending));
        if is_database && entry.kind == SourceEntryKind::File {
            builder.skip(entry.name, NO_MEMORY);
        }
    }
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
