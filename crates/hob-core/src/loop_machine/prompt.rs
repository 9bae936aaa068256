//! What an iteration asks, in the order Loop Runner has it: persistent memory, working memory,
//! what the monitor printed, the previous response, the task, and the number.
//!
//! Invariants: an empty section is left out; each is bounded, and what is cut is named; nothing a
//! command prints can close the fence around it.

use crate::excerpt::excerpt;
use hob_wire::looping::LOOP_TEXT_BYTES_MAX;
use std::fmt::Write as _;

/// Bytes of the previous response that are shown.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;
/// Bytes of each of a monitor's streams that are shown.
const STREAM_BYTES_MAX: usize = 20 * 1024;
/// Bytes of the sentence about a monitor that failed.
const PROBLEM_BYTES_MAX: usize = 1_024;
/// The shortest fence.
const FENCE_MIN: usize = 3;

/// What an iteration is shown.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shown<'s> {
    pub persistent: &'s str,
    pub working: &'s str,
    pub watched: Option<Watched<'s>>,
    pub previous: &'s str,
    pub task: &'s str,
    pub iteration: u32,
}

/// What the monitor said last.
#[derive(Clone, Copy, Debug, Default)]
pub struct Watched<'s> {
    /// When it ended, as a person writes it.
    pub at: &'s str,
    /// Missing when it was killed or did not start.
    pub exit_code: Option<i32>,
    /// Why it has no exit code.
    pub problem: Option<&'s str>,
    pub stdout: &'s str,
    pub stderr: &'s str,
}

/// The prompt of an iteration.
pub fn prompt(shown: &Shown<'_>) -> String {
    let mut text = String::new();
    let memory = |text: &str| excerpt(text, LOOP_TEXT_BYTES_MAX);
    section(&mut text, "Persistent Memory", &memory(shown.persistent));
    let title = "Working Memory (this iteration only)";
    section(&mut text, title, &memory(shown.working));
    if let Some(watched) = &shown.watched {
        section(&mut text, "Monitor Output", &watched_words(watched));
    }
    let previous = excerpt(shown.previous, RESPONSE_BYTES_MAX);
    section(&mut text, "Previous Response", &previous);
    section(&mut text, "Current Task", &memory(shown.task));
    // Writing to a string cannot fail.
    let _ = write!(text, "---\nIteration: {}", shown.iteration);
    text
}

fn section(text: &mut String, title: &str, words: &str) {
    let words = words.trim_matches(['\n', '\r']);
    if words.trim().is_empty() {
        return;
    }
    let _ = write!(text, "# {title}\n\n{words}\n\n");
}

fn watched_words(watched: &Watched<'_>) -> String {
    let mut words = format!("It ended at {}", watched.at);
    match (watched.exit_code, watched.problem) {
        (Some(code), _) => {
            let _ = write!(words, " with exit code {code}.");
        }
        (None, problem) => {
            let problem = problem.unwrap_or("Nobody knows how.");
            // A sentence of ours; kept on its line whatever it quotes.
            let problem = excerpt(problem, PROBLEM_BYTES_MAX).replace(['\n', '\r'], " ");
            let _ = write!(words, " without an exit code. {problem}");
        }
    }
    let mut printed = ended(excerpt(watched.stdout, STREAM_BYTES_MAX));
    if !watched.stderr.is_empty() {
        printed.push_str("[stderr]\n");
        printed.push_str(&ended(excerpt(watched.stderr, STREAM_BYTES_MAX)));
    }
    if printed.is_empty() {
        words.push_str(" It printed nothing.");
        return words;
    }
    let fence = "`".repeat(longest_run(&printed).max(FENCE_MIN - 1) + 1);
    let _ = write!(words, "\n\n{fence}\n{printed}{fence}");
    words
}

/// Text that ends with a line's end, if there is any.
fn ended(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// The longest run of backticks.
fn longest_run(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
