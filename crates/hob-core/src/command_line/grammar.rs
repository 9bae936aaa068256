//! Parses words and operators into simple commands. Pure.
//!
//! Groups, subshells, `if`, `while` and `for` are looked through. For the rest of the grammar
//! (`case`, functions, arithmetic) the commands are still searched, and the line is opaque.

use super::lexer::ShellToken;
use super::word::ShellWord;

/// A program with its arguments, as the shell starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShellCommand {
    /// `name=value` before the program.
    pub(super) assignments: Vec<ShellWord>,
    /// The program and its arguments.
    pub(super) words: Vec<ShellWord>,
    pub(super) redirects: Vec<ShellRedirect>,
    /// The operator after it: `;`, `&&`, empty at the end.
    pub(super) operator: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellRedirect {
    pub(super) sign: String,
    pub(super) target: ShellWord,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ParsedLine {
    pub(super) commands: Vec<ShellCommand>,
    pub(super) is_opaque: bool,
    /// The line has groups or keywords, which are part of no command.
    pub(super) has_grammar: bool,
}

/// Keywords that are followed by a command.
const BEFORE_COMMAND: [&str; 9] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{",
];
/// Keywords that end what one of those began.
const AFTER_COMMAND: [&str; 4] = ["fi", "done", "esac", "}"];
/// Keywords whose grammar is not parsed.
const OPAQUE: [&str; 5] = ["case", "function", "coproc", "[[", "]]"];

pub(super) fn parse(tokens: Vec<ShellToken>) -> ParsedLine {
    let mut parser = LineParser::default();
    for token in tokens {
        parser.take(token);
    }
    parser.end_command("");
    let mut parsed = parser.parsed;
    parsed.is_opaque |= parser.depth != 0 || parser.pending_redirect.is_some();
    parsed
}

#[derive(Debug, Default)]
struct LineParser {
    parsed: ParsedLine,
    command: ShellCommand,
    /// A redirection that waits for its target.
    pending_redirect: Option<String>,
    /// The parsed part of a `for` header.
    for_head: ForHead,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ForHead {
    #[default]
    None,
    /// The variable's name comes next.
    Name,
    /// `in` or `do` comes next.
    In,
    /// Words follow, which are data.
    Words,
}

impl LineParser {
    fn take(&mut self, token: ShellToken) {
        let word = match token {
            ShellToken::Word(word) => word,
            ShellToken::Redirect(sign) => {
                self.parsed.is_opaque |= self.pending_redirect.replace(sign).is_some();
                return;
            }
            ShellToken::Operator(sign) => return self.end_command(sign),
            ShellToken::Open => {
                // After a word it begins a function or a pattern.
                self.parsed.is_opaque |= self.has_begun() || self.for_head != ForHead::None;
                self.parsed.has_grammar = true;
                self.end_command(";");
                self.depth += 1;
                return;
            }
            ShellToken::Close => {
                self.end_command(";");
                self.parsed.is_opaque |= self.depth == 0;
                self.depth = self.depth.saturating_sub(1);
                return;
            }
        };
        match self.pending_redirect.take() {
            Some(sign) => self
                .command
                .redirects
                .push(ShellRedirect { sign, target: word }),
            None => self.take_word(word),
        }
    }

    fn take_word(&mut self, word: ShellWord) {
        match self.for_head {
            ForHead::None => {}
            ForHead::Name => return self.for_head = ForHead::In,
            ForHead::In if word.is_bare("do") => return self.for_head = ForHead::None,
            ForHead::In => {
                self.parsed.is_opaque |= !word.is_bare("in");
                return self.for_head = ForHead::Words;
            }
            ForHead::Words => return,
        }
        let any = |words: &[&str]| words.iter().any(|it| word.is_bare(it));
        if !self.command.words.is_empty() {
            self.command.words.push(word);
        } else if word.is_assignment() {
            self.command.assignments.push(word);
        } else if !self.command.assignments.is_empty() {
            self.command.words.push(word);
        } else if any(&["for", "select"]) {
            self.parsed.has_grammar = true;
            self.for_head = ForHead::Name;
        } else if any(&OPAQUE) {
            self.parsed.has_grammar = true;
            self.parsed.is_opaque = true;
        } else if any(&BEFORE_COMMAND) || any(&AFTER_COMMAND) {
            self.parsed.has_grammar = true;
        } else {
            self.command.words.push(word);
        }
    }

    fn has_begun(&self) -> bool {
        !self.command.words.is_empty() || !self.command.assignments.is_empty()
    }

    fn end_command(&mut self, operator: &'static str) {
        self.parsed.is_opaque |= self.pending_redirect.take().is_some();
        // `for name` may end its line before `do`.
        if self.for_head == ForHead::Words || self.for_head == ForHead::In {
            self.for_head = ForHead::None;
        }
        let mut command = std::mem::take(&mut self.command);
        // Two operators in a row leave an empty command.
        if command == ShellCommand::default() {
            return;
        }
        command.operator = if operator == "\n" { ";" } else { operator };
        self.parsed.commands.push(command);
    }
}
