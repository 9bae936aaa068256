//! The live view of a loop as screen lines: title, status, monitor, prompt, answer and earlier
//! iterations. Pure.
//!
//! Invariants: the view has exactly as many lines as the screen has rows, and none is wider than
//! the screen; on a small screen the answer keeps its rows and the other sections shrink.

use super::watched_loop::{PastIteration, WatchedLoop};
use crate::render::loops::{monitor_text, state};
use crate::render::runs::money;
use crate::render::text::{one_line, pad, safe_lines, truncate, width, wrap};
use crate::render::work_terms::first_line;
use crate::render::{ScreenStyle, TextTone, time};
use hob_wire::rooms::loops::LoopPhase;

/// The most rows of each section besides the answer.
const MONITOR_ROWS: usize = 6;
const PROMPT_ROWS: usize = 4;
const PAST_ROWS: usize = 6;
/// The rows that the answer always keeps, including its heading.
const ANSWER_ROWS_MIN: usize = 4;
/// The frames of the spinner.
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// Returns the lines of the whole screen. `tick` selects the frame of the spinner.
pub(super) fn frame(watched: &WatchedLoop, screen: &ScreenStyle, tick: usize) -> Vec<String> {
    let columns = screen.width.unwrap_or(80).max(10);
    let rows = screen.rows.unwrap_or(24).max(4);
    let view = LoopScreen {
        watched,
        screen,
        columns,
    };
    let mut lines = vec![view.title(), view.status(tick)];
    let body = rows.saturating_sub(3);
    lines.extend(view.body(body));
    // Exactly rows - 1 lines, so that the footer is on the last row.
    lines.truncate(rows - 1);
    lines.resize(rows - 1, String::new());
    lines.push(view.footer());
    lines
}

struct LoopScreen<'s> {
    watched: &'s WatchedLoop,
    screen: &'s ScreenStyle,
    columns: usize,
}

