//! Matches a rule that denies or asks against a command line, however the line is spelt. Pure.
//!
//! The pattern is compared with the line as written and with every command found in it: by program
//! name, without quotes, behind wrappers and operators. An uncertain match becomes a question.

use super::compiled_rule::RuleMatch;
use super::pattern::{ArgumentPattern, PatternPiece, StarKind};
use crate::command_line::CommandLine;

/// Stands for a star while a pattern is parsed like a line. No program has it in its name.
const STAR: char = '\u{f0000}';

/// A command pattern, prepared for comparison with parsed lines.
#[derive(Clone, Debug)]
pub(super) struct RefusalPattern {
    /// With its words spelt like those of parsed lines.
    as_written: ArgumentPattern,
    /// The same with the program's file name, if it was written as a path.
    by_name: Option<ArgumentPattern>,
}

impl RefusalPattern {
    pub(super) fn from_pattern(pattern: &ArgumentPattern) -> RefusalPattern {
        let text = |piece: &PatternPiece| match piece {
            PatternPiece::Text(text) => text.clone(),
            PatternPiece::Star => STAR.to_string(),
        };
        let line: String = pattern.pieces.iter().map(text).collect();
        let parsed = CommandLine::parse(&line);
        // A pattern that is not a plain command is compared as written, apart from spaces.
        let is_plain =
            !parsed.is_unfinished && !parsed.has_grammar && !parsed.by_name.ends.is_empty();
        if !is_plain {
            let words = line
                .split([' ', '\t', '\n'])
                .filter(|word| !word.is_empty());
            let words: Vec<&str> = words.collect();
            return RefusalPattern {
                as_written: restore_stars(&words.join(" ")),
                by_name: None,
            };
        }
        let written = parsed.as_written.commands();
        let named = parsed.by_name.commands();
        RefusalPattern {
            as_written: restore_stars(written),
            by_name: (named != written).then(|| restore_stars(named)),
        }
    }

    /// Matches the rule's own `pattern` against a call's command.
    pub(super) fn match_command(
        &self,
        pattern: &ArgumentPattern,
        command: &str,
        line: &CommandLine,
    ) -> RuleMatch {
        let spellings = [&line.as_written, &line.by_name];
        let certain = pattern.matches(command, StarKind::Anything)
            || spellings
                .iter()
                .any(|line| self.as_written.matches_commands(line));
        if certain {
            return RuleMatch::Yes;
        }
        // A path can lead to the program of the same name, by a link or by the search path.
        let same_name = |by_name: &ArgumentPattern| by_name.matches_commands(&line.by_name);
        let may_fit =
            |pattern: &ArgumentPattern| spellings.iter().any(|it| pattern.may_match_commands(it));
        let open = line.is_opaque
            || self.by_name.as_ref().is_some_and(same_name)
            || may_fit(&self.as_written)
            || self.by_name.as_ref().is_some_and(may_fit);
        if open {
            RuleMatch::Maybe
        } else {
            RuleMatch::No
        }
    }
}

fn restore_stars(text: &str) -> ArgumentPattern {
    let mut pieces = Vec::new();
    for (index, part) in text.split(STAR).enumerate() {
        if index > 0 && pieces.last() != Some(&PatternPiece::Star) {
            pieces.push(PatternPiece::Star);
        }
        if !part.is_empty() {
            pieces.push(PatternPiece::Text(part.to_owned()));
        }
    }
    ArgumentPattern { pieces }
}

#[cfg(test)]
#[path = "refusal_pattern_tests.rs"]
mod tests;
