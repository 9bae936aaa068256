//! The config keys of terminals, and reading them.

use hob_exec::find_program;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::{SettingKey, SettingKind, Settings};
use hob_wire::rooms::terminal::TerminalCreateParams;
use std::ffi::OsStr;
use std::path::PathBuf;

pub(super) const COLUMNS: (u16, u16) = (20, 500);
pub(super) const ROWS: (u16, u16) = (5, 200);

pub const KEYS: &[SettingKey] = &[
    SettingKey::new(
        "terminal.shell",
        SettingKind::Text,
        "",
        "The shell of new terminals, such as /bin/zsh. When empty: $SHELL, else bash, else sh.",
    )
    .live()
    .not_over_wire(),
    SettingKey::new(
        "terminal.window",
        SettingKind::Text,
        "",
        "The program that opens terminal windows. It may have arguments; the command to show is appended. When empty, the first one found of: foot, kitty, alacritty, gnome-terminal, konsole, xfce4-terminal, terminator, xterm.",
    )
    .live()
    .not_over_wire(),
    SettingKey::new(
        "terminal.columns",
        SettingKind::Integer { min: 20, max: 500 },
        "120",
        "Columns of a new terminal, while no window is attached to it.",
    )
    .live(),
    SettingKey::new(
        "terminal.rows",
        SettingKind::Integer { min: 5, max: 200 },
        "30",
        "Rows of a new terminal, while no window is attached to it.",
    )
    .live(),
    SettingKey::new(
        "terminal.history_lines",
        SettingKind::Integer {
            min: 100,
            max: 50_000,
        },
        "10000",
        "Lines of history kept for each terminal.",
    ),
    SettingKey::new(
        "terminal.tmux",
        SettingKind::Text,
        "",
        "The tmux program that runs the terminals. When empty, the one in PATH.",
    )
    .not_over_wire(),
];

/// Finds the shell: the wanted one, else the setting, else `$SHELL`, bash or sh.
pub(super) fn shell(
    settings: &Settings,
    env: &EnvVars,
    wanted: Option<&str>,
) -> Result<PathBuf, String> {
    let setting = Some(settings.text("terminal.shell"));
    let named = wanted.or(setting.filter(|name| !name.is_empty()));
    if let Some(name) = named {
        let found = find_program(name, env);
        return found.ok_or_else(|| format!("There is no shell '{name}' on this machine."));
    }
    let own = env.os("SHELL").map(OsStr::to_owned);
    let candidates = own.into_iter().chain(["bash".into(), "sh".into()]);
    let mut found = candidates.filter_map(|name| find_program(&name, env));
    found
        .next()
        .ok_or_else(|| "No shell was found; name one with the setting terminal.shell.".to_owned())
}

/// Returns the size of a new terminal, if it is within the limits.
pub(super) fn size(
    settings: &Settings,
    params: &TerminalCreateParams,
) -> Result<(u16, u16), String> {
    let setting = |path: &str| u16::try_from(settings.u64(path)).unwrap_or(u16::MAX);
    let columns = params
        .columns
        .unwrap_or_else(|| setting("terminal.columns"));
    let rows = params.rows.unwrap_or_else(|| setting("terminal.rows"));
    let fits = |value: u16, (least, most): (u16, u16)| (least..=most).contains(&value);
    if !fits(columns, COLUMNS) || !fits(rows, ROWS) {
        return Err(format!(
            "A terminal has {} to {} columns and {} to {} rows, not {columns} and {rows}.",
            COLUMNS.0, COLUMNS.1, ROWS.0, ROWS.1
        ));
    }
    Ok((columns, rows))
}
