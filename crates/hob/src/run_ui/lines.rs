//! Lines about a run: its calls, cost, end, and the report after a stop. Pure.

use crate::render::text::{
    count_noun, dollars, group_thousands, one_line, prose_line, truncate, width, wrap,
};
use crate::render::{ScreenStyle, TextTone, time};
use hob_wire::content::{ContentPart, ToolCall, ToolResult};
use hob_wire::rooms::agent::{
    CallView, Cost, RunCompletedPayload, RunServerPayload, RunView, ToolCallState,
};
use hob_wire::rooms::permission::{
    AnswerReach, PermissionAnswer, PermissionDecision, PermissionDenial, PermissionQuestion,
};
use hob_wire::work::RunEndCause;
use serde_json::Value;

/// The columns of a line about a call when stderr is not a terminal.
const CALL_COLUMNS: usize = 120;
/// Arguments longer than this come after the short ones.
const PAIR_CHARS: usize = 40;
/// The most calls listed after an abort; `hob run show` has them all.
const CALLS_MAX: usize = 12;

/// The server that gets the prompt: `Asking Ollama 0.12.0 at 127.0.0.1:11434 (model llama3).` Or a
/// warning about the demo model.
pub fn server_line(asked: &RunServerPayload) -> String {
    let (server, model) = (one_line(&asked.server), one_line(&asked.model));
    if asked.demo {
        return format!(
            "{model} is a demo model: it knows little, gets facts wrong and uses no tools. `hob onboard` offers a better one."
        );
    }
    format!("Asking {server} (model {model}).")
}

/// The line of a call that starts: `→ read notes.txt`.
pub fn call(call: &ToolCall, screen: &ScreenStyle) -> String {
    let line = match typed(call) {
        Some(line) => line,
        None => format!("→ {}", describe_call(call)),
    };
    let line = truncate(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(TextTone::Quiet, &line)
}

/// The line of a failed call, with the tool's error.
pub fn failed_call(call: &ToolCall, result: &ToolResult, screen: &ScreenStyle) -> String {
    let line = format!("✗ {}: {}", one_line(&call.name), describe_result(result));
    let line = truncate(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(TextTone::Warning, &line)
}

/// The line of a denied call, with who denied it.
pub fn denied_call(denial: &PermissionDenial, screen: &ScreenStyle) -> String {
    let by = match denial.by.as_str() {
        "unattended" => "nobody is there to ask".to_owned(),
        "deadline" => "nobody answered in time".to_owned(),
        by => format!("by {}", one_line(by)),
    };
    let line = format!("✗ {}: denied ({by})", one_line(&denial.tool));
    let line = truncate(&line, screen.width.unwrap_or(CALL_COLUMNS));
    screen.paint(TextTone::Warning, &line)
}

/// The exit line of a command that failed: the last line of the tool's result.
pub fn failed_exit(result: &ToolResult) -> Option<String> {
    let Some(ContentPart::Text { text }) = result.content.last() else {
        return None;
    };
    let last = text.trim_end().lines().next_back()?;
    let is_bad = last.starts_with("(exit code ") || last.starts_with("(ended by signal ");
    is_bad.then(|| prose_line(last))
}

/// A call on one line: its name, then its arguments without JSON syntax.
pub fn describe_call(call: &ToolCall) -> String {
    if let Some(line) = typed(call) {
        return line;
    }
    let name = one_line(&call.name);
    let args = describe_args(&call.args);
    if args.is_empty() {
        return name;
    }
    format!("{name} {args}")
}

/// The command line that a call types into a person's shell: `$ uptime`.
fn typed(call: &ToolCall) -> Option<String> {
    let argument = hob_tools::traits(&call.name).typed_argument?;
    let command = call.args.get(argument)?.as_str()?;
    Some(format!("$ {}", one_line(command)))
}

fn describe_args(args: &Value) -> String {
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
            // The line is truncated, and a path says more than the start of a long text.
            pairs.sort_by_key(|pair| pair.chars().count() > PAIR_CHARS);
            pairs.join(" ")
        }
        Value::Null => String::new(),
        other => plain(other),
    }
}

/// A tool's result on one line.
pub fn describe_result(result: &ToolResult) -> String {
    let texts = result.content.iter().filter_map(|part| match part {
        ContentPart::Text { text } => Some(prose_line(text.trim())),
        _ => None,
    });
    texts.collect::<Vec<_>>().join(" ")
}

