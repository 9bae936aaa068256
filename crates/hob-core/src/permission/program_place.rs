//! Finds the stars of a command pattern that stand in the name of a program. Pure.
//!
//! A pattern is read from left to right like a command line. The first word of each command names a
//! program. A `*` in it matches less than one among the arguments, because `/` and `=` there lead
//! to another program or set a variable.

/// The place of a star.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StarPlace {
    /// In a program's name, at its beginning or later.
    Program {
        begins: bool,
    },
    Arguments,
}

/// Shell keywords that are followed by a program.
const BEFORE_PROGRAM: [&str; 10] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time",
];

/// Reads a pattern from left to right.
#[derive(Debug, Default)]
pub(super) struct ProgramPlace {
    position: CommandPosition,
    /// The program's name so far.
    word: String,
    quote: Option<char>,
    is_escaped: bool,
    last: Option<char>,
    /// A substitution began; its end is not tracked.
    is_substituted: bool,
    /// A variable is set or a file opened before the program is named.
    has_prefix: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CommandPosition {
    #[default]
    BeforeProgram,
    Program,
    Arguments,
}

impl ProgramPlace {
    pub(super) fn take_text(&mut self, text: &str) {
        for letter in text.chars() {
            self.take(letter);
            self.last = Some(letter);
        }
    }

    pub(super) fn take_star(&mut self) -> StarPlace {
        // A star matches no `$`, `<` or `>`, so a parenthesis behind it begins no substitution.
        self.last = None;
        let begins = self.position == CommandPosition::BeforeProgram;
        match self.position {
            CommandPosition::Arguments if !self.is_substituted => StarPlace::Arguments,
            // Inside a substitution any word may name a program.
            CommandPosition::Arguments => StarPlace::Program { begins: true },
            CommandPosition::BeforeProgram | CommandPosition::Program => {
                self.take_letter('*');
                StarPlace::Program { begins }
            }
        }
    }

    /// Returns true if something other than a program comes first: with a star such a pattern
    /// allows nothing.
    pub(super) fn has_prefix(&self) -> bool {
        self.has_prefix
    }

    fn take(&mut self, letter: char) {
        if std::mem::take(&mut self.is_escaped) {
            return self.take_letter(letter);
        }
        self.is_substituted |= letter == '`' && self.quote != Some('\'');
        self.is_substituted |= letter == '(' && matches!(self.last, Some('$' | '<' | '>'));
        if let Some(quote) = self.quote {
            if letter == quote {
                self.quote = None;
            }
            self.is_escaped = letter == '\\' && quote == '"';
            return self.take_letter(letter);
        }
        match letter {
            '\\' => {
                self.is_escaped = true;
                self.take_letter(letter);
            }
            '\'' | '"' => {
                self.quote = Some(letter);
                self.take_letter(letter);
            }
            ';' | '&' | '|' | '\n' | '(' | ')' => {
                self.position = CommandPosition::BeforeProgram;
                self.word.clear();
            }
            ' ' | '\t' if self.position == CommandPosition::Program => {
                let goes_on = BEFORE_PROGRAM.contains(&self.word.as_str());
                self.position = if goes_on {
                    CommandPosition::BeforeProgram
                } else {
                    CommandPosition::Arguments
                };
                self.word.clear();
            }
            ' ' | '\t' => {}
            '=' => {
                // `name=value` before a program sets a variable for it, such as `LD_PRELOAD`.
                self.has_prefix |= self.position != CommandPosition::Arguments;
                self.take_letter(letter);
            }
            '<' | '>' => {
                // `2>file` before a program is a redirection; `a>b` already has its program.
                let is_number = self.word.bytes().all(|byte| byte.is_ascii_digit());
                self.has_prefix |= self.position != CommandPosition::Arguments && is_number;
                self.take_letter(letter);
            }
            other => self.take_letter(other),
        }
    }

    fn take_letter(&mut self, letter: char) {
        if self.position != CommandPosition::Arguments {
            self.position = CommandPosition::Program;
            self.word.push(letter);
        }
    }
}
