//! The programs that show terminals, and how each is told what to run.

use super::{Desktop, WindowError};
use crate::look_up;
use hob_kit::world::Env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The programs that are looked for, in this order.
pub const ORDER: &[&str] = &[
    "foot",
    "kitty",
    "alacritty",
    "gnome-terminal",
    "konsole",
    "xfce4-terminal",
    "terminator",
    "xterm",
];

/// A program that shows a terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// As people call it.
    pub name: String,
    path: PathBuf,
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// One of [`ORDER`].
    Known,
    /// A command line of the person's: these words, with what is to run in the place of the word
    /// `{}`, or behind them.
    Line(Vec<String>),
}

impl Program {
    /// The command line that shows `command` in a window of this title.
    pub fn argv(&self, title: &str, command: &[OsString]) -> Vec<OsString> {
        let mut argv = vec![self.path.clone().into_os_string()];
        match &self.form {
            Form::Line(words) => {
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
            Form::Known => {
                let words: &[&str] = match self.name.as_str() {
                    "foot" => &["--title", title],
                    "kitty" => &["--title", title, "--"],
                    "gnome-terminal" => &["--wait", "--title", title, "--"],
                    "konsole" => &["-p", &format!("tabtitle={title}"), "-e"],
                    // A process of its own: the ones that run belong to other windows.
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

/// Those of [`ORDER`] that are installed and speak to a display that is there.
pub(super) fn found(env: &Env, desktop: &Desktop) -> Vec<Program> {
    let fits = |name: &&&str| match **name {
        "foot" => desktop.wayland.is_some(),
        "xterm" => desktop.x11.is_some(),
        _ => desktop.is_there(),
    };
    let known = ORDER.iter().filter(fits);
    known.filter_map(|name| known_program(name, env)).collect()
}

fn known_program(name: &str, env: &Env) -> Option<Program> {
    let path = look_up(name, env)?;
    let base = path.file_name().and_then(OsStr::to_str);
    let is_known = base.is_some_and(|base| ORDER.contains(&base));
    Some(Program {
        name: base.unwrap_or(name).to_owned(),
        form: if is_known {
            Form::Known
        } else {
            // The widest custom: xterm's.
            Form::Line(vec!["-e".to_owned()])
        },
        path,
    })
}

/// What a person named: a program, or a command line to which what is to run is added.
pub(super) fn named(asked: &str, env: &Env) -> Result<Program, WindowError> {
    let mut words = split(asked).map_err(WindowError::Line)?;
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
    let path = look_up(&first, env).ok_or_else(none)?;
    let base = Path::new(&first).file_name().and_then(OsStr::to_str);
    Ok(Program {
        name: base.unwrap_or(&first).to_owned(),
        path,
        form: Form::Line(words),
    })
}

/// Words between spaces; quotes hold words together and a backslash the next letter.
fn split(line: &str) -> Result<Vec<String>, &'static str> {
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
