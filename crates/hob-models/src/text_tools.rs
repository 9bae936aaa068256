//! Tools for models without them: the list goes into the system text, calls and results of the
//! history become text, and calls are found in the answer by `hob_core::fallback`. Pure.
//!
//! Invariant: outside of this file nobody notices; the house sees ordinary calls.

use crate::prompt::{Piece, Prompt, PromptMessage, Stop, ToolWord};
use hob_core::fallback::{Found, Splitter};
use hob_wire::content::{Part, Role, ToolCall, ToolResult};
use hob_wire::rooms::agent::ToolChoice;
use serde_json::{Value, json};

/// What a call is named whose line could not be read.
pub(crate) const UNREADABLE: &str = "unreadable";

/// The prompt as plain text.
pub(crate) fn plain(prompt: &Prompt) -> Prompt {
    let mut plain = prompt.clone();
    plain.tools.clear();
    plain.tool_choice = None;
    if !prompt.tools.is_empty() && prompt.tool_choice != Some(ToolChoice::None) {
        plain.system.push(manual(prompt));
    }
    plain.messages = prompt.messages.iter().map(plain_message).collect();
    plain
}

fn manual(prompt: &Prompt) -> String {
    let mut text = String::from(
        "You can use tools. To call one, write a line of its own of exactly this form and nothing after it:\n\
         TOOL_CALL: {\"name\":\"NAME\",\"args\":{}}\n\
         The line must be one JSON object on one line. You may write several such lines. Then stop: \
         the results come in the next message, each after TOOL_RESULT. Never write a TOOL_RESULT yourself. \
         When you need no tool, just answer.\n",
    );
    match &prompt.tool_choice {
        Some(ToolChoice::Required) => text.push_str("You must call at least one tool now.\n"),
        Some(ToolChoice::Named(name)) => {
            text.push_str("You must call this tool now: ");
            text.push_str(name);
            text.push('\n');
        }
        _ => {}
    }
    text.push_str("The tools:\n");
    for ToolWord {
        name,
        description,
        parameters,
    } in &prompt.tools
    {
        let word = json!({ "name": name, "description": description, "args": parameters });
        text.push_str(&word.to_string());
        text.push('\n');
    }
    text
}

fn plain_message(message: &PromptMessage) -> PromptMessage {
    let role = match message.role {
        Role::Tool => Role::User,
        other => other,
    };
    let mut parts = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            Part::ToolCall(call) => parts.push(Part::Text {
                text: call_line(call),
            }),
            Part::ToolResult(result) => result_parts(result, &mut parts),
            // A thought of another time would be read as words.
            Part::Thinking { .. } => {}
            other => parts.push(other.clone()),
        }
    }
    PromptMessage {
        role,
        parts: one_text(parts),
    }
}

fn call_line(call: &ToolCall) -> String {
    match &call.args {
        Value::String(line) if call.name == UNREADABLE => line.clone(),
        args => format!("TOOL_CALL: {}", json!({ "name": call.name, "args": args })),
    }
}

fn result_parts(result: &ToolResult, parts: &mut Vec<Part>) {
    let failed = if result.is_error { " (failed)" } else { "" };
    let text = crate::history::joined(&result.content);
    parts.push(Part::Text {
        text: format!("TOOL_RESULT{failed}: {text}"),
    });
    let images = result.content.iter();
    parts.extend(
        images
            .filter(|part| matches!(part, Part::Image { .. }))
            .cloned(),
    );
}

/// Neighbouring texts as one, each on a line of its own.
fn one_text(parts: Vec<Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        if let (Some(Part::Text { text: before }), Part::Text { text }) = (merged.last_mut(), &part)
        {
            if !before.ends_with('\n') {
                before.push('\n');
            }
            before.push_str(text);
        } else {
            merged.push(part);
        }
    }
    merged
}

/// Finds calls in an answer while it streams.
#[derive(Debug, Default)]
pub(crate) struct TextCalls {
    splitter: Splitter,
}

impl TextCalls {
    /// What of a piece is shown.
    pub(crate) fn piece(&mut self, piece: Piece) -> Option<Piece> {
        match piece {
            Piece::Text(text) => {
                let shown = self.splitter.push(&text);
                (!shown.is_empty()).then_some(Piece::Text(shown))
            }
            other => Some(other),
        }
    }

    /// The last pieces, and the answer with its calls.
    pub(crate) fn finish(self, parts: Vec<Part>, stop: Stop) -> (Vec<Piece>, Vec<Part>, Stop) {
        let mut pieces = Vec::new();
        let found = self.splitter.finish(stop != Stop::Length);
        if !found.rest.is_empty() {
            pieces.push(Piece::Text(found.rest.clone()));
        }
        let mut shown: Vec<Part> = Vec::new();
        let mut again = Splitter::default();
        for part in parts {
            match part {
                Part::Text { text } => {
                    let text = again.push(&text);
                    if !text.is_empty() {
                        shown.push(Part::Text { text });
                    }
                }
                other => shown.push(other),
            }
        }
        if !found.rest.is_empty() {
            shown.push(Part::Text {
                text: found.rest.clone(),
            });
        }
        let calls = calls(found);
        for (index, call) in calls.iter().enumerate() {
            pieces.push(Piece::Tool {
                index,
                name: call.name.clone(),
                delta: call.args.to_string(),
            });
        }
        let stop = if !calls.is_empty() && stop == Stop::End {
            Stop::Tools
        } else {
            stop
        };
        let mut shown = one_run(shown);
        shown.extend(calls.into_iter().map(Part::ToolCall));
        (pieces, shown, stop)
    }
}

/// Neighbouring texts run on, as they were shown.
fn one_run(parts: Vec<Part>) -> Vec<Part> {
    let mut merged: Vec<Part> = Vec::new();
    for part in parts {
        if let (Some(Part::Text { text: before }), Part::Text { text }) = (merged.last_mut(), &part)
        {
            before.push_str(text);
        } else {
            merged.push(part);
        }
    }
    merged
}

/// Ids are given by whoever makes the answer's ids unique.
fn calls(found: Found) -> Vec<ToolCall> {
    let whole = found.calls.into_iter().map(|call| ToolCall {
        id: String::new(),
        name: call.name,
        args: Value::Object(call.args),
    });
    let broken = found.broken.into_iter().map(|line| ToolCall {
        id: String::new(),
        name: UNREADABLE.to_owned(),
        args: Value::String(line),
    });
    whole.chain(broken).collect()
}

#[cfg(test)]
#[path = "text_tools_tests.rs"]
mod tests;
