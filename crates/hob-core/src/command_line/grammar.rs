//! Words and operators to simple commands. Pure.
//!
//! Groups, subshells, `if`, `while` and `for` are looked through. Of what the grammar has beside
//! (`case`, functions, arithmetic) the commands are still looked for, and the line is opaque.

use super::lexer::Token;
use super::word::Word;

/// A program with its arguments, as the shell starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SimpleCommand {
    /// `name=value` before the program.
    pub(super) assignments: Vec<Word>,
    /// The program and its arguments.
    pub(super) words: Vec<Word>,
    pub(super) redirects: Vec<Redirect>,
    /// What stands behind it: `;`, `&&`, nothing at the end.
    pub(super) operator: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Redirect {
    pub(super) sign: String,
    pub(super) target: Word,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Parsed {
    pub(super) commands: Vec<SimpleCommand>,
    pub(super) is_opaque: bool,
    /// It has groups or words of the grammar, which are in no command.
    pub(super) has_grammar: bool,
}

/// Words behind which a command begins.
const BEFORE_COMMAND: [&str; 9] = [
    "if", "then", "elif", "else", "while", "until", "do", "!", "{",
];
/// Words that end what one of those began.
const AFTER_COMMAND: [&str; 4] = ["fi", "done", "esac", "}"];
/// Words whose grammar is not followed.
const OPAQUE: [&str; 5] = ["case", "function", "coproc", "[[", "]]"];

pub(super) fn parse(tokens: Vec<Token>) -> Parsed {
    let mut parser = Parser::default();
    for token in tokens {
        parser.take(token);
    }
    parser.end_command("");
    let mut parsed = parser.parsed;
    parsed.is_opaque |= parser.depth != 0 || parser.sign.is_some();
    parsed
}

#[derive(Debug, Default)]
struct Parser {
    parsed: Parsed,
    command: SimpleCommand,
    /// A redirection that waits for its target.
    sign: Option<String>,
    /// How far the head of a `for` is read.
    head: Head,
    depth: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Head {
    #[default]
    None,
    /// The variable's name comes next.
    Name,
    /// `in` or `do` comes next.
    In,
    /// Words follow, which are data.
    Words,
}

impl Parser {
    fn take(&mut self, token: Token) {
        let word = match token {
            Token::Word(word) => word,
            Token::Redirect(sign) => {
                self.parsed.is_opaque |= self.sign.replace(sign).is_some();
                return;
            }
            Token::Operator(sign) => return self.end_command(sign),
            Token::Open => {
                // Behind a word it begins a function or a pattern.
                self.parsed.is_opaque |= self.has_begun() || self.head != Head::None;
                self.parsed.has_grammar = true;
                self.end_command(";");
                self.depth += 1;
                return;
            }
            Token::Close => {
                self.end_command(";");
                self.parsed.is_opaque |= self.depth == 0;
                self.depth = self.depth.saturating_sub(1);
                return;
            }
        };
        match self.sign.take() {
            Some(sign) => self.command.redirects.push(Redirect { sign, target: word }),
            None => self.take_word(word),
        }
    }

    fn take_word(&mut self, word: Word) {
        match self.head {
            Head::None => {}
            Head::Name => return self.head = Head::In,
            Head::In if word.is_bare("do") => return self.head = Head::None,
            Head::In => {
                self.parsed.is_opaque |= !word.is_bare("in");
                return self.head = Head::Words;
            }
            Head::Words => return,
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
            self.head = Head::Name;
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
        self.parsed.is_opaque |= self.sign.take().is_some();
        // `for name` may end its line before `do`.
        if self.head == Head::Words || self.head == Head::In {
            self.head = Head::None;
        }
        let mut command = std::mem::take(&mut self.command);
        if command == SimpleCommand::default() {
            return;
        }
        command.operator = if operator == "\n" { ";" } else { operator };
        self.parsed.commands.push(command);
    }
}
