//! Writing text so that tmux, or a shell below it, reads exactly that text. Pure.
//!
//! Invariant: no byte of what is given is ever read as syntax.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// One word on a command line of control mode. Everything but plain letters is written as its octal
/// number, so there is no case in which a variable, a tilde, a quote or a line end means something.
pub(super) fn of_control(bytes: &[u8]) -> String {
    let mut word = String::with_capacity(bytes.len() + 2);
    word.push('"');
    for byte in bytes {
        if byte.is_ascii_alphanumeric() || b" -_./:,=%@+".contains(byte) {
            word.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(word, "\\{byte:03o}");
        }
    }
    word.push('"');
    word
}

/// One argument of a tmux started for one command: a `;` at its end would begin the next command.
pub(super) fn of_argument(argument: &OsStr) -> OsString {
    let bytes = argument.as_bytes();
    match bytes.strip_suffix(b";") {
        Some(rest) => OsString::from_vec([rest, b"\\;"].concat()),
        None => argument.to_owned(),
    }
}

/// Text in which tmux looks for `#{…}`.
pub(super) fn of_format(text: &OsStr) -> OsString {
    let mut safe = Vec::with_capacity(text.len());
    for byte in text.as_bytes() {
        safe.push(*byte);
        if *byte == b'#' {
            safe.push(*byte);
        }
    }
    OsString::from_vec(safe)
}

/// A command line for `sh`, in which tmux also looks for `#{…}` and for dates.
pub(super) fn of_piped_shell(argv: &[OsString]) -> OsString {
    let mut line = b"exec".to_vec();
    for argument in argv {
        line.push(b' ');
        for byte in quoted(argument).as_bytes() {
            line.push(*byte);
            if *byte == b'#' || *byte == b'%' {
                line.push(*byte);
            }
        }
    }
    OsString::from_vec(line)
}

/// One word for a shell.
pub(crate) fn quoted(word: &OsStr) -> OsString {
    let mut text = b"'".to_vec();
    for byte in word.as_bytes() {
        if *byte == b'\'' {
            text.extend_from_slice(b"'\\''");
        } else {
            text.push(*byte);
        }
    }
    text.push(b'\'');
    OsString::from_vec(text)
}

#[cfg(test)]
#[path = "words_tests.rs"]
mod tests;
