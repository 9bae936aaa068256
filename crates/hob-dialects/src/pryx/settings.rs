//! The settings of Pryx's dialect.

use hob_gateway::settings::{check_optional_address, non_empty};
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use std::borrow::Cow;
use std::path::Path;

/// The variable with which Pryx's launcher opens the listener.
pub(crate) const LISTEN_VARIABLE: &str = "PRYX_LISTEN_ADDR";
/// The setting that lets clients answer questions.
pub(crate) const APPROVALS: &str = "dialect.pryx.approvals";

pub(crate) const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "listen.pryx",
        SettingKind::Checked {
            expects: "a loopback address such as 127.0.0.1:3000, a port such as :3000, or nothing",
            check: check_place,
        },
        "",
        "An HTTP and WebSocket listener for Pryx's TUI, host and scripts, which can send no token. Setting it is the grant: any program of your user may then talk with the agent, read and delete sessions, and change jobs. A port without a host, such as ':0', is on 127.0.0.1.",
    )
    .alias(LISTEN_VARIABLE),
    SettingKey::new(
        "dialect.pryx.workspace",
        SettingKind::Checked {
            expects: "an absolute path, or nothing",
            check: check_folder,
        },
        "",
        "The folder in which the tools of Pryx's clients work. Without it their runs open no file, and commands change nothing.",
    )
    .alias("PRYX_WORKSPACE_ROOT")
    .live(),
    SettingKey::new(
        APPROVALS,
        SettingKind::Bool,
        "false",
        "Lets programs on Pryx's listener answer the questions of runs, as its TUI does. Each answer counts once. Any program of your user can then say yes to what a model wants to do; without it, questions are only shown there.",
    )
    .live(),
];

/// The address of the listener, if it is enabled.
pub(crate) fn address(settings: &Settings) -> Option<String> {
    let place = non_empty(settings, "listen.pryx")?;
    Some(with_host(&place).into_owned())
}

/// Returns true if clients may answer questions.
pub(crate) fn may_answer(settings: &Settings) -> bool {
    settings.bool(APPROVALS)
}

/// The folder in which tools work, if there is one.
pub(crate) fn workspace(settings: &Settings) -> Option<String> {
    non_empty(settings, "dialect.pryx.workspace")
}

/// Adds the loopback address to a port without a host.
fn with_host(place: &str) -> Cow<'_, str> {
    match place.strip_prefix(':') {
        Some(port) if port.parse::<u16>().is_ok() => Cow::Owned(format!("127.0.0.1:{port}")),
        _ => Cow::Borrowed(place),
    }
}

fn check_folder(path: &str) -> Result<(), String> {
    if path.is_empty() || Path::new(path).is_absolute() {
        return Ok(());
    }
    Err(format!("'{path}' is not an absolute path"))
}

fn check_place(place: &str) -> Result<(), String> {
    check_optional_address(&with_host(place))
}
