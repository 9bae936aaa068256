//! Parses words and operators into simple commands. Pure.
//!
//! Groups, subshells, `if`, `while` and `for` are looked through. For the rest of the grammar
//! (`case`, functions, arithmetic) the commands are still searched, and the line is opaque.

use super::lexer::ShellToken;
use super::word::ShellWord;
use super::wrappers;

/// A program with its arguments, as the shell starts it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommand {
    /// `name=value` before the program.
    pub(super) assignments: Vec<ShellWord>,
    /// The program and its arguments.
    pub words: Vec<ShellWord>,
    pub(super) redirects: Vec<ShellRedirect>,
    /// The operator after it: `;`, `&&`, empty at the end.
    pub(super) operator: &'static str,
    /// Its input is the output of the command before it.
    pub is_piped: bool,
    /// The number of subshells around it. A change of the working directory ends with its subshell.
    pub depth: usize,
    /// The words follow `case`, `[[` or `function`: they name no program.
    pub is_syntax: bool,
}

impl ShellCommand {
    /// Creates a command of these words.
    pub fn from_words(words: Vec<ShellWord>, depth: usize) -> ShellCommand {
        ShellCommand {
            words,
            depth,
            ..ShellCommand::default()
        }
    }

    /// Returns the words that name programs: wrappers such as `env` and `sudo` in order, and last
    /// the program they start, unless a wrapper's options hide it.
    pub fn programs(&self) -> ProgramChain {
        if self.is_syntax {
            return ProgramChain::default();
        }
        wrappers::program_chain(&self.words)
    }

    /// Returns the file of its standard input: `< file`.
    pub fn input(&self) -> Option<&ShellWord> {
        let mut redirects = self.redirects.iter().rev();
        let found = redirects.find(|it| matches!(it.sign.as_str(), "<" | "0<"));
        found.map(|redirect| &redirect.target)
    }

    /// Returns the here-document of its standard input.
    pub fn document(&self) -> Option<&str> {
        let mut redirects = self.redirects.iter().rev();
        redirects.find_map(|redirect| redirect.target.document.as_deref())
    }
}

/// The programs of one simple command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramChain {
    /// Indexes of words, in order: a wrapper comes before the program it starts.
    pub at: Vec<usize>,
    /// The options of the last one hide the program that it starts.
    pub is_lost: bool,
    /// Every argument before the last one was understood.
    pub(super) is_clear: bool,
    /// The last one gets arguments that the line does not contain (`xargs`).
    pub(super) more_arguments: bool,
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
    pub(super) substitutions: Vec<LineSubstitution>,
}

/// A command line that runs before a command of the line around it.
#[derive(Clone, Debug)]
pub(super) struct LineSubstitution {
    /// The index of that command.
    pub(super) before: usize,
    pub(super) depth: usize,
    pub(super) line: String,
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
    /// The next command gets the output of the one before.
    is_after_pipe: bool,
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
            ShellToken::Word(mut word) => {
                let lines = std::mem::take(&mut word.substitutions).into_iter();
                let substitutions = lines.map(|line| LineSubstitution {
                    before: self.parsed.commands.len(),
                    depth: self.depth,
                    line,
                });
                self.parsed.substitutions.extend(substitutions);
                word
            }
            ShellToken::Redirect(sign) => {
                self.parsed.is_opaque |= self.pending_redirect.replace(sign).is_some();
                return;
            }
            ShellToken::Operator(sign) => {
                self.end_command(sign);
                // A pipe may end its line.
                self.is_after_pipe &= sign == "\n";
                self.is_after_pipe |= matches!(sign, "|" | "|&");
                return;
            }
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
                // A parenthesis that nothing opened may belong to a pattern of `case`.
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
            // After an assignment no word is a keyword.
            self.command.words.push(word);
        } else if any(&["for", "select"]) {
            self.parsed.has_grammar = true;
            self.for_head = ForHead::Name;
        } else if any(&OPAQUE) {
            self.parsed.has_grammar = true;
            self.parsed.is_opaque = true;
            // Unlike the others, `coproc` is followed by a program.
            self.command.is_syntax = !word.is_bare("coproc");
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
        self.for_head = ForHead::None;
        let has_begun = self.has_begun();
        let mut command = std::mem::take(&mut self.command);
        // Two operators in a row leave an empty command.
        if !has_begun && command.redirects.is_empty() {
            return;
        }
        command.operator = if operator == "\n" { ";" } else { operator };
        command.is_piped = std::mem::take(&mut self.is_after_pipe);
        command.depth = self.depth;
        self.parsed.commands.push(command);
    }
}
