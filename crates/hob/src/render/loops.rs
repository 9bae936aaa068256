//! Formats loops: the list, one loop, its iterations and its memories. Pure.

use super::runs::money;
use super::table::TextTable;
use super::text::{count_noun, dollars, one_line, safe_lines, wrap};
use super::work_terms::{budget_words, first_line, grant_words, notify_words, pairs, section};
use super::{ScreenStyle, TextTone, time};
use hob_kit::duration::format_ms;
use hob_wire::NetworkGrant;
use hob_wire::rooms::loops::{
    IterationRecord, Loop, LoopDeleteResult, LoopEnd, LoopHistoryResult, LoopListResult,
    LoopMemory, LoopPersistentResult, LoopPhase, LoopState, MonitorOutput, WorkOutcome,
};
use hob_wire::work::RunEndCause;

/// The list of loops, one per line.
pub fn list(found: &LoopListResult, screen: &ScreenStyle) -> Vec<String> {
    if found.loops.is_empty() {
        return vec![
            "There are no loops. Make one: hob loop create NAME --task \"…\" --start".to_owned(),
        ];
    }
    let mut table = TextTable::new()
        .column("NAME")
        .column("STATE")
        .number("ITERATION")
        .lesser()
        .column("NEXT")
        .number("COST")
        .lesser()
        .column("TASK");
    for one in &found.loops {
        let next = one.state.next_at.filter(|_| one.state.running);
        table.row(vec![
            one_line(&one.name),
            format!("{}{}", state(&one.state), last_mark(&one.state)),
            iteration_words(one),
            next.map_or_else(String::new, |at| time::until(at, screen)),
            money(&one.state.cost),
            first_line(&one.config.user),
        ]);
    }
    table.lines(screen)
}

/// The position of a loop: `7/10` if it has a last iteration.
fn iteration_words(one: &Loop) -> String {
    match one.config.max_iterations {
        0 => one.state.iteration.to_string(),
        max if one.state.since_start == one.state.iteration => {
            format!("{}/{max}", one.state.iteration)
        }
        max => format!("{} ({}/{max})", one.state.iteration, one.state.since_start),
    }
}

/// The state of a loop in a word or two.
pub fn state(state: &LoopState) -> &'static str {
    if state.running {
        return match state.phase {
            LoopPhase::Idle => "starting",
            LoopPhase::Monitor => "monitor",
            LoopPhase::Prompt => "asking",
            LoopPhase::Sleep if state.errors > 0 => "retrying",
            LoopPhase::Sleep => "sleeping",
            LoopPhase::Stopping => "stopping",
        };
    }
    match state.stopped {
        None if state.iteration == 0 => "new",
        None => "idle",
        Some(LoopEnd::Stopped) => "stopped",
        Some(LoopEnd::MaxIterations | LoopEnd::Once) => "done",
        Some(LoopEnd::Money) => "out of money",
        Some(LoopEnd::Errors) => "gave up",
    }
}

/// The mark in a list for a last iteration with denials or failures.
fn last_mark(state: &LoopState) -> &'static str {
    match state.outcome {
        Some(WorkOutcome::RanWithDenials) => " (denials)",
        Some(WorkOutcome::RanWithFailures) => " (last call failed)",
        _ => "",
    }
}

fn tone(state: &LoopState) -> TextTone {
    match (state.running, state.stopped) {
        (true, _) if state.errors > 0 => TextTone::Warning,
        (true, _) => TextTone::Good,
        (false, Some(LoopEnd::Errors)) => TextTone::Bad,
        (false, Some(LoopEnd::Money)) => TextTone::Warning,
        (false, _) => TextTone::Quiet,
    }
}

