//! Tool calls as plain text, for models without native tools. The tool list goes into the system
//! text, calls and results of the history become text, and `hob_core::text_calls` finds the calls
//! in the answer. Pure.
//!
//! Invariant: callers see ordinary tool calls.

use crate::prompt::{Prompt, PromptMessage, ReplyDelta, StopReason, ToolDefinition};
use hob_core::text_calls::{SplitAnswer, TextCallSplitter};
use hob_wire::content::{ContentPart, Role, ToolCall, ToolResult};
use hob_wire::rooms::agent::ToolChoice;
use serde_json::{Value, json};

/// The tool name of a call whose line could not be parsed.
pub(crate) const UNREADABLE: &str = "unreadable";

/// Converts tools, calls and results of a prompt to text.
pub(crate) fn to_text_prompt(prompt: &Prompt) -> Prompt {
    let mut plain = prompt.clone();
    plain.tools.clear();
    plain.tool_choice = None;
    if !prompt.tools.is_empty() && prompt.tool_choice != Some(ToolChoice::None) {
        plain.system.push(tool_instructions(prompt));
    }
    plain.messages = prompt.messages.iter().map(to_text_message).collect();
    plain
}

fn tool_instructions(prompt: &Prompt) -> String {
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
    for ToolDefinition {
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

fn to_text_message(message: &PromptMessage) -> PromptMessage {
    // A model without tools knows no role for their results.
    let role = match message.role {
        Role::Tool => Role::User,
        other => other,
    };
    let mut parts = Vec::with_capacity(message.parts.len());
    for part in &message.parts {
        match part {
            ContentPart::ToolCall(call) => parts.push(ContentPart::Text {
                text: call_line(call),
            }),
            ContentPart::ToolResult(result) => result_parts(result, &mut parts),
            // As text, an old thought would look like a part of the answer.
            ContentPart::Thinking { .. } => {}
            other => parts.push(other.clone()),
        }
    }
    PromptMessage {
        role,
        parts: merge_lines(parts),
    }
}

fn call_line(call: &ToolCall) -> String {
    match &call.args {
        Value::String(line) if call.name == UNREADABLE => line.clone(),
        args => format!("TOOL_CALL: {}", json!({ "name": call.name, "args": args })),
    }
}

fn result_parts(result: &ToolResult, parts: &mut Vec<ContentPart>) {
    let failed = if result.is_error { " (failed)" } else { "" };
    let text = crate::history::join_texts(&result.content);
    parts.push(ContentPart::Text {
        text: format!("TOOL_RESULT{failed}: {text}"),
    });
    let images = result.content.iter();
    parts.extend(
        images
            .filter(|part| matches!(part, ContentPart::Image { .. }))
            .cloned(),
    );
}

/// Merges neighbouring texts, each on its own line.
fn merge_lines(parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let mut merged: Vec<ContentPart> = Vec::new();
    for part in parts {
        if let (Some(ContentPart::Text { text: before }), ContentPart::Text { text }) =
            (merged.last_mut(), &part)
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

/// Finds tool calls in the text of an answer while it streams.
#[derive(Debug, Default)]
pub(crate) struct TextCallDecoder {
    splitter: TextCallSplitter,
}

impl TextCallDecoder {
    /// Returns the visible part of a delta: call lines are withheld.
    pub(crate) fn visible_part(&mut self, piece: ReplyDelta) -> Option<ReplyDelta> {
        match piece {
            ReplyDelta::Text(text) => {
                let shown = self.splitter.push(&text);
                (!shown.is_empty()).then_some(ReplyDelta::Text(shown))
            }
            other => Some(other),
        }
    }

    /// Returns the last deltas, and the answer with its calls.
    pub(crate) fn finish(
        self,
        parts: Vec<ContentPart>,
        stop: StopReason,
    ) -> (Vec<ReplyDelta>, Vec<ContentPart>, StopReason) {
        let mut pieces = Vec::new();
        // An answer cut by its length may end in half a call, which must not run.
        let found = self.splitter.finish(stop != StopReason::Length);
        if !found.visible_rest.is_empty() {
            pieces.push(ReplyDelta::Text(found.visible_rest.clone()));
        }
        let mut shown: Vec<ContentPart> = Vec::new();
        // `parts` still hold the call lines, so their texts are split again.
        let mut again = TextCallSplitter::default();
        for part in parts {
            match part {
                ContentPart::Text { text } => {
                    let text = again.push(&text);
                    if !text.is_empty() {
                        shown.push(ContentPart::Text { text });
                    }
                }
                other => shown.push(other),
            }
        }
        if !found.visible_rest.is_empty() {
            shown.push(ContentPart::Text {
                text: found.visible_rest.clone(),
            });
        }
        let calls = calls(found);
        for (index, call) in calls.iter().enumerate() {
            pieces.push(ReplyDelta::Tool {
                index,
                name: call.name.clone(),
                delta: call.args.to_string(),
            });
        }
        let stop = if !calls.is_empty() && stop == StopReason::End {
            StopReason::Tools
        } else {
            stop
        };
        let mut shown = merge_texts(shown);
        shown.extend(calls.into_iter().map(ContentPart::ToolCall));
        (pieces, shown, stop)
    }
}

/// Merges neighbouring texts without a separator, as they were shown.
fn merge_texts(parts: Vec<ContentPart>) -> Vec<ContentPart> {
    let mut merged: Vec<ContentPart> = Vec::new();
    for part in parts {
        if let (Some(ContentPart::Text { text: before }), ContentPart::Text { text }) =
            (merged.last_mut(), &part)
        {
            before.push_str(text);
        } else {
            merged.push(part);
        }
    }
    merged
}

/// The calls that were found. Their ids are empty until `tool_id::make_unique` sets them.
fn calls(found: SplitAnswer) -> Vec<ToolCall> {
    let whole = found.calls.into_iter().map(|call| ToolCall {
        id: String::new(),
        name: call.name,
        args: Value::Object(call.args),
    });
    let broken = found.malformed.into_iter().map(|line| ToolCall {
        id: String::new(),
        name: UNREADABLE.to_owned(),
        args: Value::String(line),
    });
    whole.chain(broken).collect()
}

#[cfg(test)]
#[path = "text_tools_tests.rs"]
mod tests;