impl LoopScreen<'_> {
    /// The loop's name, with the iteration on the right.
    fn title(&self) -> String {
        let watched = self.watched;
        let place = match (watched.state.iteration, watched.max_iterations) {
            (0, _) => "no iteration yet".to_owned(),
            (number, 0) => format!("iteration {number}"),
            (number, max)
                if watched.state.since_start == number || watched.state.since_start == 0 =>
            {
                format!("iteration {number} of {max}")
            }
            (number, max) => {
                format!("iteration {number}, {} of {max}", watched.state.since_start)
            }
        };
        let name = one_line(&watched.name);
        let room = self.columns.saturating_sub(width(&place) + 2);
        // A very narrow screen shows only the name.
        if room < 4 {
            let name = truncate(&name, self.columns);
            return self.screen.paint(TextTone::Heading, &name);
        }
        let name = truncate(&name, room);
        let gap = self.columns - width(&name) - width(&place);
        let name = self.screen.paint(TextTone::Heading, &name);
        format!("{name}{}{place}", " ".repeat(gap))
    }

    /// The current activity and its duration, with the model and the cost on the right.
    fn status(&self, tick: usize) -> String {
        let watched = self.watched;
        let (tone, activity) = self.activity(tick);
        let cost = money(watched.cost());
        let model = watched.model.as_deref().map(one_line).unwrap_or_default();
        let right = match (model.is_empty(), cost == "-") {
            (true, true) => String::new(),
            (true, false) => cost,
            (false, true) => model,
            (false, false) => format!("{model} · {cost}"),
        };
        let left = truncate(&activity, self.columns);
        let room = self.columns.saturating_sub(width(&left) + 2);
        // The activity matters more than the model and the cost, so those are dropped first.
        if width(&right) > room {
            return self.screen.paint(tone, &left);
        }
        let gap = self.columns - width(&left) - width(&right);
        format!(
            "{}{}{}",
            self.screen.paint(tone, &left),
            " ".repeat(gap),
            self.screen.paint(TextTone::Quiet, &right)
        )
    }

    fn activity(&self, tick: usize) -> (TextTone, String) {
        let watched = self.watched;
        let now = self.screen.now_ms;
        if watched.is_away {
            return (
                TextTone::Warning,
                "The daemon is away; waiting for it".to_owned(),
            );
        }
        if let Some((_, message)) = &watched.end {
            return (TextTone::Quiet, one_line(message));
        }
        if !watched.state.running {
            let name = one_line(&watched.name);
            let line = format!("{}; start it: hob loop start {name}", state(&watched.state));
            return (TextTone::Quiet, line);
        }
        let spinner = SPINNER[tick % SPINNER.len()];
        let spent = watched
            .began_at
            .map(|at| now.saturating_sub(at) / 1_000 * 1_000);
        let spent = spent.filter(|ms| *ms > 0);
        let spent = spent.map_or(String::new(), |ms| format!(" {}", time::span(ms)));
        match watched.state.phase {
            LoopPhase::Sleep => {
                let left = watched.state.next_at.map(|at| at.saturating_sub(now));
                let next = match left {
                    Some(0) | None => "next now".to_owned(),
                    Some(ms) => format!("next in {}", time::span(ms.div_ceil(1_000) * 1_000)),
                };
                match watched.state.errors {
                    0 => (TextTone::Quiet, format!("sleeping, {next}")),
                    1 => (TextTone::Warning, format!("failed, {next}")),
                    many => (TextTone::Warning, format!("failed {many} times, {next}")),
                }
            }
            LoopPhase::Stopping => (TextTone::Warning, format!("{spinner} stopping")),
            LoopPhase::Monitor => (TextTone::Good, format!("{spinner} monitor{spent}")),
            LoopPhase::Prompt => (TextTone::Good, format!("{spinner} asking{spent}")),
            LoopPhase::Idle => (TextTone::Good, format!("{spinner} starting")),
        }
    }

    /// Divides the rows among the sections and formats them.
    fn body(&self, rows: usize) -> Vec<String> {
        let watched = self.watched;
        let monitor = self.monitor();
        let prompt = self.prompt();
        let past = watched.past.len();
        let wanted = |lines: usize, most: usize| if lines == 0 { 0 } else { (lines + 1).min(most) };
        let mut monitor_rows = wanted(monitor.len(), MONITOR_ROWS);
        let mut prompt_rows = wanted(prompt.len(), PROMPT_ROWS);
        let mut past_rows = wanted(past, PAST_ROWS.max(rows / 4));
        let answer_rows = ANSWER_ROWS_MIN.max(rows * 2 / 5);
        // The prompt shrinks first, then the earlier iterations, then the monitor. A section needs
        // at least two rows, a heading and a line; then the first one is dropped.
        while monitor_rows + prompt_rows + past_rows > rows.saturating_sub(answer_rows) {
            let sections = [&mut prompt_rows, &mut past_rows, &mut monitor_rows];
            let mut sections = sections.into_iter().filter(|it| **it > 0);
            let mut shown: Vec<&mut usize> = sections.by_ref().collect();
            match shown.iter().position(|it| **it > 2) {
                Some(index) => *shown[index] -= 1,
                None => *shown[0] = 0,
            }
        }
        let answer_rows = rows - (monitor_rows + prompt_rows + past_rows);
        let mut out = Vec::new();
        out.extend(self.section(
            &self.monitor_heading(),
            &monitor,
            monitor_rows,
            SectionEnd::Last,
        ));
        out.extend(self.section("Prompt", &prompt, prompt_rows, SectionEnd::First));
        let answer = self.wrapped(&watched.answer);
        out.extend(self.section("Answer", &answer, answer_rows, SectionEnd::Last));
        let past: Vec<String> = watched.past.iter().map(|it| self.past_line(it)).collect();
        out.extend(self.section("Before", &past, past_rows, SectionEnd::First));
        out
    }

    /// A heading and below it the first or last lines, in exactly `rows` rows.
    fn section(
        &self,
        heading: &str,
        lines: &[String],
        rows: usize,
        end: SectionEnd,
    ) -> Vec<String> {
        if rows == 0 {
            return Vec::new();
        }
        let room = rows - 1;
        let shown = match end {
            SectionEnd::First => &lines[..lines.len().min(room)],
            SectionEnd::Last => &lines[lines.len().saturating_sub(room)..],
        };
        let heading = truncate(heading, self.columns.saturating_sub(4));
        let rest = self.columns.saturating_sub(width(&heading) + 4);
        let rule = format!("── {heading} {}", "─".repeat(rest));
        let mut out = vec![
            self.screen
                .paint(TextTone::Quiet, &truncate(&rule, self.columns)),
        ];
        out.extend(shown.iter().cloned());
        out.resize(rows, String::new());
        out
    }

    fn monitor_heading(&self) -> String {
        let Some(output) = &self.watched.monitor else {
            return "Monitor".to_owned();
        };
        let how = match (&output.problem, output.exit_code) {
            (Some(problem), _) => one_line(problem),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "no exit code".to_owned(),
        };
        format!("Monitor · {} · {how}", time::clock(output.at, self.screen))
    }

    fn monitor(&self) -> Vec<String> {
        let Some(output) = &self.watched.monitor else {
            let waits = self
                .watched
                .has_monitor
                .then(|| "has not run yet".to_owned());
            return waits.into_iter().collect();
        };
        let text = monitor_text(output);
        if text.trim().is_empty() {
            return vec![self.screen.paint(TextTone::Quiet, "printed nothing")];
        }
        let lines = safe_lines(&text);
        lines
            .iter()
            .map(|line| truncate(line, self.columns))
            .collect()
    }

    fn prompt(&self) -> Vec<String> {
        let lines = safe_lines(&self.watched.prompt);
        let lines = lines.iter().filter(|line| !line.trim().is_empty());
        lines.map(|line| truncate(line, self.columns)).collect()
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        let lines = safe_lines(text.trim_end());
        lines
            .iter()
            .flat_map(|line| wrap(line, self.columns))
            .collect()
    }

    fn past_line(&self, past: &PastIteration) -> String {
        let took = past.took_ms.map(short_span).unwrap_or_default();
        let mark = if past.ok { " " } else { "✗" };
        let line = format!(
            "{:>4} {mark} {}  {}",
            past.iteration,
            pad(&took, 6),
            first_line(&past.summary)
        );
        let line = truncate(&line, self.columns);
        if past.ok {
            return line;
        }
        self.screen.paint(TextTone::Warning, &line)
    }

    fn footer(&self) -> String {
        let text = if self.columns >= 60 {
            "q or Ctrl-C: close the view; the loop keeps running"
        } else {
            "q: close; the loop keeps running"
        };
        let line = truncate(text, self.columns);
        self.screen.paint(TextTone::Quiet, &line)
    }
}

/// The end of a section that is shown if it does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionEnd {
    First,
    Last,
}

/// Formats a duration in at most six columns.
fn short_span(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..60_000 => format!("{} s", ms / 1_000),
        60_000..3_600_000 => format!("{} min", ms / 60_000),
        _ => format!("{} h", ms / 3_600_000),
    }
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