/// All details of a loop.
pub fn show(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let (config, now) = (&one.config, &one.state);
    let mut out = pairs(&facts(one, screen), screen);
    out.extend(section("Task", &config.user, screen));
    out.extend(section("Instructions", &config.system, screen));
    let revision = one.persistent.revision;
    let heading = format!("Persistent memory (revision {revision})");
    out.extend(section(&heading, &one.persistent.text, screen));
    let heading = "Working memory (for the next iteration)";
    out.extend(section(heading, &one.working.text, screen));
    if let Some(output) = &now.monitor {
        let heading = format!("Monitor ({})", monitor_words(output, screen));
        out.extend(section(&heading, &monitor_text(output), screen));
    }
    let last = now.last_response.as_deref().unwrap_or_default();
    out.extend(section("Last answer", last, screen));
    out
}

/// The short facts about a loop, with their labels.
fn facts(one: &Loop, screen: &ScreenStyle) -> Vec<(&'static str, String)> {
    let (config, now) = (&one.config, &one.state);
    let mut rows = vec![
        ("Name", one_line(&one.name)),
        ("State", state_words(one, screen)),
        ("Iteration", iteration_words(one)),
        (
            "Model",
            one_line(config.model.as_deref().unwrap_or("the default model")),
        ),
        ("Every", format_ms(config.interval_ms)),
    ];
    if let Some(at) = now.next_at.filter(|_| now.running) {
        rows.push(("Next", date_and_distance(at, screen)));
    }
    if let Some(monitor) = &config.monitor {
        let every = monitor
            .interval_ms
            .map(|ms| format!("every {}", format_ms(ms)));
        let every = every.unwrap_or_else(|| "before each iteration".to_owned());
        let network = match monitor.network {
            NetworkGrant::Off => "",
            NetworkGrant::Proxy => ", with network",
            NetworkGrant::Host => ", with this machine's own network",
        };
        let command = one_line(&monitor.command);
        rows.push(("Monitor", format!("{command} ({every}{network})")));
    }
    rows.push((
        "Folder",
        one_line(config.workspace.as_deref().unwrap_or_default()),
    ));
    rows.push(("Limits", limits(one)));
    let may = config.grants.iter().map(grant_words).collect::<Vec<_>>();
    rows.push(("May", may.join("; ")));
    if let Some(tools) = &config.tools {
        let tools = one_line(&tools.join(", "));
        rows.push((
            "Tools",
            if tools.is_empty() {
                "none".to_owned()
            } else {
                tools
            },
        ));
    }
    rows.push((
        "Tells",
        config.notify.as_ref().map(notify_words).unwrap_or_default(),
    ));
    rows.push(("Cost", format!("{} since its start", money(&now.cost))));
    rows.push((
        "Error",
        now.last_error.as_deref().map(one_line).unwrap_or_default(),
    ));
    rows
}

/// A time as its date and as its distance from now.
pub fn date_and_distance(at: u64, screen: &ScreenStyle) -> String {
    let local = time::local(at, screen);
    match time::until(at, screen) {
        off if off.starts_with("in ") => format!("{local} ({off})"),
        _ => local,
    }
}

fn state_words(one: &Loop, screen: &ScreenStyle) -> String {
    let word = state(&one.state);
    let why = match (one.state.running, one.state.stopped, one.state.errors) {
        (true, _, errors @ 1..) => format!(" after {}", count_noun(u64::from(errors), "failure")),
        (false, Some(LoopEnd::Errors), errors) => {
            format!(
                " after {} in a row",
                count_noun(u64::from(errors), "failure")
            )
        }
        _ => String::new(),
    };
    format!("{}{why}", screen.paint(tone(&one.state), word))
}

fn limits(one: &Loop) -> String {
    let config = &one.config;
    let each = budget_words(&config.budget);
    let each = (!each.is_empty()).then(|| format!("{each} each"));
    let total = config.total_micro_dollars;
    let total = total.map(|micro| format!("{} in all", dollars(micro)));
    let parts = [each, total].into_iter().flatten();
    parts.collect::<Vec<_>>().join("; ")
}

/// The outcome of a monitor run: `14:03:05, exit code 0, 12 ms`.
pub fn monitor_words(output: &MonitorOutput, screen: &ScreenStyle) -> String {
    let how = match (&output.problem, output.exit_code) {
        (Some(problem), _) => one_line(problem),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => "no exit code".to_owned(),
    };
    let took = time::span(output.duration_ms);
    format!("{}, {how}, {took}", time::clock(output.at, screen))
}

