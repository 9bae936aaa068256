//! The settings the gateway owns.

use crate::address;
use hob_kit::settings::{Key, Kind, Origin, Settings};
use hob_wire::limits;
use std::path::PathBuf;
use std::time::Duration;

pub const KEYS: &[Key] = &[
    Key::new(
        "listen.address",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:7717",
            check: check_address,
        },
        "127.0.0.1:7717",
        "Where the WebSocket and HTTP surfaces listen. Left unset, hob takes port 7717 if it is free and any other if not; an address set here must be free. Only loopback addresses are taken.",
    )
    .alias("PRYX_LISTEN_ADDR"),
    Key::new(
        "listen.vargos",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:9000, or nothing",
            check: check_optional_address,
        },
        "",
        "A second WebSocket listener for Vargos clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then call methods of scope control and register services.",
    ),
    Key::new(
        "listen.agentloop",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:7777, or nothing",
            check: check_optional_address,
        },
        "",
        "A WebSocket listener for AgentLoop's clients, which can send neither a token nor a path. Setting it is the grant: any program of your user may then talk with the agent, start and stop services, and name pictures by their paths.",
    ),
    Key::new(
        "listen.agentloop_host",
        Kind::Text,
        "127.0.0.1",
        "The host of AgentLoop's listener where only its port is set.",
    )
    .alias("AGENTLOOP_HOST"),
    Key::new(
        "listen.agentloop_port",
        Kind::Checked {
            expects: "a port such as 7777, or nothing",
            check: check_optional_port,
        },
        "",
        "The port of AgentLoop's listener, for people whose environment names it so already; 'listen.agentloop' beats it. Setting it is the same grant.",
    )
    .alias("AGENTLOOP_PORT"),
    Key::new(
        "listen.agentloop_state_file",
        Kind::Text,
        "",
        "Where AgentLoop's clients look for its listener; run/agentloop.json of the home when empty.",
    )
    .alias("AGENTLOOP_ENGINE_STATE_FILE"),
    Key::new(
        "listen.looprunner",
        Kind::Checked {
            expects: "a loopback address such as 127.0.0.1:3456, or nothing",
            check: check_optional_address,
        },
        "",
        "An HTTP listener for Loop Runner's clients, which can send no token. Setting it is the grant: any program of your user may then set, start and stop the loop 'default', its monitor command included, which runs in the sandbox.",
    ),
    Key::new(
        "gateway.ping_interval",
        Kind::Duration {
            min_ms: 100,
            max_ms: 3_600_000,
        },
        "30s",
        "Time between two pings on a WebSocket. A peer that has not answered the last one by then is closed. A stream of server-sent events that is silent shows a sign of life as often, and every 15 seconds at least.",
    )
    .live(),
    Key::new(
        "gateway.request_timeout",
        Kind::Duration {
            min_ms: 10,
            max_ms: 86_400_000,
        },
        "300s",
        "How long a service may stay silent before its caller gets TIMEOUT.",
    )
    .live(),
    Key::new(
        "gateway.max_connections",
        Kind::Integer {
            min: 1,
            max: limits::CONNECTIONS_MAX as u64,
        },
        "20000",
        "Connections at once, over all listeners.",
    ),
];

pub(crate) fn ping_interval(settings: &Settings) -> Duration {
    Duration::from_millis(settings.duration_ms("gateway.ping_interval"))
}

pub(crate) fn request_timeout_ms(settings: &Settings) -> u64 {
    settings.duration_ms("gateway.request_timeout")
}

pub(crate) fn connections_max(settings: &Settings) -> usize {
    settings.usize("gateway.max_connections")
}

/// The address of the first listener, and whether a person chose it.
pub(crate) fn listen_address(settings: &Settings) -> (&str, bool) {
    let chosen = settings
        .entry("listen.address")
        .is_some_and(|entry| entry.origin != Origin::Default);
    (settings.text("listen.address"), chosen)
}

/// The address of the listener for Vargos clients, if one was opened.
pub(crate) fn vargos_address(settings: &Settings) -> Option<String> {
    given(settings, "listen.vargos")
}

/// The address of the listener for Loop Runner's clients, if one was opened.
pub(crate) fn looprunner_address(settings: &Settings) -> Option<String> {
    given(settings, "listen.looprunner")
}

fn given(settings: &Settings, key: &str) -> Option<String> {
    let text = settings.text(key);
    (!text.is_empty()).then(|| text.to_owned())
}

/// The address of the listener for AgentLoop's clients, if one was opened.
pub(crate) fn agentloop_address(settings: &Settings) -> Option<String> {
    let whole = settings.text("listen.agentloop");
    let port = settings.text("listen.agentloop_port");
    match (whole, port) {
        ("", "") => None,
        ("", port) => Some(format!("{}:{port}", settings.text("listen.agentloop_host"))),
        (whole, _) => Some(whole.to_owned()),
    }
}

/// Where AgentLoop's clients look for the listener, if not in the home.
pub(crate) fn agentloop_state_file(settings: &Settings) -> Option<PathBuf> {
    let path = settings.text("listen.agentloop_state_file");
    (!path.is_empty()).then(|| PathBuf::from(path))
}

fn check_address(text: &str) -> Result<(), String> {
    address::parse(text).map(drop)
}

fn check_optional_address(text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Ok(());
    }
    check_address(text)
}

fn check_optional_port(text: &str) -> Result<(), String> {
    if text.is_empty() || text.parse::<u16>().is_ok() {
        return Ok(());
    }
    Err(format!("'{text}' is no port"))
}
