//! Runs as tables and pages.

use super::table::Table;
use super::words::{count, dollars, grouped, many_lines, one_line, wrap};
use super::{Screen, Tone, damaged, moment};
use crate::mind::lines;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{CallView, Cost, RunState, RunView, Runs};
use hob_wire::work::Cause;

/// Letters of a run's id that a list shows.
pub const SHORT_ID_LETTERS: usize = 8;

/// A page of runs.
pub fn list(page: &Runs, screen: &Screen) -> Vec<String> {
    if page.runs.is_empty() && page.damaged.is_empty() {
        return vec!["No runs yet. Ask something: hob ask \"what time is it?\"".to_owned()];
    }
    let mut table = Table::new()
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
    out.extend(damaged::lines(&page.damaged, screen));
    if let Some(next) = page.next {
        let more = format!("More: hob run list --before {next}");
        out.push(screen.paint(Tone::Quiet, &more));
    }
    out
}

/// The end of a run's id, which is where ids differ; `hob run` takes it for the whole.
pub fn short_id(run: RunId) -> String {
    let id = run.0.simple().to_string();
    id[id.len() - SHORT_ID_LETTERS..].to_owned()
}

/// One run with everything known of it.
pub fn show(run: &RunView, screen: &Screen) -> Vec<String> {
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

fn head(run: &RunView, screen: &Screen) -> Vec<String> {
    let mut rows = vec![
        ("Run", run.run_id.to_string()),
        ("Session", one_line(&run.session_key)),
        ("State", state(run)),
        ("Model", one_line(run.model.as_deref().unwrap_or("-"))),
        ("Steps", steps(run)),
        ("Cost", cost(&run.cost)),
        ("Asked", moment::local(run.queued_at, screen)),
    ];
    if let Some(began) = run.started_at {
        let until = run.ended_at.unwrap_or(screen.now_ms);
        rows.push(("Took", moment::span(until.saturating_sub(began))));
    }
    rows.into_iter()
        .map(|(name, value)| {
            format!(
                "{}  {value}",
                screen.paint(Tone::Quiet, &format!("{name:<7}"))
            )
        })
        .collect()
}

fn section(out: &mut Vec<String>, heading: &str, body: Vec<String>, screen: &Screen) {
    if body.is_empty() {
        return;
    }
    out.push(String::new());
    out.push(screen.paint(Tone::Heading, heading));
    out.extend(
        body.into_iter()
            .map(|line| format!("  {line}").trim_end().to_owned()),
    );
}

fn call_lines(call: &CallView, screen: &Screen) -> Vec<String> {
    let room = screen.width.unwrap_or(200).saturating_sub(2);
    let state = lines::call_state(call);
    let line = format!(
        "step {}  {state:<9}  {}",
        call.step,
        lines::call_words(&call.call)
    );
    let mut out = vec![super::words::cut(&line, room)];
    // The id is what `hob run resolve` needs.
    if state == "in doubt" {
        out.push(format!("        call {}", one_line(&call.call.id)));
    }
    if let Some(result) = &call.result {
        let answer = format!("        ← {}", lines::result_words(result));
        out.push(super::words::cut(&answer, room));
    }
    out
}

fn wrapped(text: &str, screen: &Screen) -> Vec<String> {
    let room = screen
        .width
        .map_or(usize::MAX, |columns| columns.saturating_sub(2).max(20));
    let text = many_lines(text);
    text.iter().flat_map(|line| wrap(line, room)).collect()
}

/// How a run stands, in a word or two.
fn state(run: &RunView) -> String {
    let words = match run.state {
        RunState::Queued => "queued",
        RunState::Running => "running",
        RunState::Waiting => "asks permission",
        RunState::InDoubt => "in doubt",
        RunState::Paused => "paused",
        RunState::Done => match run.cause {
            None | Some(Cause::Answered) => "answered",
            Some(Cause::Aborted) => "stopped",
            Some(Cause::StepLimit) => "step limit",
            Some(Cause::TokenLimit) => "token limit",
            Some(Cause::MoneyLimit) => "money limit",
            Some(Cause::TimeLimit) => "time limit",
            Some(Cause::Budget) => "over budget",
            Some(Cause::ErrorStreak) => "errors",
            Some(Cause::RepeatedCall) => "repeats",
            Some(Cause::ModelFailed) => "model failed",
            Some(Cause::Denied) => "denied",
            Some(Cause::GivenUp) => "given up",
            Some(Cause::Parked) => "parked",
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
    let calls = count(u64::from(cost.calls), "call");
    let (input, output) = (grouped(cost.input_tokens), grouped(cost.output_tokens));
    format!("{} ({calls}, {input} tokens in, {output} out)", money(cost))
}

/// Money, or that its amount is not known.
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
