//! Splits a command line into simple commands and words, as bash does. Pure.
//!
//! Invariant: a word is known only if nothing in it depends on the time of the run; the variables
//! that hob knows (`PWD`, `HOME`, `~`) are marked for later expansion.

/// Commands examined in one line.
const COMMANDS_MAX: usize = 64;
/// Levels of nested command lines: `bash -c`, `eval`, `$(…)`.
const DEPTH_MAX: usize = 4;

/// One word of a command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandWord {
    pub(super) text: String,
    /// False if a substitution, a variable or a pattern decides its value.
    pub(super) is_known: bool,
}

/// A program with its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    pub(super) words: Vec<CommandWord>,
    /// The file of its standard input: `< file`.
    pub(super) input: Option<CommandWord>,
    /// True if its input is the output of the command before it.
    pub(super) is_piped: bool,
    /// The subshell level: a change of the working directory ends with the subshell.
    pub(super) depth: usize,
}

/// Markers for known folders; the NUL cannot occur in a path.
pub(super) const PWD: &str = "\u{0}PWD";
pub(super) const HOME: &str = "\u{0}HOME";

/// The simple commands of a line, in order.
pub(super) fn simple_commands(line: &str) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    read_line(line, 0, DEPTH_MAX, &mut found);
    found
}

/// The simple commands of a nested line.
pub(super) fn inner_commands(line: &str, depth: usize, left: usize) -> Vec<SimpleCommand> {
    let mut found = Vec::new();
    read_line(line, depth, left, &mut found);
    found
}

fn read_line(line: &str, depth: usize, left: usize, found: &mut Vec<SimpleCommand>) {
    let Some(left) = left.checked_sub(1) else {
        return;
    };
    let mut reader = ShellLineReader {
        letters: line.chars().collect(),
        at: 0,
        depth,
        left,
        command: SimpleCommand::default(),
        word: None,
        redirect: RedirectKind::None,
        is_piped: false,
        found,
    };
    reader.read();
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RedirectKind {
    None,
    Input,
    Other,
}

struct ShellLineReader<'f> {
    letters: Vec<char>,
    at: usize,
    depth: usize,
    left: usize,
    command: SimpleCommand,
    word: Option<CommandWord>,
    redirect: RedirectKind,
    is_piped: bool,
    found: &'f mut Vec<SimpleCommand>,
}

impl ShellLineReader<'_> {
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
                    self.mark_unknown();
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

    fn mark_unknown(&mut self) {
        self.word().is_known = false;
    }

    fn word(&mut self) -> &mut CommandWord {
        let begin = || CommandWord {
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
                self.mark_unknown();
                read_line(&inner, self.depth + 1, self.left, self.found);
            }
            Some('\'') => {
                // `$'…'` has its own escapes, which are not decoded here.
                self.at += 1;
                self.single_quotes();
                self.mark_unknown();
            }
            Some('"') => {}
            _ => {
                let name = self.variable();
                match name.as_str() {
                    "PWD" => self.push_text(PWD),
                    "HOME" => self.push_text(HOME),
                    "" => self.push('$'),
                    _ => self.mark_unknown(),
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
        self.mark_unknown();
        read_line(&inner, self.depth + 1, self.left, self.found);
    }

    /// The text up to the closing parenthesis; parentheses in quotes do not count.
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
        // A number before the sign is a file descriptor, not a word.
        let is_number =
            |word: &CommandWord| word.text.chars().all(|letter| letter.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_number) {
            self.word = None;
        } else {
            self.end_word();
        }
        if self.peek() == Some('(') {
            // `<(…)` is a word whose value is known only at run time.
            self.mark_unknown();
            self.end_word();
            return;
        }
        let is_plain_input = sign == '<' && !matches!(self.peek(), Some('<' | '&' | '>'));
        while matches!(self.peek(), Some('<' | '>' | '&' | '|')) {
            self.at += 1;
        }
        self.redirect = if is_plain_input {
            RedirectKind::Input
        } else {
            RedirectKind::Other
        };
    }

    fn end_word(&mut self) {
        let Some(word) = self.word.take() else {
            return;
        };
        match std::mem::replace(&mut self.redirect, RedirectKind::None) {
            RedirectKind::None => self.command.words.push(word),
            RedirectKind::Input => self.command.input = Some(word),
            RedirectKind::Other => {}
        }
    }

    fn end_command(&mut self, pipes: bool) {
        self.end_word();
        self.redirect = RedirectKind::None;
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
#[path = "shell_words_tests.rs"]
mod tests;
