//! A key with its modifiers, and how it is written: `ctrl-p`, `alt-enter`, `shift-tab`. Pure.

use std::fmt;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Esc,
    Backspace,
    Delete,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// The names of keys that are not written as one character.
const NAMES: [(&str, KeyCode); 15] = [
    ("enter", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("esc", KeyCode::Esc),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
    ("minus", KeyCode::Char('-')),
];

/// The highest function key.
const FUNCTION_KEY_MAX: u8 = 24;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub code: KeyCode,
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Key {
    pub fn plain(code: KeyCode) -> Key {
        Key {
            code,
            ctrl: false,
            alt: false,
            shift: false,
        }
    }

    pub fn char(letter: char) -> Key {
        Key::plain(KeyCode::Char(letter))
    }

    pub fn ctrl(letter: char) -> Key {
        Key {
            ctrl: true,
            ..Key::char(letter)
        }
    }

    /// The character that this key types, if it types one.
    pub fn text(self) -> Option<char> {
        match self.code {
            KeyCode::Char(letter) if !self.ctrl && !self.alt => Some(letter),
            _ => None,
        }
    }

    /// The same key however a terminal reports it: characters have no shift of their own.
    #[must_use]
    pub fn normal(mut self) -> Key {
        if let KeyCode::Char(letter) = self.code {
            self.shift = false;
            if self.ctrl {
                self.code = KeyCode::Char(letter.to_ascii_lowercase());
            }
        }
        self
    }

    /// Reads a key as it is written.
    pub fn parse(text: &str) -> Option<Key> {
        let mut key = Key::char(' ');
        let mut rest = text.trim();
        loop {
            if let Some(after) = rest.strip_prefix("ctrl-").filter(|it| !it.is_empty()) {
                (key.ctrl, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("alt-").filter(|it| !it.is_empty()) {
                (key.alt, rest) = (true, after);
            } else if let Some(after) = rest.strip_prefix("shift-").filter(|it| !it.is_empty()) {
                (key.shift, rest) = (true, after);
            } else {
                break;
            }
        }
        key.code = code_named(rest)?;
        Some(key.normal())
    }
}

fn code_named(name: &str) -> Option<KeyCode> {
    let mut letters = name.chars();
    if let (Some(letter), None) = (letters.next(), letters.next()) {
        return Some(KeyCode::Char(letter));
    }
    let named = NAMES.iter().find(|(known, _)| *known == name);
    let function = || {
        let number: u8 = name.strip_prefix('f')?.parse().ok()?;
        let is_known = (1..=FUNCTION_KEY_MAX).contains(&number);
        is_known.then_some(KeyCode::F(number))
    };
    named.map(|(_, code)| *code).or_else(function)
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let held = [
            (self.ctrl, "ctrl-"),
            (self.alt, "alt-"),
            (self.shift, "shift-"),
        ];
        for (is_held, name) in held {
            if is_held {
                f.write_str(name)?;
            }
        }
        if let Some((name, _)) = NAMES.iter().find(|(_, code)| *code == self.code) {
            return f.write_str(name);
        }
        match self.code {
            KeyCode::Char(letter) => write!(f, "{letter}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            _ => Ok(()),
        }
    }
}
