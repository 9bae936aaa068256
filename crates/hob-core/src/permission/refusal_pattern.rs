//! Whether a rule that denies or asks covers a command line, however the line is spelt. Pure.
//!
//! The pattern is compared with the line as it is, and with every command found in it: its
//! program by name, without quotes, behind wrappers and operators. What cannot be told becomes a
//! question.

use super::cover::Fit;
use super::pattern::{Pattern, Piece, Star};
use crate::command_line::CommandLine;

/// Stands for a star while a pattern is taken apart like a line. No program has it in its name.
const STAR: char = '\u{f0000}';

/// A pattern of a command, as taken-apart lines are compared with it.
#[derive(Clone, Debug)]
pub(super) struct RefusedCommand {
    /// With its words in the spelling of taken-apart lines.
    words: Pattern,
    /// The same with the program by its file name, where it was written as a path.
    by_name: Option<Pattern>,
}

impl RefusedCommand {
    pub(super) fn of(pattern: &Pattern) -> RefusedCommand {
        let text = |piece: &Piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Star => STAR.to_string(),
        };
        let line: String = pattern.pieces.iter().map(text).collect();
        let parsed = CommandLine::parse(&line);
        // What is no plain command is compared as it stands, but for its spaces.
        let is_plain =
            !parsed.is_unfinished && !parsed.has_grammar && !parsed.by_name.ends.is_empty();
        if !is_plain {
            let words = line
                .split([' ', '\t', '\n'])
                .filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            return RefusedCommand {
                words: with_stars(&words.join(" ")),
                by_name: None,
            };
        }
        let written = parsed.as_written.commands();
        let named = parsed.by_name.commands();
        RefusedCommand {
            words: with_stars(written),
            by_name: (named != written).then(|| with_stars(named)),
        }
    }

    /// How the rule's own `pattern` fits a call's command.
    pub(super) fn fit(&self, pattern: &Pattern, command: &str, line: &CommandLine) -> Fit {
        let spellings = [&line.as_written, &line.by_name];
        let certain = pattern.fits(command, Star::Anything)
            || spellings.iter().any(|line| self.words.fits_commands(line));
        if certain {
            return Fit::Yes;
        }
        // A path can lead to the program of the same name, by a link or by the search path.
        let same_name = |by_name: &Pattern| by_name.fits_commands(&line.by_name);
        let may_fit = |pattern: &Pattern| spellings.iter().any(|it| pattern.may_fit_commands(it));
        let open = line.is_opaque
            || self.by_name.as_ref().is_some_and(same_name)
            || may_fit(&self.words)
            || self.by_name.as_ref().is_some_and(may_fit);
        if open { Fit::Open } else { Fit::No }
    }
}

fn with_stars(text: &str) -> Pattern {
    let mut pieces = Vec::new();
    for (index, part) in text.split(STAR).enumerate() {
        if index > 0 && pieces.last() != Some(&Piece::Star) {
            pieces.push(Piece::Star);
        }
        if !part.is_empty() {
            pieces.push(Piece::Text(part.to_owned()));
        }
    }
    Pattern { pieces }
}

#[cfg(test)]
#[path = "refused_command_tests.rs"]
mod tests;
