//! The settings of Archy's dialect.

use crate::archy::types::{DEFAULT_SESSION, LOOK_MS_MIN, WAIT_SECONDS_MAX};
use hob_gateway::settings::non_empty;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_wire::limits;

/// Maximum letters of a terminal's name.
const SESSION_CHARS_MAX: usize = 64;

pub(crate) const KEYS: &[SettingKey] = &[
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
        "archy.session",
        SettingKind::Checked {
            expects: "the name of a terminal: letters, digits, '-' and '_'",
            check: check_session,
        },
        DEFAULT_SESSION,
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
        "16384",
        "Bytes of one request of an Archy client. The default holds one command of the greatest length; a batch of long commands needs more.",
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
            max: WAIT_SECONDS_MAX,
        },
        "600",
        "How long 'wait_for_prompt' and 'execute_analyzed' wait for an Archy client that does not say, in seconds; 'execute_and_wait' waits as long, but no more than 300.",
    )
    .alias("ARCHY_MAX_WAIT")
    .live(),
    SettingKey::new(
        "archy.poll_interval_ms",
        SettingKind::Integer {
            min: LOOK_MS_MIN,
            max: 60_000,
        },
        "500",
        "Milliseconds between two looks at a session of an Archy client whose shell is only starting. The end of a command is told by the shell and not looked for.",
    )
    .alias("ARCHY_POLL_INTERVAL")
    .live(),
];

/// The path of the opt-in listener's socket, if it is enabled.
pub(crate) fn socket(settings: &Settings) -> Option<String> {
    non_empty(settings, "listen.archy")
}

pub(crate) fn session(settings: &Settings) -> &str {
    settings.text("archy.session")
}

pub(crate) fn capture_lines(settings: &Settings) -> u64 {
    settings.u64("archy.capture_lines")
}

pub(crate) fn request_bytes(settings: &Settings) -> usize {
    settings.usize("archy.request_bytes")
}

/// The terminal program for windows of these clients, if the user chose one.
pub(crate) fn terminal(settings: &Settings) -> Option<String> {
    non_empty(settings, "archy.terminal")
}

pub(crate) fn max_wait_seconds(settings: &Settings) -> u64 {
    settings.u64("archy.max_wait_seconds")
}

pub(crate) fn poll_interval_ms(settings: &Settings) -> u64 {
    settings.u64("archy.poll_interval_ms")
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
