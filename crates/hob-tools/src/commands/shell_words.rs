//! Takes a command line apart into simple commands and their words, as bash would read them. Pure.
//!
//! Invariant: a word is known only if nothing in it depends on the moment of the run; the few
//! variables that hob knows (`PWD`, `HOME`, `~`) are filled in.

/// Commands looked at in one line.
const COMMANDS_MAX: usize = 64;
/// Lines within lines: `bash -c`, `eval`, `$(…)`.
const DEPTH_MAX: usize = 4;

/// One word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) text: String,
    /// False where a substitution, a variable or a pattern decides what it is.
    pub(super) is_known: bool,
}

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<Word>,
    /// The file it reads as its input: `< file`.
    pub(super) input: Option<Word>,
    /// Whether its input is the output of the command before it.
    pub(super) is_piped: bool,
    /// How many parentheses are around it: what it changes ends with them.
    pub(super) depth: usize,
}

/// What stands for a folder in words: written so that no path can be mistaken for it.
pub(super) const PWD: &str = "\u{0}PWD";
pub(super) const HOME: &str = "\u{0}HOME";

/// The simple commands of a line, in order.
pub(super) fn simple_commands(line: &str) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    read_line(line, 0, DEPTH_MAX, &mut found);
    found
}

/// The same for a line inside another.
pub(super) fn inner_commands(line: &str, depth: usize, left: usize) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    read_line(line, depth, left, &mut found);
    found
}

