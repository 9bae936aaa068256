//! The names of keys. Pure.
//!
//! Invariant: a name is a key that tmux knows, or an error that names it; it is never typed as text.

/// What pressing a key is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Press {
    /// The same bytes in every program: sent as they are, also while somebody scrolls back.
    Bytes(Vec<u8>),
    /// What this sends depends on the program, which tmux knows; by tmux's own name.
    Named(String),
}

/// Names tmux knows, as it writes them. Those of the keypad and the mouse are left out.
const NAMED: &[&str] = &[
    "BTab", "DC", "Delete", "Down", "End", "F1", "F10", "F11", "F12", "F2", "F3", "F4", "F5", "F6",
    "F7", "F8", "F9", "Home", "IC", "Insert", "Left", "NPage", "PPage", "PageDown", "PageUp",
    "PgDn", "PgUp", "Right", "Up",
];

/// Those that are one byte everywhere.
const PLAIN: &[(&str, u8)] = &[
    ("Enter", b'\r'),
    ("Tab", b'\t'),
    ("Escape", 0x1b),
    ("Space", b' '),
    ("BSpace", 0x7f),
    ("Backspace", 0x7f),
];

const ESCAPE: u8 = 0x1b;

/// The key of a name: `Enter`, `Up`, `C-c`, `M-f`, `S-F5`, or one letter.
pub(super) fn press(name: &str) -> Option<Press> {
    let (mut control, mut meta, mut shift) = (false, false, false);
    let mut rest = name;
    loop {
        let modifier = match rest.get(..2) {
            Some("C-" | "c-") => &mut control,
            Some("M-" | "m-") => &mut meta,
            Some("S-" | "s-") => &mut shift,
            _ => break,
        };
        // A bare minus after a modifier is the key itself.
        if rest.len() == 2 {
            break;
        }
        *modifier = true;
        rest = &rest[2..];
    }
    let mut letters = rest.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return letter_key(letter, control, meta, shift);
    }
    let of_name = |entry: &&(&str, u8)| entry.0.eq_ignore_ascii_case(rest);
    if let Some((_, byte)) = PLAIN.iter().find(of_name) {
        let bytes = match (control, shift) {
            (false, false) => vec![*byte],
            // A zero byte can only be sent by its name.
            (true, false) if *byte == b' ' => return Some(named("C-", "Space", meta)),
            (false, true) if *byte == b'\t' => return Some(named("", "BTab", meta)),
            _ => return None,
        };
        return Some(Press::Bytes(with_meta(bytes, meta)));
    }
    let known = NAMED
        .iter()
        .find(|known| known.eq_ignore_ascii_case(rest))?;
    let prefix = match (control, shift) {
        (true, true) => "C-S-",
        (true, false) => "C-",
        (false, true) => "S-",
        (false, false) => "",
    };
    Some(named(prefix, known, meta))
}

fn letter_key(letter: char, control: bool, meta: bool, shift: bool) -> Option<Press> {
    if letter.is_control() || shift {
        return None;
    }
    let bytes = if control {
        let upper = u8::try_from(letter.to_ascii_uppercase()).ok()?;
        match upper {
            b'@' => return Some(named("C-", "Space", meta)),
            b'A'..=b'_' => vec![upper & 0x1f],
            b'?' => vec![0x7f],
            _ => return None,
        }
    } else {
        letter.to_string().into_bytes()
    };
    Some(Press::Bytes(with_meta(bytes, meta)))
}

fn with_meta(bytes: Vec<u8>, meta: bool) -> Vec<u8> {
    if meta {
        [vec![ESCAPE], bytes].concat()
    } else {
        bytes
    }
}

fn named(prefix: &str, name: &str, meta: bool) -> Press {
    let meta = if meta { "M-" } else { "" };
    Press::Named(format!("{meta}{prefix}{name}"))
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
