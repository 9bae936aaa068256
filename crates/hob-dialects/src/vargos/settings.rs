//! The settings of Vargos's dialect.

use hob_gateway::settings::{check_optional_address, non_empty};
use hob_kit::settings::{SettingKey, SettingKind, SettingValue, Settings};
use std::path::Path;

const WORKSPACE: &str = "dialect.vargos.workspace";
/// The folders that any token may read.
const SHARED_WORKSPACES: &str = "agent.workspaces";

pub(crate) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.vargos",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:9000, or nothing",
            check: check_optional_address,
        },
        "",
        "A second WebSocket listener for Vargos clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then call methods of scope control and register services.",
    ),
    SettingKey::new(
        WORKSPACE,
        SettingKind::Checked {
            expects: "the absolute path of a folder, or nothing",
            check: check_optional_folder,
        },
        "",
        "The working folder of Vargos clients that name none, for their runs and tool calls; the first of `agent.workspaces` when empty.",
    )
    .live(),
];

/// The address of the opt-in listener, if it is enabled.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    non_empty(settings, "listen.vargos")
}

/// The working folder of clients that name none.
pub(crate) fn workspace(settings: &Settings) -> Option<String> {
    // The key of another crate, which is missing where that crate is.
    let shared = || match &settings.entry(SHARED_WORKSPACES)?.value {
        SettingValue::List(folders) => folders.first().cloned(),
        _ => None,
    };
    non_empty(settings, WORKSPACE).or_else(shared)
}

fn check_optional_folder(text: &str) -> Result<(), String> {
    if text.is_empty() || Path::new(text).is_absolute() {
        return Ok(());
    }
    Err(format!("'{text}' is not an absolute path"))
}
