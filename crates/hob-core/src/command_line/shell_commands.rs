//! The simple commands of a line, those of its substitutions included. Pure.
//!
//! Invariant: commands and levels of substitutions are bounded; what is beyond is left out.

use super::grammar::{self, ShellCommand};
use super::lexer;

/// The most commands of one line.
const COMMANDS_MAX: usize = 64;
/// The most levels of substitutions: `$(…)` in `$(…)`.
const LEVELS_MAX: usize = 4;

/// The commands of a line in the order in which the shell begins them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShellCommands {
    pub commands: Vec<ShellCommand>,
    /// The line has groups, loops or other keywords.
    pub has_grammar: bool,
}

impl ShellCommands {
    /// Parses a line that runs within `depth` subshells.
    pub fn parse(line: &str, depth: usize) -> ShellCommands {
        let mut found = ShellCommands::default();
        found.read(line, depth, LEVELS_MAX);
        found
    }

    fn read(&mut self, line: &str, depth: usize, levels: usize) {
        let Some(levels) = levels.checked_sub(1) else {
            return;
        };
        let parsed = grammar::parse(lexer::lex(line).tokens);
        self.has_grammar |= parsed.has_grammar;
        let mut inner = parsed.substitutions.into_iter().peekable();
        for (index, mut command) in parsed.commands.into_iter().enumerate() {
            while let Some(inner) = inner.next_if(|inner| inner.before <= index) {
                self.read(&inner.line, depth + inner.depth + 1, levels);
            }
            command.depth += depth;
            let is_empty = command.words.is_empty() && command.assignments.is_empty();
            if !is_empty && self.commands.len() < COMMANDS_MAX {
                self.commands.push(command);
            }
        }
        // A substitution in the header of a `for` may belong to no command.
        for inner in inner {
            self.read(&inner.line, depth + inner.depth + 1, levels);
        }
    }
}

#[cfg(test)]
#[path = "shell_commands_tests.rs"]
mod tests;
