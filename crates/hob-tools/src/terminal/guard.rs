//! Refuses command lines that would end the shared terminal, or nest tmux in it. Pure.
//!
//! This protects against mistakes; it is no security boundary, because a shell has more ways to
//! exit than are listed here. The person who is asked judges the rest of the line.

use crate::workspace_path::ToolRefusal;

/// Words before a command that do not change which program runs.
const BEFORE: &[&str] = &[
    "then", "do", "else", "elif", "if", "while", "until", "time", "!", "{", "builtin", "command",
    "nohup", "sudo",
];
/// Commands that end a shell.
const LEAVING: &[&str] = &["exit", "logout"];
/// tmux commands that end, nest or replace the terminal; tmux also accepts unique prefixes of them.
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
/// Short names of tmux for these commands.
const TMUX_SHORT: &[&str] = &["a", "at", "att", "new", "detach"];
/// Options of tmux that take a value.
const TMUX_VALUED: &[&str] = &["-c", "-f", "-L", "-S", "-T"];

/// Refuses a line that would end or nest the terminal.
pub(super) fn check(line: &str) -> Result<(), ToolRefusal> {
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
            return Err(ToolRefusal(format!(
                "'{program}' would end the terminal that the person shares; it is not run. To end with a code, use a subshell: (exit 3)."
            )));
        }
        if program == "exec" && names_a_program(&rest) {
            let reason = "'exec' would replace the shell of the shared terminal; run the program without it.";
            return Err(ToolRefusal(reason.to_owned()));
        }
        if program == "tmux" && ends_or_nests(&rest) {
            let reason = "This tmux command would end or nest the shared terminal; it is not run.";
            return Err(ToolRefusal(reason.to_owned()));
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
    // `tmux` without a command opens a nested terminal.
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

/// Returns true if `exec` has an argument that is no redirection.
fn names_a_program(rest: &[&str]) -> bool {
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let sign = word.trim_start_matches(|it: char| it.is_ascii_digit());
        if !sign.starts_with(['<', '>', '&']) {
            return true;
        }
        if sign.ends_with(['<', '>']) {
            // The next word is the file of the redirection.
            words.next();
        }
    }
    false
}

/// The commands that the shell itself would run, each as unquoted words. Commands in a subshell or
/// a substitution are left out: they can only end that.
fn commands(line: &str) -> Vec<Vec<String>> {
    let mut reader = GuardLineReader::default();
    let mut letters = line.chars().peekable();
    while let Some(letter) = letters.next() {
        reader.take(letter, &mut letters);
    }
    reader.end_command();
    reader.commands
}

#[derive(Default)]
struct GuardLineReader {
    commands: Vec<Vec<String>>,
    words: Vec<String>,
    word: String,
    /// True if a word began; a quoted word may be empty.
    has_word: bool,
    /// The current level of parentheses.
    depth: usize,
    /// True inside a comment.
    comment: bool,
}

type PeekableChars<'l> = std::iter::Peekable<std::str::Chars<'l>>;

impl GuardLineReader {
    fn take(&mut self, letter: char, rest: &mut PeekableChars<'_>) {
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

    /// Returns true if a sign is part of a redirection such as `2>&1` or `&>`.
    fn joins(&self, letter: char, rest: &mut PeekableChars<'_>) -> bool {
        let behind = self.word.ends_with(['>', '<']);
        letter != '&' || behind || rest.peek() == Some(&'>')
    }

    fn quoted(&mut self, quote: char, rest: &mut PeekableChars<'_>) {
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
