//! Reads the folder `.agentloop`: its environment file and its prompt files. AgentLoop keeps no
//! sessions, and its keys are in no file.

use crate::import_builder::PlanBuilder;
use crate::import_folder::{SourceFileError, SourceFolder};
use crate::import_formats::parse_env_lines;
use crate::import_notes::{read_settings_file, skip_present, skip_unknown};
use crate::importer::{Importer, SourcePlace};
use serde_json::json;

pub(crate) const IMPORTER: Importer = Importer {
    places: &[
        SourcePlace::WorkingFolder(".agentloop"),
        SourcePlace::Home(".agentloop"),
    ],
    advice: "name its .agentloop folder, which is in the folder of its program",
    ..Importer::new("agentloop", "AgentLoop", read)
};

const FILE_BYTES_MAX: u64 = 256 * 1024;
const WORKSPACE_REASON: &str =
    "hob reads AGENTS.md of the folder in which it works; put the text there";
const PACK_REASON: &str =
    "hob has its own packs for AgentLoop's clients, and no other named agents";

const KNOWN: &[&str] = &[
    "env",
    "agents",
    "workspace.md",
    "workspace.local.md",
    "run",
    "cache",
    "logs",
    "models",
    "tmp",
];

/// Variables of its address, which only matter to its own clients.
const ADDRESS: &[&str] = &["AGENTLOOP_HOST", "AGENTLOOP_PORT"];

fn read(folder: &SourceFolder, builder: &mut PlanBuilder) {
    if let Some(text) = read_settings_file(folder, "env", FILE_BYTES_MAX, builder) {
        read_env(&text, builder);
    }
    match folder.list("agents") {
        Ok(listing) => {
            for entry in listing.entries {
                builder.skip(format!("agents/{}", entry.name), PACK_REASON);
            }
        }
        Err(SourceFileError::Missing) => {}
        Err(error) => builder.skip("agents", error.reason()),
    }
    skip_present(
        folder,
        &[
            ("workspace.md", WORKSPACE_REASON),
            ("workspace.local.md", WORKSPACE_REASON),
        ],
        builder,
    );
    builder.skip("sessions", "AgentLoop keeps none on disk");
    skip_unknown(folder, KNOWN, builder);
}

fn read_env(text: &str, builder: &mut PlanBuilder) {
    let settings = parse_env_lines(text);
    if let Some(lines) = settings.unread() {
        builder.skip(format!("env: lines {lines}"), "they are not understood");
    }
    for name in settings.values.keys() {
        let what = format!("env: {name}");
        let value = settings.text(name);
        match name.as_str() {
            "AGENTLOOP_MLX_URL" if value.and_then(server_address).is_some() => {}
            "AGENTLOOP_SYSTEM_PROMPT" => {
                if let Some(value) = value {
                    builder.set_persona("env, AGENTLOOP_SYSTEM_PROMPT", value.to_owned());
                }
            }
            name if ADDRESS.contains(&name) => {
                let reason = "opening an address for its clients is a grant: hob config set listen.agentloop 127.0.0.1:7777";
                builder.skip(what, reason);
            }
            "AGENTLOOP_HF_TOKEN" | "HF_TOKEN" => {
                builder.skip(what, "it is no key of a model provider");
            }
            name => match name.strip_suffix("_API_KEY") {
                Some(provider) if !provider.is_empty() => {
                    let key = value.unwrap_or_default();
                    builder.add_key(provider, key, &what);
                }
                _ => builder.skip(what, "hob has no such setting"),
            },
        }
    }
    let server = settings.text("AGENTLOOP_MLX_URL").and_then(server_address);
    if let Some(address) = server {
        builder.add_setting("llm.servers", json!([address]));
    }
}

/// `HOST:PORT` of an address on this machine.
fn server_address(url: &str) -> Option<String> {
    let rest = url.strip_prefix("http://").unwrap_or(url);
    let address = rest.split('/').next()?;
    let (host, port) = address.rsplit_once(':')?;
    port.parse::<u16>().ok()?;
    matches!(host, "127.0.0.1" | "localhost" | "[::1]").then(|| address.to_owned())
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;
