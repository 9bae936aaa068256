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
    )
    .with_folder("dialect.agentloop.workspace"),
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
    SettingKey::new(
        "dialect.agentloop.workspace",
        SettingKind::Checked {
            expects: "the whole path of a folder, or nothing",
            check: check_optional_folder,
        },
        "",
        "The folder in which the sessions of AgentLoop's clients work, and whose .agentloop/agents they have; none when empty, and then their file tools open nothing. `hob config set listen.agentloop` sets it to the folder that it is run in, unless it is set already.",
    )
    .live(),
    SettingKey::new(
        "dialect.agentloop.speech",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:8880, or nothing",
            check: check_optional_address,
        },
        "127.0.0.1:8880",
        "Where AgentLoop's clients look for their speech server. While its listener is open, hob answers POST /tts here too; another program that is there is left alone.",
    ),
];

/// The address of the opt-in listener, if it is enabled.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    let port = || {
        let port = non_empty(settings, "listen.agentloop_port")?;
        Some(format!("{}:{port}", settings.text("listen.agentloop_host")))
    };
    non_empty(settings, "listen.agentloop").or_else(port)
}

/// The address of the speech listener; none without AgentLoop's own.
pub(crate) fn speech_address(settings: &Settings) -> Option<String> {
    address(settings)?;
    non_empty(settings, "dialect.agentloop.speech")
}

/// The folder in which runs of its clients work.
pub(crate) fn workspace(settings: &Settings) -> Option<String> {
    non_empty(settings, "dialect.agentloop.workspace")
}

/// The file in which clients look up the listener.
pub(crate) fn state_file(settings: &Settings, home: &Home) -> PathBuf {
    match non_empty(settings, "listen.agentloop_state_file") {
        Some(path) => PathBuf::from(path),
        None => home.run().join("agentloop.json"),
    }
}

fn check_optional_folder(text: &str) -> Result<(), String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(());
    }
    Err(format!(
        "'{text}' is not a whole path, which begins with '/'"
    ))
}

fn check_optional_port(text: &str) -> Result<(), String> {
    if text.is_empty() || text.parse::<u16>().is_ok() {
        return Ok(());
    }
    Err(format!("'{text}' is no port"))
}
