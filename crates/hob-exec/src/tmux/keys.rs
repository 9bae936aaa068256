//! Names of keys. Pure.
//!
//! Invariant: a name is a key that tmux knows, or an error; it is never typed as text.

/// The effect of pressing a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum KeyPress {
    /// The same bytes in every program; sent literally, even while somebody scrolls back.
    Bytes(Vec<u8>),
    /// A key by tmux's name, because its bytes depend on the mode of the program.
    Named(String),
}

/// Key names of tmux, in its spelling, without those of the keypad and the mouse.
const NAMED: &[&str] = &[
    "BTab", "DC", "Delete", "Down", "End", "F1", "F10", "F11", "F12", "F2", "F3", "F4", "F5", "F6",
    "F7", "F8", "F9", "Home", "IC", "Insert", "Left", "NPage", "PPage", "PageDown", "PageUp",
    "PgDn", "PgUp", "Right", "Up",
];

/// Keys that are one byte in every program.
const PLAIN: &[(&str, u8)] = &[
    ("Enter", b'\r'),
    ("Tab", b'\t'),
    ("Escape", 0x1b),
    ("Space", b' '),
    ("BSpace", 0x7f),
    ("Backspace", 0x7f),
];

const ESCAPE: u8 = 0x1b;

/// Parses a key name: `Enter`, `Up`, `C-c`, `M-f`, `S-F5`, or one letter.
pub(super) fn parse_key(name: &str) -> Option<KeyPress> {
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
        return parse_letter(letter, control, meta, shift);
    }
    let of_name = |entry: &&(&str, u8)| entry.0.eq_ignore_ascii_case(rest);
    if let Some((_, byte)) = PLAIN.iter().find(of_name) {
        let bytes = match (control, shift) {
            (false, false) => vec![*byte],
            // Ctrl-Space is a zero byte, which a paste buffer cannot contain.
            (true, false) if *byte == b' ' => return Some(named("C-", "Space", meta)),
            (false, true) if *byte == b'\t' => return Some(named("", "BTab", meta)),
            _ => return None,
        };
        return Some(KeyPress::Bytes(with_meta(bytes, meta)));
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

fn parse_letter(letter: char, control: bool, meta: bool, shift: bool) -> Option<KeyPress> {
    // A shifted letter is a letter of its own, such as `A`.
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
    Some(KeyPress::Bytes(with_meta(bytes, meta)))
}

fn with_meta(bytes: Vec<u8>, meta: bool) -> Vec<u8> {
    if meta {
        [vec![ESCAPE], bytes].concat()
    } else {
        bytes
    }
}

fn named(prefix: &str, name: &str, meta: bool) -> KeyPress {
    let meta = if meta { "M-" } else { "" };
    KeyPress::Named(format!("{meta}{prefix}{name}"))
}

#[cfg(test)]
#[path = "keys_tests.rs"]
mod tests;