/// The footer with model, cost and duration: `sim/small · 2 calls · 1,234 tokens · $0.0012 · 3 s`.
pub fn footer(completed: &RunCompletedPayload, took_ms: u64, screen: &ScreenStyle) -> String {
    let mut words = Vec::new();
    words.extend(completed.model.as_deref().map(one_line));
    words.push(cost(&completed.cost));
    words.push(time::span(took_ms));
    let line = words.join(" · ");
    let lines = wrap(&line, screen.width.unwrap_or(usize::MAX));
    let lines = lines.iter().map(|line| screen.paint(TextTone::Quiet, line));
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
    let calls = count_noun(u64::from(cost.calls), "call");
    format!("{calls} · {} tokens · {money}", group_thousands(tokens))
}

/// The report after a stop: the calls that had started, their state and the cost.
pub fn stop_report(view: &RunView, screen: &ScreenStyle) -> Vec<String> {
    let mut lines = Vec::new();
    let begun = |one: &&CallView| !matches!(one.state, ToolCallState::Asked);
    let calls: Vec<&CallView> = view.calls.iter().filter(begun).collect();
    let cost = cost(&view.cost);
    let step = view.step;
    if calls.is_empty() {
        lines.push(format!("Stopped at step {step}; no tool was run. {cost}."));
    } else {
        lines.push(format!("Stopped at step {step}. {cost}. Calls so far:"));
    }
    for one in calls.iter().take(CALLS_MAX) {
        let state = call_state(one);
        let line = format!("  {state:<9} {}", describe_call(&one.call));
        lines.push(truncate(&line, screen.width.unwrap_or(CALL_COLUMNS)));
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

/// The state of a call in a word.
pub fn call_state(call: &CallView) -> &'static str {
    let failed = call.result.as_ref().is_some_and(|result| result.is_error);
    match call.state {
        ToolCallState::Asked => "asked",
        ToolCallState::Begun => "begun",
        ToolCallState::Done if failed => "failed",
        ToolCallState::Done => "done",
        ToolCallState::Denied => "denied",
        ToolCallState::InDoubt => "in doubt",
        ToolCallState::Cancelled => "cancelled",
    }
}

/// The sentence of a permission question with its tool.
pub fn permission(question: &PermissionQuestion) -> String {
    let tool = one_line(&question.tool);
    format!("{} (tool {tool})", sentence(&question.sentence))
}

/// The line for a question that another client or its deadline decided.
pub fn answered_elsewhere(answered: &PermissionAnswer) -> String {
    let by = one_line(&answered.by);
    let what = match (answered.decision, answered.scope) {
        (PermissionDecision::Deny, _) => "denied".to_owned(),
        (PermissionDecision::Allow, AnswerReach::Once) => "allowed".to_owned(),
        (PermissionDecision::Allow, scope) => format!("allowed ({})", scope.name()),
    };
    match by.as_str() {
        "deadline" => "Nobody answered in time: denied.".to_owned(),
        "withdrawn" => "The question was withdrawn.".to_owned(),
        _ => format!("Answered elsewhere: {what} by {by}."),
    }
}

/// The reason a run ended, in a sentence; the run's own message if it has one.
pub fn cause(completed: &RunCompletedPayload) -> String {
    if let Some(message) = &completed.message {
        return sentence(message);
    }
    let words = match completed.cause {
        RunEndCause::Answered => "The model answered.",
        RunEndCause::Aborted => "The run was stopped.",
        RunEndCause::StepLimit => "The run reached its model call limit.",
        RunEndCause::TokenLimit => "The run reached its token limit.",
        RunEndCause::MoneyLimit => "The run reached its cost limit.",
        RunEndCause::TimeLimit => "The run reached its time limit.",
        RunEndCause::Budget => "A budget was used up, and nobody was there to allow more.",
        RunEndCause::ErrorStreak => "Too many failures in a row.",
        RunEndCause::RepeatedCall => "The model repeated the same call too often.",
        RunEndCause::RepeatedText => "The model began to repeat itself.",
        RunEndCause::ModelFailed => "No model could answer.",
        RunEndCause::Denied => "A permission that the run needed was denied.",
        RunEndCause::GivenUp => "A call in doubt was given up.",
        RunEndCause::Parked => "The run was resumed several times without finishing a step.",
    };
    words.to_owned()
}

/// Formats a message of the daemon as one sentence.
pub fn sentence(words: &str) -> String {
    let mut text = crate::render::text::sentence_case(one_line(words).trim());
    if !text.ends_with(['.', '!', '?']) {
        text.push('.');
    }
    text
}

/// A horizontal rule across the screen with a word in it.
pub fn horizontal_rule(word: &str, screen: &ScreenStyle) -> String {
    let columns = screen.width.unwrap_or(80);
    let rest = columns.saturating_sub(width(word) + 4);
    screen.paint(TextTone::Quiet, &format!("── {word} {}", "─".repeat(rest)))
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
