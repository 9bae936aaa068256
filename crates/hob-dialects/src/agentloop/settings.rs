//! The settings of AgentLoop's dialect.

use hob_gateway::settings::{check_optional_address, non_empty};
use hob_kit::home::Home;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use std::path::PathBuf;

pub(crate) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.agentloop",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:7777, or nothing",
            check: check_optional_address,
        },
        "",
        "A WebSocket listener for AgentLoop's clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then talk with the agent, start and stop services, and name pictures by their paths.",
    ),
    SettingKey::new(
        "listen.agentloop_host",
        SettingKind::Text,
        "127.0.0.1",
        "The host of AgentLoop's listener where only its port is set.",
    )
    .alias("AGENTLOOP_HOST"),
    SettingKey::new(
        "listen.agentloop_port",
        SettingKind::Checked {
            expects: "a port such as 7777, or nothing",
            check: check_optional_port,
        },
        "",
        "The port of AgentLoop's listener, for people whose environment names it so already; 'listen.agentloop' beats it. Setting it is the same grant.",
    )
    .alias("AGENTLOOP_PORT"),
    SettingKey::new(
        "listen.agentloop_state_file",
        SettingKind::Text,
        "",
        "Where AgentLoop's clients look for its listener; run/agentloop.json of the home when empty.",
    )
    .alias("AGENTLOOP_ENGINE_STATE_FILE"),
];

/// The address of the opt-in listener, if it is enabled.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    let port = || {
        let port = non_empty(settings, "listen.agentloop_port")?;
        Some(format!("{}:{port}", settings.text("listen.agentloop_host")))
    };
    non_empty(settings, "listen.agentloop").or_else(port)
}

/// The file in which clients look up the listener.
pub(crate) fn state_file(settings: &Settings, home: &Home) -> PathBuf {
    match non_empty(settings, "listen.agentloop_state_file") {
        Some(path) => PathBuf::from(path),
        None => home.run().join("agentloop.json"),
    }
}

fn check_optional_port(text: &str) -> Result<(), String> {
    if text.is_empty() || text.parse::<u16>().is_ok() {
        return Ok(());
    }
    Err(format!("'{text}' is no port"))
}
