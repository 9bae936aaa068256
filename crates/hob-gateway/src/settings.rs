//! The gateway's configuration keys, and typed access to them.

use crate::address;
use hob_kit::settings::{SettingKey, SettingKind, SettingSource, Settings};
use hob_wire::{archy, limits};
use std::path::PathBuf;
use std::time::Duration;

/// Maximum letters of a terminal's name.
const SESSION_CHARS_MAX: usize = 64;

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.address",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:7717",
            check: check_address,
        },
        "127.0.0.1:7717",
        "Where the WebSocket and HTTP surfaces listen. Left unset, hob takes port 7717 if it is free and any other if not; an address set here must be free. Only loopback addresses are taken.",
    )
    .alias("PRYX_LISTEN_ADDR"),
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
    SettingKey::new(
        "listen.looprunner",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:3456, or nothing",
            check: check_optional_address,
        },
        "",
        "An HTTP listener for Loop Runner's clients, which can send no token. Setting it is the grant: any program of your user may then set, start and stop the loop 'default', its monitor command included, which runs in the sandbox.",
    ),
    SettingKey::new(
        "listen.archy",
        SettingKind::Checked {
            expects: "the whole path of a socket such as /tmp/archy.sock, or nothing",
            check: check_optional_path,
        },
        "",
        "A unix socket for Archy's clients, which can send no token. Setting it, here or by ARCHY_SOCKET, is the grant: any program of your user may then type into your terminals, read them, and open windows and applications. A dead socket of yours that is found there is replaced; anything else stays, and the listener is not opened.",
    )
    .alias("ARCHY_SOCKET"),
    SettingKey::new(
        "gateway.ping_interval",
        SettingKind::Duration {
            min_ms: 100,
            max_ms: 3_600_000,
        },
        "30s",
        "Time between two pings on a WebSocket. A peer that has not answered the last one by then is closed. A stream of server-sent events that is silent shows a sign of life as often, and every 15 seconds at least.",
    )
    .live(),
    SettingKey::new(
        "gateway.request_timeout",
        SettingKind::Duration {
            min_ms: 10,
            max_ms: 86_400_000,
        },
        "300s",
        "How long a service in another process may stay silent before its caller gets TIMEOUT. hob's own services end by their own budgets.",
    )
    .live(),
    SettingKey::new(
        "gateway.max_connections",
        SettingKind::Integer {
            min: 1,
            max: limits::CONNECTIONS_MAX as u64,
        },
        "20000",
        "Connections at once, over all listeners.",
    ),
    SettingKey::new(
        "archy.session",
        SettingKind::Checked {
            expects: "the name of a terminal: letters, digits, '-' and '_'",
            check: check_session,
        },
        archy::DEFAULT_SESSION,
        "The terminal that Archy's clients mean when they name no session.",
    )
    .alias("ARCHY_TMUX_SESSION")
    .live(),
    SettingKey::new(
        "archy.capture_lines",
        SettingKind::Integer {
            min: 1,
            max: limits::TERMINAL_CAPTURE_LINES_MAX as u64,
        },
        "100",
        "Lines of the past that 'capture' shows an Archy client that says no number.",
    )
    .alias("ARCHY_CAPTURE_LINES")
    .live(),
    SettingKey::new(
        "archy.request_bytes",
        SettingKind::Integer {
            min: 256,
            max: 1_048_576,
        },
        "8192",
        "Bytes of one request of an Archy client. A batch of long commands needs more than the default.",
    )
    .alias("ARCHY_BUFFER_SIZE")
    .live(),
    SettingKey::new(
        "archy.terminal",
        SettingKind::Text,
        "",
        "The program of windows that are opened for Archy's clients; that of 'terminal.window' when empty.",
    )
    .alias("ARCHY_TERMINAL")
    .not_over_wire(),
    SettingKey::new(
        "archy.max_wait_seconds",
        SettingKind::Integer {
            min: 1,
            max: archy::WAIT_SECONDS_MAX,
        },
        "600",
        "How long 'wait_for_prompt' and 'execute_analyzed' wait for an Archy client that does not say, in seconds; 'execute_and_wait' waits as long, but no more than 300.",
    )
    .alias("ARCHY_MAX_WAIT")
    .live(),
    SettingKey::new(
        "archy.poll_interval_ms",
        SettingKind::Integer {
            min: archy::LOOK_MS_MIN,
            max: 60_000,
        },
        "500",
        "Milliseconds between two looks at a session of an Archy client whose shell is only starting. The end of a command is told by the shell and not looked for.",
    )
    .alias("ARCHY_POLL_INTERVAL")
    .live(),
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

/// The address of the main listener, and true if the user chose it.
pub(crate) fn listen_address(settings: &Settings) -> (&str, bool) {
    let chosen = settings
        .entry("listen.address")
        .is_some_and(|entry| entry.origin != SettingSource::Default);
    (settings.text("listen.address"), chosen)
}

/// The address of the listener for Vargos clients, if it is enabled.
pub(crate) fn vargos_address(settings: &Settings) -> Option<String> {
    non_empty(settings, "listen.vargos")
}

/// The address of the listener for Loop Runner clients, if it is enabled.
pub(crate) fn looprunner_address(settings: &Settings) -> Option<String> {
    non_empty(settings, "listen.looprunner")
}

/// The socket for Archy clients, if it is enabled.
pub(crate) fn archy_socket(settings: &Settings) -> Option<PathBuf> {
    non_empty(settings, "listen.archy").map(PathBuf::from)
}

pub(crate) fn archy_session(settings: &Settings) -> &str {
    settings.text("archy.session")
}

pub(crate) fn archy_capture_lines(settings: &Settings) -> u64 {
    settings.u64("archy.capture_lines")
}

pub(crate) fn archy_request_bytes(settings: &Settings) -> usize {
    settings.usize("archy.request_bytes")
}

/// The terminal program for windows of Archy clients, if the user chose one.
pub(crate) fn archy_terminal(settings: &Settings) -> Option<&str> {
    Some(settings.text("archy.terminal")).filter(|program| !program.is_empty())
}

pub(crate) fn archy_max_wait_seconds(settings: &Settings) -> u64 {
    settings.u64("archy.max_wait_seconds")
}

pub(crate) fn archy_poll_interval_ms(settings: &Settings) -> u64 {
    settings.u64("archy.poll_interval_ms")
}

fn non_empty(settings: &Settings, key: &str) -> Option<String> {
    let text = settings.text(key);
    (!text.is_empty()).then(|| text.to_owned())
}

/// The address of the listener for AgentLoop clients, if it is enabled.
pub(crate) fn agentloop_address(settings: &Settings) -> Option<String> {
    let whole = settings.text("listen.agentloop");
    let port = settings.text("listen.agentloop_port");
    match (whole, port) {
        ("", "") => None,
        ("", port) => Some(format!("{}:{port}", settings.text("listen.agentloop_host"))),
        (whole, _) => Some(whole.to_owned()),
    }
}

/// The file in which AgentLoop clients look up the listener, if it is not the one in the home.
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

fn check_optional_path(text: &str) -> Result<(), String> {
    if text.is_empty() || text.starts_with('/') {
        return Ok(());
    }
    Err(format!(
        "'{text}' is not a whole path, which begins with '/'"
    ))
}

fn check_session(text: &str) -> Result<(), String> {
    let is_allowed = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    if (1..=SESSION_CHARS_MAX).contains(&text.len()) && text.chars().all(is_allowed) {
        return Ok(());
    }
    Err(format!("'{text}' is not the name of a terminal"))
}
