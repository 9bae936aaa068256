//! Formats runs.

use super::table::TextTable;
use super::text::{count_noun, dollars, group_thousands, one_line, safe_lines, wrap};
use super::{ScreenStyle, TextTone, damaged_rows, time};
use crate::run_ui::lines;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{AgentListResult, CallView, Cost, RunState, RunView};
use hob_wire::work::RunEndCause;

/// The letters of a run's id in a list.
pub const SHORT_ID_LETTERS: usize = 8;

/// A page of runs.
pub fn list(page: &AgentListResult, screen: &ScreenStyle) -> Vec<String> {
    if page.runs.is_empty() && page.damaged.is_empty() {
        return vec!["No runs yet. Ask something: hob ask \"what time is it?\"".to_owned()];
    }
    let mut table = TextTable::new()
        .column("RUN")
        .column("STATE")
        .column("MODEL")
        .number("COST")
        .number("AGE")
        .column("TASK");
    for run in &page.runs {
        let age = screen.now_ms.saturating_sub(run.queued_at);
        table.row(vec![
            short_id(run.run_id),
            state(run),
            one_line(run.model.as_deref().unwrap_or("-")),
            money(&run.cost),
            age_words(age),
            one_line(&run.task),
        ]);
    }
    let mut out = table.lines(screen);
    out.extend(damaged_rows::lines(&page.damaged, screen));
    if let Some(next) = page.next {
        let more = format!("More: hob run list --before {next}");
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out
}

/// The end of a run's id, where ids differ; `hob run` accepts it for the whole id.
pub fn short_id(run: RunId) -> String {
    let id = run.0.simple().to_string();
    id[id.len() - SHORT_ID_LETTERS..].to_owned()
}

/// All details of a run.
pub fn show(run: &RunView, screen: &ScreenStyle) -> Vec<String> {
    let mut out = head(run, screen);
    section(&mut out, "Task", wrapped(&run.task, screen), screen);
    let calls: Vec<String> = run
        .calls
        .iter()
        .flat_map(|call| call_lines(call, screen))
        .collect();
    section(&mut out, "Calls", calls, screen);
    let notes = run.notes.iter().map(|note| lines::sentence(note));
    let notes = notes.flat_map(|note| wrapped(&note, screen)).collect();
    section(&mut out, "Notes", notes, screen);
    section(&mut out, "Text", wrapped(&run.text, screen), screen);
    out
}

fn head(run: &RunView, screen: &ScreenStyle) -> Vec<String> {
    let mut rows = vec![
        ("Run", run.run_id.to_string()),
        ("Session", one_line(&run.session_key)),
        ("State", state(run)),
        ("Model", one_line(run.model.as_deref().unwrap_or("-"))),
        ("Steps", steps(run)),
        ("Cost", cost(&run.cost)),
        ("Asked", time::local(run.queued_at, screen)),
    ];
    if let Some(began) = run.started_at {
        let until = run.ended_at.unwrap_or(screen.now_ms);
        rows.push(("Took", time::span(until.saturating_sub(began))));
    }
    rows.into_iter()
        .map(|(name, value)| {
            format!(
                "{}  {value}",
                screen.paint(TextTone::Quiet, &format!("{name:<7}"))
            )
        })
        .collect()
}

fn section(out: &mut Vec<String>, heading: &str, body: Vec<String>, screen: &ScreenStyle) {
    if body.is_empty() {
        return;
    }
    out.push(String::new());
    out.push(screen.paint(TextTone::Heading, heading));
    out.extend(
        body.into_iter()
            .map(|line| format!("  {line}").trim_end().to_owned()),
    );
}

fn call_lines(call: &CallView, screen: &ScreenStyle) -> Vec<String> {
    let room = screen.width.unwrap_or(200).saturating_sub(2);
    let state = lines::call_state(call);
    let line = format!(
        "step {}  {state:<9}  {}",
        call.step,
        lines::describe_call(&call.call)
    );
    let mut out = vec![super::text::truncate(&line, room)];
    // `hob run resolve` needs the call id.
    if state == "in doubt" {
        out.push(format!("        call {}", one_line(&call.call.id)));
    }
    if let Some(result) = &call.result {
        let answer = format!("        ← {}", lines::describe_result(result));
        out.push(super::text::truncate(&answer, room));
    }
    out
}

fn wrapped(text: &str, screen: &ScreenStyle) -> Vec<String> {
    let room = screen
        .width
        .map_or(usize::MAX, |columns| columns.saturating_sub(2).max(20));
    let text = safe_lines(text);
    text.iter().flat_map(|line| wrap(line, room)).collect()
}

/// The state of a run in a word or two.
fn state(run: &RunView) -> String {
    let words = match run.state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::Waiting => "asks permission",
        RunState::InDoubt => "in doubt",
        RunState::Paused => "paused",
        RunState::Done => match run.cause {
            None | Some(RunEndCause::Answered) => "answered",
            Some(RunEndCause::Aborted) => "stopped",
            Some(RunEndCause::StepLimit) => "step limit",
            Some(RunEndCause::TokenLimit) => "token limit",
            Some(RunEndCause::MoneyLimit) => "money limit",
            Some(RunEndCause::TimeLimit) => "time limit",
            Some(RunEndCause::Budget) => "over budget",
            Some(RunEndCause::ErrorStreak) => "errors",
            Some(RunEndCause::RepeatedCall | RunEndCause::RepeatedText) => "repeats",
            Some(RunEndCause::ModelFailed) => "model failed",
            Some(RunEndCause::Denied) => "denied",
            Some(RunEndCause::GivenUp) => "given up",
            Some(RunEndCause::Parked) => "parked",
        },
    };
    words.to_owned()
}

fn steps(run: &RunView) -> String {
    if run.attempt > 1 {
        format!("{} (attempt {})", run.step, run.attempt)
    } else {
        run.step.to_string()
    }
}

fn cost(cost: &Cost) -> String {
    let calls = count_noun(u64::from(cost.calls), "call");
    let (input, output) = (
        group_thousands(cost.input_tokens),
        group_thousands(cost.output_tokens),
    );
    format!("{} ({calls}, {input} tokens in, {output} out)", money(cost))
}

/// The cost in dollars, or that it is unknown.
pub fn money(cost: &Cost) -> String {
    match cost.micro_dollars {
        Some(micro) => dollars(micro),
        None if cost.calls == 0 => "-".to_owned(),
        None => "unknown".to_owned(),
    }
}

/// An age in its largest unit: `3 min`.
fn age_words(ms: u64) -> String {
    let seconds = ms / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
#[path = "runs_tests.rs"]
mod tests;
