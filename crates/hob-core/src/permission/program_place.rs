//! Which `*` of a command pattern stands where a program is named. Pure.
//!
//! A pattern is read from the left like a command line. The first word of each command names a
//! program; a `*` in it is held narrower than one among the arguments, because `/` and `=` there
//! lead to another program or set a variable.

/// Where a star stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StarPlace {
    /// In a program's name; at its beginning or behind some of it.
    Program {
        begins: bool,
    },
    Arguments,
}

/// Words of the shell's grammar behind which a program is named.
const BEFORE_PROGRAM: [&str; 10] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{", "time",
];

/// Reads a pattern from the left.
#[derive(Debug, Default)]
pub(super) struct ProgramPlace {
    state: State,
    /// The program's name so far.
    word: String,
    quote: Option<char>,
    is_escaped: bool,
    last: Option<char>,
    /// A substitution began: how it ends is not followed.
    is_substituted: bool,
    /// A variable is set or a file opened before the program is named.
    has_prefix: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
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
        self.last = None;
        let begins = self.state == State::BeforeProgram;
        match self.state {
            State::Arguments if !self.is_substituted => StarPlace::Arguments,
            State::Arguments => StarPlace::Program { begins: true },
            State::BeforeProgram | State::Program => {
                self.take_letter('*');
                StarPlace::Program { begins }
            }
        }
    }

    /// Whether something other than a program stood first: with a star such a pattern allows
    /// nothing.
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
                self.state = State::BeforeProgram;
                self.word.clear();
            }
            ' ' | '\t' if self.state == State::Program => {
                let goes_on = BEFORE_PROGRAM.contains(&self.word.as_str());
                self.state = if goes_on {
                    State::BeforeProgram
                } else {
                    State::Arguments
                };
                self.word.clear();
            }
            ' ' | '\t' => {}
            '=' => {
                self.has_prefix |= self.state != State::Arguments;
                self.take_letter(letter);
            }
            '<' | '>' => {
                let is_number = self.word.bytes().all(|byte| byte.is_ascii_digit());
                self.has_prefix |= self.state != State::Arguments && is_number;
                self.take_letter(letter);
            }
            other => self.take_letter(other),
        }
    }

    fn take_letter(&mut self, letter: char) {
        if self.state != State::Arguments {
            self.state = State::Program;
            self.word.push(letter);
        }
    }
}
