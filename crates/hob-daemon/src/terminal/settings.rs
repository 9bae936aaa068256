//! What a person may choose about terminals.

use hob_exec::look_up;
use hob_kit::settings::{Key, Kind, Settings};
use hob_kit::world::Env;
use hob_wire::rooms::terminal::CreateParams;
use std::ffi::OsStr;
use std::path::PathBuf;

pub(super) const COLUMNS: (u16, u16) = (20, 500);
pub(super) const ROWS: (u16, u16) = (5, 200);

pub const KEYS: &[Key] = &[
    Key::new(
        "terminal.shell",
        Kind::Text,
        "",
        "The shell of new terminals, such as /bin/zsh. When empty: your own ($SHELL), else bash, else sh.",
    )
    .live()
    .not_over_wire(),
    Key::new(
        "terminal.window",
        Kind::Text,
        "",
        "The program that shows a terminal in a window, or the beginning of a command line to which what it shows is added. When empty, the first that is found: foot, kitty, alacritty, gnome-terminal, konsole, xfce4-terminal, terminator, xterm.",
    )
    .live()
    .not_over_wire(),
    Key::new(
        "terminal.columns",
        Kind::Integer { min: 20, max: 500 },
        "120",
        "Letters in a line of a new terminal, while no window is attached to it.",
    )
    .live(),
    Key::new(
        "terminal.rows",
        Kind::Integer { min: 5, max: 200 },
        "30",
        "Lines of a new terminal, while no window is attached to it.",
    )
    .live(),
    Key::new(
        "terminal.history_lines",
        Kind::Integer {
            min: 100,
            max: 50_000,
        },
        "10000",
        "Lines that are kept of a terminal's past.",
    ),
    Key::new(
        "terminal.tmux",
        Kind::Text,
        "",
        "The program tmux, in which terminals live. When empty, the one in the path.",
    )
    .not_over_wire(),
];

/// The program of a shell; an error is a sentence.
pub(super) fn shell(
    settings: &Settings,
    env: &Env,
    wanted: Option<&str>,
) -> Result<PathBuf, String> {
    let setting = Some(settings.text("terminal.shell"));
    let named = wanted.or(setting.filter(|name| !name.is_empty()));
    if let Some(name) = named {
        let found = look_up(name, env);
        return found.ok_or_else(|| format!("There is no shell '{name}' on this machine."));
    }
    let own = env.os("SHELL").map(OsStr::to_owned);
    let candidates = own.into_iter().chain(["bash".into(), "sh".into()]);
    let mut found = candidates.filter_map(|name| look_up(&name, env));
    found
        .next()
        .ok_or_else(|| "No shell was found; name one with the setting terminal.shell.".to_owned())
}

/// The size of a new terminal, checked.
pub(super) fn size(settings: &Settings, params: &CreateParams) -> Result<(u16, u16), String> {
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
