//! The live view of a loop as lines of a screen: who it is and what it does, the monitor, the
//! prompt, the answer, those before. Pure.
//!
//! Invariants: there are exactly as many lines as the screen has rows, none wider than it; on a
//! small screen the answer stays and the rest gives way.

use super::seen::{Past, Seen};
use crate::render::loops::{monitor_text, state};
use crate::render::runs::money;
use crate::render::terms::first_line;
use crate::render::words::{cut, many_lines, one_line, pad, width, wrap};
use crate::render::{Screen, Tone, moment};
use hob_wire::rooms::loops::LoopPhase;

/// Rows of the sections besides the answer on a screen with room for them.
const MONITOR_ROWS: usize = 6;
const PROMPT_ROWS: usize = 4;
const PAST_ROWS: usize = 6;
/// Rows that the answer keeps whatever else wants them, its heading included.
const ANSWER_ROWS_MIN: usize = 4;
/// Letters that turn while something is at work.
const SPINNER: [char; 4] = ['|', '/', '-', '\\'];

/// The whole screen. `tick` turns the spinner.
pub(super) fn frame(seen: &Seen, screen: &Screen, tick: usize) -> Vec<String> {
    let columns = screen.width.unwrap_or(80).max(10);
    let rows = screen.rows.unwrap_or(24).max(4);
    let view = View {
        seen,
        screen,
        columns,
    };
    let mut lines = vec![view.title(), view.status(tick)];
    let body = rows.saturating_sub(3);
    lines.extend(view.body(body));
    lines.truncate(rows - 1);
    lines.resize(rows - 1, String::new());
    lines.push(view.foot());
    lines
}

struct View<'s> {
    seen: &'s Seen,
    screen: &'s Screen,
    columns: usize,
}

