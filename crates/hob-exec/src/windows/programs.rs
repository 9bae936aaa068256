//! Terminal programs, and the command line of each.

use super::{Desktop, WindowError};
use crate::find_program;
use hob_kit::host_environment::EnvVars;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The known programs, in order of preference.
pub const PREFERENCE: &[&str] = &[
    "foot",
    "kitty",
    "alacritty",
    "gnome-terminal",
    "konsole",
    "xfce4-terminal",
    "terminator",
    "xterm",
];

/// A program that shows a terminal in a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WindowProgram {
    /// The name for messages.
    pub name: String,
    path: PathBuf,
    style: ArgumentStyle,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ArgumentStyle {
    /// The arguments of a program in [`PREFERENCE`].
    Known,
    /// The user's own arguments. The command replaces the word `{}`, or follows them.
    Line(Vec<String>),
}

impl WindowProgram {
    /// Returns the command line that shows `command` in a window with this title.
    pub fn argv(&self, title: &str, command: &[OsString]) -> Vec<OsString> {
        let mut argv = vec![self.path.clone().into_os_string()];
        match &self.style {
            ArgumentStyle::Line(words) => {
                let place = words.iter().position(|word| word == "{}");
                let (before, after) = match place {
                    Some(place) => (&words[..place], &words[place + 1..]),
                    None => (&words[..], &[][..]),
                };
                argv.extend(before.iter().map(OsString::from));
                argv.extend(command.iter().cloned());
                argv.extend(after.iter().map(OsString::from));
                return argv;
            }
            ArgumentStyle::Known => {
                let words: &[&str] = match self.name.as_str() {
                    "foot" => &["--title", title],
                    "kitty" => &["--title", title, "--"],
                    "gnome-terminal" => &["--wait", "--title", title, "--"],
                    "konsole" => &["-p", &format!("tabtitle={title}"), "-e"],
                    // A new process: a running one belongs to other windows.
                    "xfce4-terminal" => &["--disable-server", "--title", title, "-x"],
                    "terminator" => &["--no-dbus", "--title", title, "-x"],
                    "alacritty" => &["--title", title, "-e"],
                    _ => &["-T", title, "-e"],
                };
                argv.extend(words.iter().map(OsString::from));
            }
        }
        argv.extend(command.iter().cloned());
        argv
    }
}

/// Lists the programs of [`PREFERENCE`] that are installed and support the display.
pub(super) fn installed_programs(env: &EnvVars, desktop: &Desktop) -> Vec<WindowProgram> {
    let fits = |name: &&&str| match **name {
        "foot" => desktop.wayland.is_some(),
        "xterm" => desktop.x11.is_some(),
        _ => desktop.has_display(),
    };
    let known = PREFERENCE.iter().filter(fits);
    known.filter_map(|name| known_program(name, env)).collect()
}

fn known_program(name: &str, env: &EnvVars) -> Option<WindowProgram> {
    let path = find_program(name, env)?;
    let base = path.file_name().and_then(OsStr::to_str);
    let is_known = base.is_some_and(|base| PREFERENCE.contains(&base));
    Some(WindowProgram {
        name: base.unwrap_or(name).to_owned(),
        style: if is_known {
            ArgumentStyle::Known
        } else {
            // Most terminal programs accept xterm's `-e`.
            ArgumentStyle::Line(vec!["-e".to_owned()])
        },
        path,
    })
}

/// Parses a user's choice: a program, or a command line to which the command is added.
pub(super) fn parse_named(asked: &str, env: &EnvVars) -> Result<WindowProgram, WindowError> {
    let mut words = split_words(asked).map_err(WindowError::Line)?;
    if words.is_empty() {
        return Err(WindowError::Line("it is empty"));
    }
    let first = words.remove(0);
    let none = || WindowError::Named {
        program: first.clone(),
    };
    if words.is_empty() {
        return known_program(&first, env).ok_or_else(none);
    }
    let path = find_program(&first, env).ok_or_else(none)?;
    let base = Path::new(&first).file_name().and_then(OsStr::to_str);
    Ok(WindowProgram {
        name: base.unwrap_or(&first).to_owned(),
        path,
        style: ArgumentStyle::Line(words),
    })
}

/// Splits a line into words as a shell does, with quotes and backslashes.
fn split_words(line: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut letters = line.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), _) if letter == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => {
                let next = letters.next().ok_or("it ends with a backslash")?;
                word.get_or_insert_default().push(next);
            }
            (None, _) if letter.is_whitespace() => words.extend(word.take()),
            _ => word.get_or_insert_default().push(letter),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
#[path = "programs_tests.rs"]
mod tests;
