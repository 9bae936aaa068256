//! Quotes text so that tmux, or a shell below it, reads exactly that text. Pure.
//!
//! Invariant: no byte of the text is ever read as syntax.

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

/// Quotes one word of a control mode command. All bytes except plain characters are written in
/// octal, so that no variable, tilde, quote or line break has a meaning.
pub(super) fn quote_for_control(bytes: &[u8]) -> String {
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

/// Escapes one argument of a tmux command line, where a `;` at the end would start the next
/// command.
pub(super) fn escape_argument(argument: &OsStr) -> OsString {
    let bytes = argument.as_bytes();
    match bytes.strip_suffix(b";") {
        Some(rest) => OsString::from_vec([rest, b"\\;"].concat()),
        None => argument.to_owned(),
    }
}

/// Escapes text in which tmux expands `#{…}`.
pub(super) fn escape_format(text: &OsStr) -> OsString {
    let mut safe = Vec::with_capacity(text.len());
    for byte in text.as_bytes() {
        safe.push(*byte);
        if *byte == b'#' {
            safe.push(*byte);
        }
    }
    OsString::from_vec(safe)
}

/// Quotes a command line for `sh` in which tmux also expands `#{…}` and dates.
pub(super) fn quote_piped_command(argv: &[OsString]) -> OsString {
    // Without `exec` a shell would stay between tmux and the program for as long as it runs.
    let mut line = b"exec".to_vec();
    for argument in argv {
        line.push(b' ');
        for byte in quote_for_shell(argument).as_bytes() {
            line.push(*byte);
            if *byte == b'#' || *byte == b'%' {
                line.push(*byte);
            }
        }
    }
    OsString::from_vec(line)
}

/// Quotes one word for a POSIX shell.
pub(crate) fn quote_for_shell(word: &OsStr) -> OsString {
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
#[path = "quoting_tests.rs"]
mod tests;