/// The output of a monitor, with stderr marked as the model sees it.
pub fn monitor_text(output: &MonitorOutput) -> String {
    let (stdout, stderr) = (output.stdout.trim_end(), output.stderr.trim_end());
    match (stdout.is_empty(), stderr.is_empty()) {
        (_, true) => stdout.to_owned(),
        (true, false) => format!("[stderr]\n{stderr}"),
        (false, false) => format!("{stdout}\n[stderr]\n{stderr}"),
    }
}

pub fn created(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&one.name);
    let mut out = vec![screen.paint(TextTone::Good, &format!("Made the loop {name}."))];
    out.extend(may(one, screen));
    let next = format!("Start it: hob loop start {name}");
    out.push(screen.paint(TextTone::Quiet, &next));
    out
}

pub fn updated(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&one.name);
    let when = if one.state.running {
        "; this applies from its next iteration"
    } else {
        ""
    };
    let line = format!("Changed {name}{when}.");
    let mut out = vec![screen.paint(TextTone::Good, &line)];
    out.extend(may(one, screen));
    out
}

fn may(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let grants = one.config.grants.iter().map(grant_words);
    let lines = grants.map(|grant| format!("It may: {grant}"));
    let room = screen.width.unwrap_or(usize::MAX);
    lines.flat_map(|line| wrap(&line, room)).collect()
}

pub fn started(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&one.name);
    let until = match one.config.max_iterations {
        0 => String::new(),
        max => format!(", {}", count_noun(u64::from(max), "iteration")),
    };
    let line = format!("{name} runs{until}.");
    let next = format!("Watch it: hob loop watch {name}");
    vec![
        screen.paint(TextTone::Good, &line),
        screen.paint(TextTone::Quiet, &next),
    ]
}

pub fn begun(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&one.name);
    let line = format!("{name} begins iteration {}.", one.state.iteration);
    let next = format!("Watch it: hob loop watch {name}");
    vec![
        screen.paint(TextTone::Good, &line),
        screen.paint(TextTone::Quiet, &next),
    ]
}

pub fn stopped(one: &Loop, screen: &ScreenStyle) -> Vec<String> {
    let name = one_line(&one.name);
    let line = match one.state.iteration {
        0 => format!("{name} is stopped."),
        number => format!("{name} is stopped at iteration {number}."),
    };
    vec![screen.paint(TextTone::Good, &line)]
}

pub fn deleted(gone: &LoopDeleteResult, _: &ScreenStyle) -> Vec<String> {
    let name = one_line(&gone.name);
    vec![format!("Deleted {name} with its history.")]
}

/// A page of iterations.
pub fn history(name: &str, page: &LoopHistoryResult, screen: &ScreenStyle) -> Vec<String> {
    if page.iterations.is_empty() {
        return vec![format!("{} has no iterations yet.", one_line(name))];
    }
    let mut table = TextTable::new()
        .number("ITERATION")
        .column("BEGAN")
        .lesser()
        .number("TOOK")
        .lesser()
        .column("OUTCOME")
        .number("COST")
        .lesser()
        .column("ANSWER");
    for one in &page.iterations {
        let took = one.ended_at.map(|at| at.saturating_sub(one.started_at));
        table.row(vec![
            one.iteration.to_string(),
            time::short(one.started_at, screen),
            took.map(time::span).unwrap_or_default(),
            outcome(one).to_owned(),
            money(&one.cost),
            words(one),
        ]);
    }
    let mut out = table.lines(screen);
    if page.more
        && let Some(last) = page.iterations.last()
    {
        let name = one_line(name);
        let more = format!("More: hob loop history {name} --before {}", last.iteration);
        out.push(screen.paint(TextTone::Quiet, &more));
    }
    out
}

