//! The prompt of an iteration, in this order: persistent memory, working memory, monitor output, the
//! previous response, the task, and the iteration number.
//!
//! Invariants: an empty section is left out; each section is bounded, and a cut is marked; command
//! output cannot close the fence around it.

use crate::excerpt::excerpt;
use hob_wire::loop_config::LOOP_TEXT_BYTES_MAX;
use std::fmt::Write as _;

/// The most bytes of the previous response.
const RESPONSE_BYTES_MAX: usize = 64 * 1024;
/// The most bytes of each output stream of the monitor.
const STREAM_BYTES_MAX: usize = 20 * 1024;
/// The most bytes of the sentence about a failed monitor.
const PROBLEM_BYTES_MAX: usize = 1_024;
/// The shortest fence.
const FENCE_MIN: usize = 3;

/// The contents of a prompt.
#[derive(Clone, Copy, Debug, Default)]
pub struct PromptInputs<'s> {
    pub persistent: &'s str,
    pub working: &'s str,
    pub monitor: Option<MonitorResult<'s>>,
    pub previous: &'s str,
    pub task: &'s str,
    pub iteration: u32,
}

/// The last result of the monitor.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonitorResult<'s> {
    /// The time of its end, formatted for a person.
    pub at: &'s str,
    /// `None` if it was killed or did not start.
    pub exit_code: Option<i32>,
    /// The reason it has no exit code.
    pub problem: Option<&'s str>,
    pub stdout: &'s str,
    pub stderr: &'s str,
}

/// Returns the prompt of an iteration.
pub fn iteration_prompt(shown: &PromptInputs<'_>) -> String {
    let mut text = String::new();
    let memory = |text: &str| excerpt(text, LOOP_TEXT_BYTES_MAX);
    section(&mut text, "Persistent Memory", &memory(shown.persistent));
    let title = "Working Memory (this iteration only)";
    section(&mut text, title, &memory(shown.working));
    if let Some(monitor) = &shown.monitor {
        section(&mut text, "Monitor Output", &monitor_section(monitor));
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
    let _ = write!(text, "## {title}\n\n{words}\n\n");
}

fn monitor_section(monitor: &MonitorResult<'_>) -> String {
    let mut words = format!("It ended at {}", monitor.at);
    match (monitor.exit_code, monitor.problem) {
        (Some(code), _) => {
            let _ = write!(words, " with exit code {code}.");
        }
        (None, problem) => {
            let problem = problem.unwrap_or("The reason is unknown.");
            // The sentence must stay on one line whatever it quotes.
            let problem = excerpt(problem, PROBLEM_BYTES_MAX).replace(['\n', '\r'], " ");
            let _ = write!(words, " without an exit code. {problem}");
        }
    }
    let mut printed = with_newline(excerpt(monitor.stdout, STREAM_BYTES_MAX));
    if !monitor.stderr.is_empty() {
        printed.push_str("[stderr]\n");
        printed.push_str(&with_newline(excerpt(monitor.stderr, STREAM_BYTES_MAX)));
    }
    if printed.is_empty() {
        words.push_str(" It printed nothing.");
        return words;
    }
    // The output cannot close a fence that is longer than any run of backticks in it.
    let fence = "`".repeat(longest_backtick_run(&printed).max(FENCE_MIN - 1) + 1);
    let _ = write!(words, "\n\n{fence}\n{printed}{fence}");
    words
}

/// Adds a final newline to a text that has none; an empty text stays empty.
fn with_newline(mut text: String) -> String {
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    text
}

/// Returns the length of the longest run of backticks.
fn longest_backtick_run(text: &str) -> usize {
    let runs = text.split(|letter| letter != '`');
    runs.map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
#[path = "prompt_tests.rs"]
mod tests;
