//! Lines about a run: its calls, what it cost, how it ended, what had happened. Pure.

use crate::render::words::{count, cut, dollars, grouped, one_line, prose_line, width, wrap};
use crate::render::{Screen, Tone, moment};
use hob_wire::content::{Part, ToolCall, ToolResult};
use hob_wire::rooms::agent::{
    CallState, CallView, Cost, RunCompletedPayload, RunServerPayload, RunView,
};
use hob_wire::rooms::permission::{Answered, Decision, Denial, Question, Reach};
use hob_wire::work::Cause;
use serde_json::Value;

/// Columns a line about a call may take when the reader is a program.
const CALL_COLUMNS: usize = 120;
/// Letters of an argument beyond which it comes after the short ones.
const PAIR_CHARS: usize = 40;
/// The tool of the shared terminal.
pub const TERMINAL: &str = "terminal";
/// Calls listed after an abort; the run itself keeps them all.
const CALLS_MAX: usize = 12;

/// Who gets a prompt: `Asking Ollama 0.12.0 at 127.0.0.1:11434 (model llama3).`
pub fn asking(asked: &RunServerPayload) -> String {
    let (server, model) = (one_line(&asked.server), one_line(&asked.model));
    format!("Asking {server} (model {model}).")
}

/// A call as it begins: `→ read notes.txt`.
pub fn call(call: &ToolCall, screen: &Screen) -> String {
    let line = match typed(call) {
        Some(line) => line,
        None => format!("→ {}", call_words(call)),
    };
    let line = cut(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(Tone::Quiet, &line)
}

/// A call that failed, with what its tool says.
pub fn failed_call(call: &ToolCall, result: &ToolResult, screen: &Screen) -> String {
    let line = format!("✗ {}: {}", one_line(&call.name), result_words(result));
    let line = cut(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(Tone::Warning, &line)
}

/// A call that was not allowed, with who decided it.
pub fn denied_call(denial: &Denial, screen: &Screen) -> String {
    let by = match denial.by.as_str() {
        "unattended" => "nobody is there to be asked".to_owned(),
        "deadline" => "nobody answered in time".to_owned(),
        by => format!("by {}", one_line(by)),
    };
    let line = format!("✗ {}: denied ({by})", one_line(&denial.tool));
    let line = cut(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(Tone::Warning, &line)
}

/// How a command ended, if not well: the last line that its tool tells the model.
pub fn bad_exit(result: &ToolResult) -> Option<String> {
    let Some(Part::Text { text }) = result.content.last() else {
        return None;
    };
    let last = text.trim_end().lines().next_back()?;
    let is_bad = last.starts_with("(exit code ") || last.starts_with("(ended by signal ");
    is_bad.then(|| prose_line(last))
}

/// A call in a few words: its name, then its arguments as a person would say them.
pub fn call_words(call: &ToolCall) -> String {
    if let Some(line) = typed(call) {
        return line;
    }
    let name = one_line(&call.name);
    let args = args_words(&call.args);
    if args.is_empty() {
        return name;
    }
    format!("{name} {args}")
}

/// What a call types into the shared terminal, as it stands there: `$ uptime`.
fn typed(call: &ToolCall) -> Option<String> {
    let command = call.args.get("command")?.as_str()?;
    (call.name == TERMINAL).then(|| format!("$ {}", one_line(command)))
}

fn args_words(args: &Value) -> String {
    let plain = |value: &Value| match value {
        Value::String(text) => one_line(text),
        other => one_line(&other.to_string()),
    };
    match args {
        Value::Object(fields) if fields.len() == 1 => {
            fields.values().map(plain).collect::<String>()
        }
        Value::Object(fields) => {
            let pairs = fields.iter();
            let pairs = pairs.map(|(name, value)| format!("{}={}", one_line(name), plain(value)));
            let mut pairs: Vec<String> = pairs.collect();
            // A path says more in a cut line than the beginning of a long text.
            pairs.sort_by_key(|pair| pair.chars().count() > PAIR_CHARS);
            pairs.join(" ")
        }
        Value::Null => String::new(),
        other => plain(other),
    }
}

/// What a tool answered, on one line.
pub fn result_words(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|part| match part {
        Part::Text { text } => Some(prose_line(text.trim())),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// Which model answered and what it took: `sim/small · 2 calls · 1,234 tokens · $0.0012 · 3 s`.
pub fn footer(completed: &RunCompletedPayload, took_ms: u64, screen: &Screen) -> String {
    let mut words = Vec::new();
    words.extend(completed.model.as_deref().map(one_line));
    words.push(cost(&completed.cost));
    words.push(moment::span(took_ms));
    let line = words.join(" · ");
    let lines = wrap(&line, screen.width.unwrap_or(usize::MAX));
    let lines = lines.iter().map(|line| screen.paint(Tone::Quiet, line));
    lines.collect::<Vec<_>>().join("\n")
}

/// `2 calls · 1,234 tokens · $0.0012`.
pub fn cost(cost: &Cost) -> String {
    let tokens = cost.input_tokens.saturating_add(cost.output_tokens);
    let money = match cost.micro_dollars {
        Some(micro) => dollars(micro),
        None if cost.calls == 0 => dollars(0),
        None => "price unknown".to_owned(),
    };
    let calls = count(u64::from(cost.calls), "call");
    format!("{calls} · {} tokens · {money}", grouped(tokens))
}

/// What had already happened when a run was stopped.
pub fn happened(view: &RunView, screen: &Screen) -> Vec<String> {
    let mut lines = Vec::new();
    let begun = |one: &&CallView| !matches!(one.state, CallState::Asked);
    let calls: Vec<&CallView> = view.calls.iter().filter(begun).collect();
    let cost = cost(&view.cost);
    let step = view.step;
    if calls.is_empty() {
        lines.push(format!("Stopped at step {step}; no tool had run. {cost}."));
    } else {
        lines.push(format!(
            "Stopped at step {step}. {cost}. What had happened:"
        ));
    }
    for one in calls.iter().take(CALLS_MAX) {
        let state = call_state(one);
        let line = format!("  {state:<9} {}", call_words(&one.call));
        lines.push(cut(&line, screen.width.unwrap_or(CALL_COLUMNS)));
    }
    if calls.len() > CALLS_MAX {
        let more = calls.len() - CALLS_MAX;
        lines.push(format!("  … and {more} more: hob run show {}", view.run_id));
    }
    lines.extend(
        view.notes
            .iter()
            .map(|note| format!("  {}", one_line(note))),
    );
    lines
}

/// What became of a call, in a word.
pub fn call_state(call: &CallView) -> &'static str {
    let failed = call.result.as_ref().is_some_and(|result| result.is_error);
    match call.state {
        CallState::Asked => "asked",
        CallState::Begun => "begun",
        CallState::Done if failed => "failed",
        CallState::Done => "done",
        CallState::Denied => "denied",
        CallState::InDoubt => "in doubt",
        CallState::Cancelled => "cancelled",
    }
}

/// What a permission was asked for, naming its tool.
pub fn permission(question: &Question) -> String {
    let tool = one_line(&question.tool);
    format!("{} (tool {tool})", sentence(&question.sentence))
}

/// A question that somebody else, or its deadline, decided.
pub fn answered_elsewhere(answered: &Answered) -> String {
    let by = one_line(&answered.by);
    let what = match (answered.decision, answered.scope) {
        (Decision::Deny, _) => "denied".to_owned(),
        (Decision::Allow, Reach::Once) => "allowed".to_owned(),
        (Decision::Allow, scope) => format!("allowed ({})", scope.name()),
    };
    match by.as_str() {
        "deadline" => "Nobody answered in time: denied.".to_owned(),
        "withdrawn" => "The question was taken back.".to_owned(),
        _ => format!("Answered elsewhere: {what} by {by}."),
    }
}

/// Why a run ended, in a sentence; the run's own words if it has some.
pub fn cause(completed: &RunCompletedPayload) -> String {
    if let Some(message) = &completed.message {
        return sentence(message);
    }
    let words = match completed.cause {
        Cause::Answered => "The model answered.",
        Cause::Aborted => "The run was stopped.",
        Cause::StepLimit => "The run reached its limit of model calls.",
        Cause::TokenLimit => "The run reached its limit of tokens.",
        Cause::MoneyLimit => "The run reached its limit of money.",
        Cause::TimeLimit => "The run reached its limit of time.",
        Cause::Budget => "A budget was used up, and nobody was there to allow more.",
        Cause::ErrorStreak => "Too many failures in a row.",
        Cause::RepeatedCall => "The model asked for the same call again and again.",
        Cause::ModelFailed => "No model could answer.",
        Cause::Denied => "A permission that the run needed was denied.",
        Cause::GivenUp => "A call in doubt was given up.",
        Cause::Parked => "The run was resumed several times without finishing a step.",
    };
    words.to_owned()
}

/// Words from the daemon as one sentence.
pub fn sentence(words: &str) -> String {
    let mut text = crate::render::words::sentence_case(one_line(words).trim());
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// A rule across the screen with a word in it.
pub fn rule(word: &str, screen: &Screen) -> String {
    let columns = screen.width.unwrap_or(80);
    let rest = columns.saturating_sub(width(word) + 4);
    screen.paint(Tone::Quiet, &format!("── {word} {}", "─".repeat(rest)))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