fn read_line(line: &str, depth: usize, left: usize, found: &mut Vec<SimpleCommand>) {
    let Some(left) = left.checked_sub(1) else {
        return;
    };
    let mut reader = Reader {
        letters: line.chars().collect(),
        at: 0,
        depth,
        left,
        command: SimpleCommand::default(),
        word: None,
        redirect: Redirect::None,
        is_piped: false,
        found,
    };
    reader.read();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Redirect {
    None,
    Input,
    Other,
}

struct Reader<'f> {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    left: usize,
    command: SimpleCommand,
    word: Option<Word>,
    redirect: Redirect,
    is_piped: bool,
    found: &'f mut Vec<SimpleCommand>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let letter = self.peek()?;
        self.at += 1;
        Some(letter)
    }

    fn read(&mut self) {
        while let Some(letter) = self.next() {
            match letter {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter) => self.push(letter),
                },
                '\'' => self.single_quotes(),
                '"' => self.double_quotes(),
                '$' => self.dollar(),
                '`' => self.backquotes(),
                '#' if self.word.is_none() => self.skip_comment(),
                '~' if self.word.is_none() && matches!(self.peek(), Some('/' | ' ') | None) => {
                    self.push_text(HOME);
                }
                '*' | '?' | '[' => {
                    self.push(letter);
                    self.not_known();
                }
                '<' | '>' => self.redirection(letter),
                '(' => {
                    self.end_command(false);
                    self.depth += 1;
                }
                ')' => {
                    self.end_command(false);
                    self.depth = self.depth.saturating_sub(1);
                }
                '&' if self.peek() == Some('>') => self.end_word(),
                '|' => {
                    let is_or = self.peek() == Some('|');
                    if is_or || self.peek() == Some('&') {
                        self.at += 1;
                    }
                    self.end_command(!is_or);
                }
                '\n' | ';' | '&' => self.end_command(false),
                ' ' | '\t' | '\r' => self.end_word(),
                letter => self.push(letter),
            }
        }
        self.end_command(false);
    }

    fn push(&mut self, letter: char) {
        self.word().text.push(letter);
    }

    fn push_text(&mut self, text: &str) {
        self.word().text.push_str(text);
    }

    fn not_known(&mut self) {
        self.word().is_known = false;
    }

    fn word(&mut self) -> &mut Word {
        let begin = || Word {
            text: String::new(),
            is_known: true,
        };
        self.word.get_or_insert_with(begin)
    }

    fn skip_comment(&mut self) {
        while self.peek().is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn single_quotes(&mut self) {
        self.word();
        while let Some(letter) = self.next().filter(|letter| *letter != '\'') {
            self.push(letter);
        }
    }

    fn double_quotes(&mut self) {
        self.word();
        while let Some(letter) = self.next() {
            match letter {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(letter @ ('"' | '\\' | '$' | '`')) => self.push(letter),
                    Some(letter) => {
                        self.push('\\');
                        self.push(letter);
                    }
                },
                '$' => self.dollar(),
                '`' => self.backquotes(),
                letter => self.push(letter),
            }
        }
    }

    /// A variable or a substitution.
    fn dollar(&mut self) {
        match self.peek() {
            Some('(') => {
                self.at += 1;
                let inner = self.until_closing();
                self.not_known();
                read_line(&inner, self.depth + 1, self.left, self.found);
            }
            Some('\'') => {
                // `$'…'` has escapes of its own.
                self.at += 1;
                self.single_quotes();
                self.not_known();
            }
            Some('"') => {}
            _ => {
                let name = self.variable();
                match name.as_str() {
                    "PWD" => self.push_text(PWD),
                    "HOME" => self.push_text(HOME),
                    "" => self.push('$'),
                    _ => self.not_known(),
                }
            }
        }
    }

    fn variable(&mut self) -> String {
        let mut name = String::new();
        if self.peek() == Some('{') {
            self.at += 1;
            while let Some(letter) = self.next().filter(|letter| *letter != '}') {
                name.push(letter);
            }
            return if name.is_empty() {
                "?".to_owned()
            } else {
                name
            };
        }
        let plain = |letter: &char| letter.is_alphanumeric() || "_@*#?$!-".contains(*letter);
        while let Some(letter) = self.peek().filter(plain) {
            self.at += 1;
            name.push(letter);
        }
        name
    }

    fn backquotes(&mut self) {
        let mut inner = String::new();
        while let Some(letter) = self.next().filter(|letter| *letter != '`') {
            inner.push(letter);
        }
        self.not_known();
        read_line(&inner, self.depth + 1, self.left, self.found);
    }

    /// The text up to the parenthesis that closes, quotes left out.
    fn until_closing(&mut self) -> String {
        let mut open = 1;
        let mut quote = None;
        let mut inner = String::new();
        while let Some(letter) = self.next() {
            match (quote, letter) {
                (None, '(') => open += 1,
                (None, ')') => open -= 1,
                (None, '\'' | '"') => quote = Some(letter),
                (Some(open), letter) if open == letter => quote = None,
                _ => {}
            }
            if open == 0 {
                break;
            }
            inner.push(letter);
        }
        inner
    }

    fn redirection(&mut self, sign: char) {
        // A number before it is a descriptor.
        let is_number = |word: &Word| word.text.chars().all(|letter| letter.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        } else {
            self.end_word();
        }
        if self.peek() == Some('(') {
            // `<(…)` is a word that names what the commands in it print.
            self.not_known();
            self.end_word();
            return;
        }
        let is_plain_input = sign == '<' && !matches!(self.peek(), Some('<' | '&' | '>'));
        while matches!(self.peek(), Some('<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        self.redirect = if is_plain_input {
            Redirect::Input
        } else {
            Redirect::Other
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match std::mem::replace(&mut self.redirect, Redirect::None) {
            Redirect::None => self.command.words.push(word),
            Redirect::Input => self.command.input = Some(word),
            Redirect::Other => {}
        }
    }

    fn end_command(&mut self, pipes: bool) {
        self.end_word();
        self.redirect = Redirect::None;
        let mut command = std::mem::take(&mut self.command);
        command.is_piped = self.is_piped;
        command.depth = self.depth;
        self.is_piped = pipes;
        if !command.words.is_empty() && self.found.len() < COMMANDS_MAX {
            self.found.push(command);
        }
    }
}

#[cfg(test)]
#[path = "command_words_tests.rs"]
mod tests;