/// The outcome of an iteration in a word or two.
pub fn outcome(one: &IterationRecord) -> &'static str {
    match (one.ended_at, one.success, one.cause) {
        (None, ..) => "under way",
        (_, Some(true), _) => match one.outcome {
            Some(WorkOutcome::RanWithDenials) => "ran with denials",
            Some(WorkOutcome::RanWithFailures) => "ran, last call failed",
            _ => "answered",
        },
        (_, _, Some(RunEndCause::Aborted)) => "stopped",
        (_, _, Some(RunEndCause::Denied)) => "denied",
        (_, _, Some(RunEndCause::ModelFailed)) => "model failed",
        (
            _,
            _,
            Some(
                RunEndCause::StepLimit
                | RunEndCause::TokenLimit
                | RunEndCause::MoneyLimit
                | RunEndCause::TimeLimit,
            ),
        ) => "limit",
        (_, _, Some(RunEndCause::Budget)) => "over budget",
        _ => "failed",
    }
}

/// The answer of an iteration, or the reason it failed, on one line.
pub fn words(one: &IterationRecord) -> String {
    let answer = one.response.as_deref().map(first_line);
    // A denial matters more than the answer that was given without the call.
    let is_clean = one.success != Some(false) && one.message.is_none();
    let answer = answer.filter(|it| !it.is_empty() && is_clean);
    let why = || one.message.as_deref().map(one_line);
    let partly = || one.response.as_deref().map(first_line);
    answer.or_else(why).or_else(partly).unwrap_or_default()
}

/// All details of an iteration.
pub fn iteration(one: &IterationRecord, screen: &ScreenStyle) -> Vec<String> {
    let took = one.ended_at.map(|at| at.saturating_sub(one.started_at));
    let rows = [
        ("Iteration", one.iteration.to_string()),
        ("Outcome", outcome(one).to_owned()),
        ("Began", time::local(one.started_at, screen)),
        ("Took", took.map(time::span).unwrap_or_default()),
        ("Session", one_line(&one.session_key)),
        (
            "Run",
            one.run_id.map(|run| run.to_string()).unwrap_or_default(),
        ),
        ("Cost", money(&one.cost)),
        (
            "Why",
            one.message.as_deref().map(one_line).unwrap_or_default(),
        ),
    ];
    let mut out = pairs(&rows, screen);
    out.extend(section("Prompt", &one.prompt, screen));
    let answer = one.response.as_deref().unwrap_or_default();
    out.extend(section("Answer", answer, screen));
    out
}

/// A memory unchanged, so that it can be piped.
pub fn memory(memory: &LoopMemory, _: &ScreenStyle) -> Vec<String> {
    safe_lines(&memory.text)
}

pub fn working_set(memory: &LoopMemory, screen: &ScreenStyle) -> Vec<String> {
    let line = if memory.text.is_empty() {
        "The working memory is empty."
    } else {
        "Only the next iteration sees it."
    };
    vec![screen.paint(TextTone::Good, line)]
}

pub fn persistent_set(found: &LoopPersistentResult, screen: &ScreenStyle) -> Vec<String> {
    let memory = &found.memory;
    let is = if memory.text.is_empty() {
        ", which is empty"
    } else {
        ""
    };
    let line = format!(
        "The persistent memory is at revision {}{is}.",
        memory.revision
    );
    vec![screen.paint(TextTone::Good, &line)]
}

/// The memory and its earlier revisions, each below its number, author and time.
pub fn memories(found: &LoopPersistentResult, screen: &ScreenStyle) -> Vec<String> {
    let all = std::iter::once(&found.memory).chain(&found.earlier);
    let mut out = Vec::new();
    for (index, memory) in all.enumerate() {
        let mut heading = format!("Revision {}", memory.revision);
        if memory.at > 0 {
            heading = format!("{heading} · {}", time::short(memory.at, screen));
        }
        if !memory.by.is_empty() {
            heading = format!("{heading} · by {}", one_line(&memory.by));
        }
        let body = if memory.text.trim().is_empty() {
            "(empty)"
        } else {
            &memory.text
        };
        let lines = section(&heading, body, screen);
        out.extend(lines.into_iter().skip(usize::from(index == 0)));
    }
    out
}

#[cfg(test)]
#[path = "loops_tests.rs"]
mod tests;
