//! The texts of the systemd unit and of the desktop's autostart entry. Pure.
//!
//! Invariants: the unit is ready when the daemon says so; stopping it ends the daemon alone, because
//! the terminals belong to the person (a run's processes end with their shims).

use std::fmt::Write;
use std::path::{Path, PathBuf};

/// What a unit starts.
#[derive(Clone, Debug, Default)]
pub struct UnitParts<'p> {
    pub program: &'p str,
    /// `HOB_HOME`, if it is set.
    pub home: Option<&'p str>,
    /// `PATH`, so that the daemon finds the programs that the person's shell finds.
    pub path: Option<&'p str>,
}

/// The text of the unit.
pub fn unit(parts: &UnitParts<'_>) -> String {
    let mut text = String::from(
        "[Unit]\n\
         Description=hob, a local-first agent runtime\n\
         StartLimitIntervalSec=60\n\
         StartLimitBurst=5\n\
         \n\
         [Service]\n\
         # The daemon says when it answers.\n\
         Type=notify\n\
         NotifyAccess=main\n",
    );
    // Writing to a string cannot fail.
    let _ = writeln!(text, "ExecStart={} daemon", word(parts.program, true));
    for (name, value) in [("HOB_HOME", parts.home), ("PATH", parts.path)] {
        if let Some(value) = value {
            let pair = format!("{name}={value}");
            let _ = writeln!(text, "Environment={}", word(&pair, false));
        }
    }
    text.push_str(
        "Restart=on-failure\n\
         RestartSec=1\n\
         # Only the daemon: the terminals in tmux are yours and go on. Commands end with their own shim.\n\
         KillMode=process\n\
         TimeoutStopSec=15\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
    );
    text
}

/// The text of the desktop's entry.
pub fn desktop_entry(parts: &UnitParts<'_>) -> String {
    let program = entry_word(parts.program);
    let command = match parts.home {
        Some(home) => format!(
            "env {} {program} up",
            entry_word(&format!("HOB_HOME={home}"))
        ),
        None => format!("{program} up"),
    };
    format!(
        "[Desktop Entry]\nType=Application\nName=hob\nComment=Starts the hob daemon\n\
         Exec={command}\nNoDisplay=true\nX-GNOME-Autostart-enabled=true\n"
    )
}

/// Returns the program that a unit or an entry starts.
pub fn program(text: &str) -> Option<PathBuf> {
    let line = text.lines().find_map(|line| {
        line.strip_prefix("ExecStart=")
            .or_else(|| line.strip_prefix("Exec="))
    })?;
    let words = split_quoted(line);
    let mut words = words.iter().map(String::as_str);
    let first = words.next()?;
    let program = match first {
        "env" => words.find(|word| !word.contains('='))?,
        program => program,
    };
    Path::new(program)
        .is_absolute()
        .then(|| PathBuf::from(program))
}

/// Quotes a word for a unit file. In a command `$` begins a variable.
fn word(text: &str, is_command: bool) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => out.extend(['\\', letter]),
            '%' => out.push_str("%%"),
            '$' if is_command => out.push_str("$$"),
            '\n' => out.push_str("\\n"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Quotes a word for the Exec key of a desktop entry.
fn entry_word(text: &str) -> String {
    let mut out = String::from("\"");
    for letter in text.chars() {
        match letter {
            // Once for the argument, once more for the string type of the file.
            '"' | '`' | '$' | '\\' => out.extend(['\\', '\\', letter]),
            '%' => out.push_str("%%"),
            other => out.push(other),
        }
    }
    out.push('"');
    out
}

/// Splits a line into words and removes quotes and escapes.
fn split_quoted(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut current: Option<String> = None;
    let (mut is_quoted, mut letters) = (false, line.chars().peekable());
    while let Some(letter) = letters.next() {
        match letter {
            '"' => {
                is_quoted = !is_quoted;
                current.get_or_insert_default();
            }
            '\\' => {
                while letters.next_if_eq(&'\\').is_some() {}
                current.get_or_insert_default().extend(letters.next());
            }
            '%' | '$' => {
                let _ = letters.next_if_eq(&letter);
                current.get_or_insert_default().push(letter);
            }
            ' ' if !is_quoted => words.extend(current.take()),
            other => current.get_or_insert_default().push(other),
        }
    }
    words.extend(current);
    words
}

#[cfg(test)]
#[path = "unit_tests.rs"]
mod tests;