impl View<'_> {
    /// The loop's name, and on the right where it is.
    fn title(&self) -> String {
        let seen = self.seen;
        let place = match (seen.state.iteration, seen.max_iterations) {
            (0, _) => "no iteration yet".to_owned(),
            (number, 0) => format!("iteration {number}"),
            (number, max) if seen.state.since_start == number || seen.state.since_start == 0 => {
                format!("iteration {number} of {max}")
            }
            (number, max) => {
                format!("iteration {number}, {} of {max}", seen.state.since_start)
            }
        };
        let name = one_line(&seen.name);
        let room = self.columns.saturating_sub(width(&place) + 2);
        // A screen that narrow shows the name alone.
        if room < 4 {
            let name = cut(&name, self.columns);
            return self.screen.paint(Tone::Heading, &name);
        }
        let name = cut(&name, room);
        let gap = self.columns - width(&name) - width(&place);
        let name = self.screen.paint(Tone::Heading, &name);
        format!("{name}{}{place}", " ".repeat(gap))
    }

    /// What it is doing, for how long, or for how long not; the model and the cost on the right.
    fn status(&self, tick: usize) -> String {
        let seen = self.seen;
        let (tone, words) = self.doing(tick);
        let cost = money(seen.cost());
        let model = seen.model.as_deref().map(one_line).unwrap_or_default();
        let right = match (model.is_empty(), cost == "-") {
            (true, true) => String::new(),
            (true, false) => cost,
            (false, true) => model,
            (false, false) => format!("{model} · {cost}"),
        };
        let left = cut(&words, self.columns);
        let room = self.columns.saturating_sub(width(&left) + 2);
        // What it does matters more than what it costs.
        if width(&right) > room {
            return self.screen.paint(tone, &left);
        }
        let gap = self.columns - width(&left) - width(&right);
        format!(
            "{}{}{}",
            self.screen.paint(tone, &left),
            " ".repeat(gap),
            self.screen.paint(Tone::Quiet, &right)
        )
    }

    fn doing(&self, tick: usize) -> (Tone, String) {
        let seen = self.seen;
        let now = self.screen.now_ms;
        if seen.is_away {
            return (
                Tone::Warning,
                "The daemon is away; waiting for it".to_owned(),
            );
        }
        if let Some((_, message)) = &seen.end {
            return (Tone::Quiet, one_line(message));
        }
        if !seen.state.running {
            let name = one_line(&seen.name);
            let line = format!("{}; hob loop start {name} starts it", state(&seen.state));
            return (Tone::Quiet, line);
        }
        let spinner = SPINNER[tick % SPINNER.len()];
        let spent = seen
            .began_at
            .map(|at| now.saturating_sub(at) / 1_000 * 1_000);
        let spent = spent.filter(|ms| *ms > 0);
        let spent = spent.map_or(String::new(), |ms| format!(" {}", moment::span(ms)));
        match seen.state.phase {
            LoopPhase::Sleep => {
                let left = seen.state.next_at.map(|at| at.saturating_sub(now));
                let next = match left {
                    Some(0) | None => "next now".to_owned(),
                    Some(ms) => format!("next in {}", moment::span(ms.div_ceil(1_000) * 1_000)),
                };
                match seen.state.errors {
                    0 => (Tone::Quiet, format!("sleeping, {next}")),
                    1 => (Tone::Warning, format!("failed, {next}")),
                    many => (Tone::Warning, format!("failed {many} times, {next}")),
                }
            }
            LoopPhase::Stopping => (Tone::Warning, format!("{spinner} stopping")),
            LoopPhase::Monitor => (Tone::Good, format!("{spinner} monitor{spent}")),
            LoopPhase::Prompt => (Tone::Good, format!("{spinner} asking{spent}")),
            LoopPhase::Idle => (Tone::Good, format!("{spinner} starting")),
        }
    }

    /// The sections, each with the rows it gets.
    fn body(&self, rows: usize) -> Vec<String> {
        let seen = self.seen;
        let monitor = self.monitor();
        let prompt = self.prompt();
        let past = seen.past.len();
        let wanted = |lines: usize, most: usize| if lines == 0 { 0 } else { (lines + 1).min(most) };
        let mut monitor_rows = wanted(monitor.len(), MONITOR_ROWS);
        let mut prompt_rows = wanted(prompt.len(), PROMPT_ROWS);
        let mut past_rows = wanted(past, PAST_ROWS.max(rows / 4));
        let answer_rows = ANSWER_ROWS_MIN.max(rows * 2 / 5);
        // The prompt gives way first, then those before, then the monitor; two rows are the least
        // that say something.
        while monitor_rows + prompt_rows + past_rows > rows.saturating_sub(answer_rows) {
            let sections = [&mut prompt_rows, &mut past_rows, &mut monitor_rows];
            let mut sections = sections.into_iter().filter(|it| **it > 0);
            let mut standing: Vec<&mut usize> = sections.by_ref().collect();
            match standing.iter().position(|it| **it > 2) {
                Some(index) => *standing[index] -= 1,
                None => *standing[0] = 0,
            }
        }
        let answer_rows = rows - (monitor_rows + prompt_rows + past_rows);
        let mut out = Vec::new();
        out.extend(self.section(&self.monitor_heading(), &monitor, monitor_rows, End::Last));
        out.extend(self.section("Prompt", &prompt, prompt_rows, End::First));
        let answer = self.wrapped(&seen.answer);
        out.extend(self.section("Answer", &answer, answer_rows, End::Last));
        let past: Vec<String> = seen.past.iter().map(|it| self.past(it)).collect();
        out.extend(self.section("Before", &past, past_rows, End::First));
        out
    }

    /// A heading and below it the first or the last lines, in so many rows.
    fn section(&self, heading: &str, lines: &[String], rows: usize, end: End) -> Vec<String> {
        if rows == 0 {
            return Vec::new();
        }
        let room = rows - 1;
        let shown = match end {
            End::First => &lines[..lines.len().min(room)],
            End::Last => &lines[lines.len().saturating_sub(room)..],
        };
        let heading = cut(heading, self.columns.saturating_sub(4));
        let rest = self.columns.saturating_sub(width(&heading) + 4);
        let rule = format!("── {heading} {}", "─".repeat(rest));
        let mut out = vec![self.screen.paint(Tone::Quiet, &cut(&rule, self.columns))];
        out.extend(shown.iter().cloned());
        out.resize(rows, String::new());
        out
    }

    fn monitor_heading(&self) -> String {
        let Some(output) = &self.seen.monitor else {
            return "Monitor".to_owned();
        };
        let how = match (&output.problem, output.exit_code) {
            (Some(problem), _) => one_line(problem),
            (None, Some(code)) => format!("exit code {code}"),
            (None, None) => "no exit code".to_owned(),
        };
        format!(
            "Monitor · {} · {how}",
            moment::clock(output.at, self.screen)
        )
    }

    fn monitor(&self) -> Vec<String> {
        let Some(output) = &self.seen.monitor else {
            let waits = self.seen.has_monitor.then(|| "has not run yet".to_owned());
            return waits.into_iter().collect();
        };
        let text = monitor_text(output);
        if text.trim().is_empty() {
            return vec![self.screen.paint(Tone::Quiet, "printed nothing")];
        }
        let lines = many_lines(&text);
        lines.iter().map(|line| cut(line, self.columns)).collect()
    }

    fn prompt(&self) -> Vec<String> {
        let lines = many_lines(&self.seen.prompt);
        let lines = lines.iter().filter(|line| !line.trim().is_empty());
        lines.map(|line| cut(line, self.columns)).collect()
    }

    fn wrapped(&self, text: &str) -> Vec<String> {
        let lines = many_lines(text.trim_end());
        lines
            .iter()
            .flat_map(|line| wrap(line, self.columns))
            .collect()
    }

    fn past(&self, past: &Past) -> String {
        let took = past.took_ms.map(short_span).unwrap_or_default();
        let mark = if past.ok { " " } else { "✗" };
        let line = format!(
            "{:>4} {mark} {}  {}",
            past.iteration,
            pad(&took, 6),
            first_line(&past.words)
        );
        let line = cut(&line, self.columns);
        if past.ok {
            return line;
        }
        self.screen.paint(Tone::Warning, &line)
    }

    fn foot(&self) -> String {
        let words = if self.columns >= 60 {
            "q or Ctrl-C leaves; the loop goes on"
        } else {
            "q leaves; the loop goes on"
        };
        let line = cut(words, self.columns);
        self.screen.paint(Tone::Quiet, &line)
    }
}

/// Which lines of a section are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    First,
    Last,
}

/// A span in six columns at most.
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
