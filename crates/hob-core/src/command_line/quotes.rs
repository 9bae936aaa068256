//! The lexing of quotes, backslashes and dollar signs. Pure.

use super::lexer::Lexer;

impl Lexer {
    pub(super) fn escape(&mut self) {
        match self.peek(0) {
            Some('\n') => self.at += 1,
            Some(letter) => {
                self.at += 1;
                self.is_opaque |= is_typed_control(letter);
                self.push_quoted(letter);
            }
            None => self.is_unfinished = true,
        }
    }

    pub(super) fn single_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            if letter == '\'' {
                return;
            }
            self.is_opaque |= is_typed_control(letter);
            self.push_quoted(letter);
        }
        self.is_unfinished = true;
    }

    pub(super) fn double_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '"' => return,
                '\\' => match self.peek(0) {
                    Some('\n') => self.at += 1,
                    Some(next @ ('$' | '`' | '"' | '\\')) => {
                        self.at += 1;
                        self.push_quoted(next);
                    }
                    _ => self.push_quoted('\\'),
                },
                '$' => self.dollar(true),
                '`' => self.backticks(),
                // An interactive shell expands its history here too.
                '!' => self.push_unknown_quoted(letter),
                other => {
                    self.is_opaque |= is_typed_control(other);
                    self.push_quoted(other);
                }
            }
        }
        self.is_unfinished = true;
    }

    /// Lexes the text after a `$`.
    pub(super) fn dollar(&mut self, in_quotes: bool) {
        match self.peek(0) {
            Some('(') => {
                self.at += 1;
                self.push_unknown_quoted('$');
                self.substitution();
            }
            // The old form of arithmetic, which is not parsed.
            Some('[') => {
                self.is_opaque = true;
                self.push_unknown_quoted('$');
            }
            Some('{') => self.braced(),
            Some('\'') if !in_quotes => {
                self.at += 1;
                self.ansi_quotes();
            }
            // The locale may translate this text, so it is known only when the line runs.
            Some('"') if !in_quotes => self.push_unknown_quoted('$'),
            Some(next) if next.is_ascii_alphanumeric() || "_@*#?$!-".contains(next) => {
                let is_letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
                let mut name = String::from(next);
                self.at += 1;
                // `$1` and `$?` have one character.
                if is_letter(next) && !next.is_ascii_digit() {
                    while let Some(letter) = self.peek(0).filter(|letter| is_letter(*letter)) {
                        self.at += 1;
                        name.push(letter);
                    }
                }
                self.push_variable(&name, &format!("${name}"));
            }
            _ => self.push_quoted('$'),
        }
    }

    /// Lexes the text after the `(` of a substitution, up to its `)` as far as that can be
    /// determined. Its programs are not searched; the word keeps its command line.
    pub(super) fn substitution(&mut self) {
        self.is_opaque = true;
        self.push_quoted('(');
        let start = self.at;
        let mut depth = 1;
        let mut quote = None;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            self.push_quoted(letter);
            match (letter, quote) {
                // An escaped quote or parenthesis does not count.
                ('\\', None | Some('"')) => self.at += 1,
                ('\'' | '"', None) => quote = Some(letter),
                (_, Some(open)) if letter == open => quote = None,
                ('(', None) => depth += 1,
                (')', None) => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return self.push_substitution(start, self.at - 1);
            }
        }
        self.push_substitution(start, self.at);
        self.is_unfinished = true;
    }

    /// Keeps the command line of a substitution.
    fn push_substitution(&mut self, start: usize, end: usize) {
        // A backslash at the end of the line has moved the position beyond it.
        let end = end.min(self.letters.len());
        let line = self.letters[start.min(end)..end].iter().collect();
        self.word.get_or_insert_default().substitutions.push(line);
    }

    /// Lexes the text after a backtick, up to the next one, like [`Lexer::substitution`].
    pub(super) fn backticks(&mut self) {
        self.is_opaque = true;
        self.push_unknown_quoted('`');
        let start = self.at;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            self.push_quoted(letter);
            match letter {
                '`' => return self.push_substitution(start, self.at - 1),
                '\\' => self.at += 1,
                _ => {}
            }
        }
        self.push_substitution(start, self.at);
        self.is_unfinished = true;
    }

    /// Lexes `${…}` up to its closing brace. Nested words may substitute, index or evaluate.
    fn braced(&mut self) {
        let mut written = String::from("$");
        let mut is_closed = false;
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            written.push(letter);
            match letter {
                '}' => {
                    is_closed = true;
                    break;
                }
                '{' | '_' => {}
                letter if letter.is_ascii_alphanumeric() => {}
                // Anything but a plain name: its quotes and operators are not parsed.
                _ => self.is_opaque = true,
            }
        }
        self.is_unfinished |= !is_closed;
        let name = written
            .strip_prefix("${")
            .and_then(|it| it.strip_suffix('}'));
        self.push_variable(name.unwrap_or_default(), &written);
    }

    /// Lexes `$'…'` with the escapes of C.
    fn ansi_quotes(&mut self) {
        self.word.get_or_insert_default();
        while let Some(letter) = self.peek(0) {
            self.at += 1;
            match letter {
                '\'' => return,
                '\\' => self.ansi_escape(),
                other => self.push_quoted(other),
            }
        }
        self.is_unfinished = true;
    }

    fn ansi_escape(&mut self) {
        let Some(letter) = self.peek(0) else { return };
        self.at += 1;
        let code = match letter {
            'a' => Some(0x07),
            'b' => Some(0x08),
            'e' | 'E' => Some(0x1b),
            'f' => Some(0x0c),
            'n' => Some(0x0a),
            'r' => Some(0x0d),
            't' => Some(0x09),
            'v' => Some(0x0b),
            '\\' | '\'' | '"' | '?' => Some(u32::from(letter)),
            'x' => self.digits(16, 2),
            'u' => self.digits(16, 4),
            'U' => self.digits(16, 8),
            // This digit is a part of the number.
            '0'..='7' => {
                self.at -= 1;
                self.digits(8, 3)
            }
            _ => None,
        };
        // A byte beyond ASCII is only a part of a character, and a zero ends the text.
        let is_byte = matches!(letter, 'x' | '0'..='7');
        let code = code.filter(|code| *code != 0 && !(is_byte && *code > 0x7f));
        if let Some(letter) = code.and_then(char::from_u32) {
            self.push_quoted(letter);
        } else {
            self.is_opaque = true;
            self.word.get_or_insert_default().is_decided_later = true;
        }
    }

    fn digits(&mut self, radix: u32, digits_max: usize) -> Option<u32> {
        let mut number = None;
        for _ in 0..digits_max {
            let Some(digit) = self.peek(0).and_then(|it| it.to_digit(radix)) else {
                break;
            };
            self.at += 1;
            number = Some(number.unwrap_or(0_u32).saturating_mul(radix) + digit);
        }
        number
    }
}

/// Returns true for a control character that a terminal does not treat as text, wherever it stands.
pub(super) fn is_typed_control(letter: char) -> bool {
    letter.is_control() && !matches!(letter, '\n' | '\t')
}
