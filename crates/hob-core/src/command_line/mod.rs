//! Parses a shell command line into the programs it starts. Pure.
//!
//! Rules that deny or ask compare their patterns with every program of a line, however the line
//! spells it: after `;` or `|`, in a subshell, in quotes, by its path, behind `sudo` or `env`. The
//! grammar is that of bash. Constructs that cannot be parsed (substitutions, `sh -c`, `eval`,
//! aliases) make the line *opaque*: it may then start any program.
//!
//! - `lexer`, `quotes`, `word`: characters to words and operators, without quotes
//! - `grammar`: words and operators to simple commands
//! - [`ShellCommands`]: the simple commands themselves, those of substitutions included
//! - `wrappers`: the program behind `env`, `sudo`, `timeout`, …
//! - `programs`: programs and builtins that run what their arguments or input name
//!
//! Invariants: parsing never fails and is linear in the length of the line; a line that is not
//! opaque starts no program itself except those found in it. The actions of a script, `make` or any
//! other started program are not visible here.

mod grammar;
mod lexer;
mod programs;
mod quotes;
mod shell_commands;
mod word;
mod wrappers;

pub use grammar::{ProgramChain, ShellCommand};
pub use shell_commands::ShellCommands;
pub use word::{FolderVariable, ShellWord};

/// The most bytes of a line that are parsed; a longer line is opaque.
const LINE_BYTES_MAX: usize = 128 * 1024;

/// A parsed line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// Each program as the line names it: `/bin/rm x`.
    pub as_written: LineSpelling,
    /// Each program by its file name: `rm x`.
    pub by_name: LineSpelling,
    /// The line may start programs that were not found in it.
    pub is_opaque: bool,
    /// A quote, a substitution or a here-document is not closed.
    pub is_unfinished: bool,
    /// It has groups or keywords (`if`, `{`), which appear in neither spelling.
    pub has_grammar: bool,
}

/// The commands of a line in one spelling: words without quotes, one space between them, each
/// command's redirections after its words, ` ; ` and the like between commands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineSpelling {
    pub text: String,
    /// Byte positions where a command begins: at its assignments, its program, and the program
    /// that a wrapper starts.
    pub starts: Vec<usize>,
    /// Byte positions where a command ends: after its words, and after its redirections.
    pub ends: Vec<usize>,
    /// Byte positions from which the text is unknown before the line runs: variables and globs. The
    /// text there is as written.
    pub unknown: Vec<usize>,
}

impl CommandLine {
    pub fn parse(line: &str) -> CommandLine {
        if line.len() > LINE_BYTES_MAX {
            return CommandLine {
                is_opaque: true,
                ..CommandLine::default()
            };
        }
        let lexed = lexer::lex(line);
        let parsed = grammar::parse(lexed.tokens);
        let mut out = CommandLine {
            is_opaque: lexed.is_opaque || parsed.is_opaque,
            is_unfinished: lexed.is_unfinished,
            has_grammar: parsed.has_grammar,
            ..CommandLine::default()
        };
        for command in &parsed.commands {
            out.push(command);
        }
        out
    }

    fn push(&mut self, command: &ShellCommand) {
        let programs = self.programs_of(command);
        for spelling in [&mut self.as_written, &mut self.by_name] {
            if !spelling.text.is_empty() {
                spelling.text.push(' ');
            }
            if !command.assignments.is_empty() {
                spelling.starts.push(spelling.text.len());
            }
            for (index, word) in command.assignments.iter().enumerate() {
                if index > 0 {
                    spelling.text.push(' ');
                }
                spelling.push(word, &word.text);
            }
        }
        for (index, word) in command.words.iter().enumerate() {
            let is_program = programs.at.binary_search(&index).is_ok();
            let name = if is_program {
                word.file_name()
            } else {
                &word.text
            };
            let spellings = [&mut self.as_written, &mut self.by_name];
            for (spelling, text) in spellings.into_iter().zip([&word.text[..], name]) {
                if index > 0 || !command.assignments.is_empty() {
                    spelling.text.push(' ');
                }
                if is_program {
                    spelling.starts.push(spelling.text.len());
                }
                spelling.push(word, text);
            }
        }
        for spelling in [&mut self.as_written, &mut self.by_name] {
            // `xargs` appends words from its input, so the end of the command is unknown.
            if programs.more_arguments {
                spelling.text.push(' ');
                spelling.unknown.push(spelling.text.len());
            }
            spelling.end_command(command);
        }
    }

    /// Returns the words of a command that name programs; notes what makes the line opaque.
    fn programs_of(&mut self, command: &ShellCommand) -> ProgramChain {
        let mut assignments = command.assignments.iter();
        self.is_opaque |= assignments.any(ShellWord::names_substitution);
        // Words after `case` are looked through as well: the line is opaque, but a rule may name them.
        let programs = wrappers::program_chain(&command.words);
        self.is_opaque |= !programs.is_clear;
        for &at in &programs.at {
            let (program, arguments) = (&command.words[at], &command.words[at + 1..]);
            // A program named by a variable can be any program.
            self.is_opaque |= program.hides_its_file_name();
            self.is_opaque |= programs::may_run_others(program.file_name(), arguments);
        }
        programs
    }
}

impl LineSpelling {
    /// Returns all commands, without an operator after the last one.
    pub fn commands(&self) -> &str {
        &self.text[..self.ends.last().copied().unwrap_or(0)]
    }

    fn push(&mut self, word: &ShellWord, text: &str) {
        if let Some(at) = word.unknown_at {
            // A file name is the end of its word, so its unknown part begins later or at once.
            let cut = word.text.len() - text.len();
            self.unknown.push(self.text.len() + at.saturating_sub(cut));
        }
        self.text.push_str(text);
    }

    fn end_command(&mut self, command: &ShellCommand) {
        self.ends.push(self.text.len());
        for redirect in &command.redirects {
            self.text.push(' ');
            self.text.push_str(&redirect.sign);
            if !redirect.sign.ends_with('&') {
                self.text.push(' ');
            }
            self.push(&redirect.target, &redirect.target.text);
        }
        // Two ends, because a rule may name the command with its redirections or without.
        self.ends.push(self.text.len());
        if !command.operator.is_empty() {
            self.text.push(' ');
            self.text.push_str(command.operator);
        }
    }
}

#[cfg(test)]
#[path = "command_line_tests.rs"]
mod tests;
