//! Command lines that would end the shared terminal, or nest tmux in it. Pure.
//!
//! This keeps a terminal alive against a slip; it is no wall, and a shell knows more ways to leave
//! than are named here. What a line does beside is for the person who is asked.

use crate::spot::Refused;

/// Words that come before a command and change nothing about which one it is.
const BEFORE: &[&str] = &[
    "then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "builtin", "command",
    "nohup", "sudo",
];
/// What ends a shell.
const LEAVING: &[&str] = &["exit", "logout"];
/// What tmux does to the terminal it is typed in, and every beginning of a word that it takes for
/// one of these.
const TMUX_REFUSED: &[&str] = &[
    "kill-server",
    "kill-session",
    "kill-window",
    "kill-pane",
    "attach-session",
    "detach-client",
    "new-session",
    "switch-client",
    "respawn-pane",
    "respawn-window",
    "link-window",
    "unlink-window",
    "pipe-pane",
];
/// tmux's own short names of them, and what is clear enough.
const TMUX_SHORT: &[&str] = &["a", "at", "att", "new", "detach"];
/// Options of tmux that take a value.
const TMUX_VALUED: &[&str] = &["-c", "-f", "-L", "-S", "-T"];

/// Refuses a line that would end or nest the terminal.
pub(super) fn check(line: &str) -> Result<(), Refused> {
    for words in commands(line) {
        let mut words = words.iter().map(String::as_str).peekable();
        while words
            .next_if(|word| BEFORE.contains(word) || is_assignment(word))
            .is_some()
        {}
        let Some(program) = words.next() else {
            continue;
        };
        let rest: Vec<&str> = words.collect();
        let program = program.rsplit('/').next().unwrap_or(program);
        if LEAVING.contains(&program) {
            return Err(Refused(format!(
                "'{program}' would end the terminal that the person shares; it is not run. To end with a code, use a subshell: (exit 3)."
            )));
        }
        if program == "exec" && names_a_program(&rest) {
            let told = "'exec' would replace the shell of the shared terminal; run the program without it.";
            return Err(Refused(told.to_owned()));
        }
        if program == "tmux" && ends_or_nests(&rest) {
            let told = "This tmux command would end or nest the shared terminal; it is not run.";
            return Err(Refused(told.to_owned()));
        }
    }
    Ok(())
}

fn ends_or_nests(rest: &[&str]) -> bool {
    let mut words = rest.iter();
    let mut asks_only = false;
    while let Some(word) = words.next() {
        if TMUX_VALUED.contains(word) {
            words.next();
        } else if word.starts_with('-') {
            asks_only |= *word == "-V" || *word == "-h";
        } else {
            let is_one = |full: &&str| full.starts_with(word) && word.len() >= 5;
            return TMUX_SHORT.contains(word) || TMUX_REFUSED.iter().any(is_one);
        }
    }
    // Alone it opens a terminal in the terminal.
    !asks_only
}

fn is_assignment(word: &str) -> bool {
    let Some((name, _)) = word.split_once('=') else {
        return false;
    };
    let mut letters = name.chars();
    letters
        .next()
        .is_some_and(|it| it.is_alphabetic() || it == '_')
        && letters.all(|it| it.is_alphanumeric() || it == '_')
}

/// Whether anything but redirections stands behind `exec`.
fn names_a_program(rest: &[&str]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let sign = word.trim_start_matches(|it: char| it.is_ascii_digit());
        if !sign.starts_with(['<', '>', '&']) {
            return true;
        }
        if sign.ends_with(['<', '>']) {
            // Its file is the next word.
            words.next();
        }
    }
    false
}

/// The commands of a line that its own shell would run, each as its words without quotes. What
/// stands in a subshell or a substitution ends only that.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = Reader::default();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        reader.take(letter, &mut letters);
    }
    reader.end_command();
    reader.commands
}

#[derive(Default)]
struct Reader {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    /// A quoted word may be empty and still be one.
    has_word: bool,
    /// Parentheses around what is read.
    depth: usize,
    /// Whether a word began that is a comment.
    comment: bool,
}

type Letters<'l> = std::iter::Peekable<std::str::Chars<'l>>;

impl Reader {
    fn take(&mut self, letter: char, rest: &mut Letters<'_>) {
        if self.comment {
            self.comment = letter != '\n';
            return;
        }
        match letter {
            '\\' => match rest.next() {
                Some('\n') | None => {}
                Some(next) => self.push(next),
            },
            '\'' | '"' | '`' => self.quoted(letter, rest),
            '(' => {
                self.end_word();
                self.depth += 1;
            }
            ')' => {
                self.end_word();
                self.depth = self.depth.saturating_sub(1);
            }
            '#' if !self.has_word => self.comment = true,
            '>' | '<' | '&' if self.joins(letter, rest) => self.push(letter),
            '\n' | ';' | '|' | '&' => self.end_command(),
            ' ' | '\t' => self.end_word(),
            other => self.push(other),
        }
    }

    /// Whether a sign is part of a redirection such as `2>&1` or `&>`.
    fn joins(&self, letter: char, rest: &mut Letters<'_>) -> bool {
        let behind = self.word.ends_with(['>', '<']);
        letter != '&' || behind || rest.peek() == Some(&'>')
    }

    fn quoted(&mut self, quote: char, rest: &mut Letters<'_>) {
        self.has_word |= self.depth == 0;
        while let Some(letter) = rest.next() {
            if letter == quote {
                return;
            }
            if letter == '\\' && quote != '\'' {
                if let Some(next) = rest.next() {
                    self.push(next);
                }
                continue;
            }
            self.push(letter);
        }
    }

    fn push(&mut self, letter: char) {
        if self.depth == 0 {
            self.word.push(letter);
            self.has_word = true;
        }
    }

    fn end_word(&mut self) {
        if self.depth == 0 && std::mem::take(&mut self.has_word) {
            self.words.push(std::mem::take(&mut self.word));
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        if self.depth == 0 && !self.words.is_empty() {
            self.commands.push(std::mem::take(&mut self.words));
        }
    }
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
