//! Builds requests of the Messages API. Pure.

use crate::dialect::RequestInput;
use crate::history::{self, ConversationTurn, NamedToolResult, unfinished_turn_start};
use crate::reasoning::{self, ANTHROPIC, ANTHROPIC_REDACTED};
use crate::schema;
use crate::tool_id::format_id;
use hob_wire::content::ContentPart;
use hob_wire::rooms::agent::{ThinkingLevel, ToolChoice};
use serde_json::{Map, Value, json};

/// The provider rejects a smaller thinking budget.
const BUDGET_TOKENS_MIN: u32 = 1_024;

pub(super) fn body(ask: &RequestInput<'_>) -> Value {
    let generation = ClaudeGeneration::of(&ask.prompt.model);
    let mut body = Map::new();
    body.insert("model".into(), json!(ask.prompt.model));
    let max_tokens = ask
        .prompt
        .options
        .max_output_tokens
        .unwrap_or_else(|| generation.output_tokens());
    body.insert("max_tokens".into(), json!(max_tokens));
    body.insert("stream".into(), json!(true));
    add_tools(ask, &mut body);
    add_system(ask, &mut body);
    body.insert("messages".into(), messages(ask));
    add_output(ask, generation, &mut body);
    add_sampling(ask, generation, max_tokens, &mut body);
    Value::Object(body)
}

/// Marks the last block as a cache breakpoint. The provider caches everything up to it for a few
/// minutes. Four breakpoints are allowed: the tools, the system text, and the two newest user
/// messages.
fn mark_for_cache(blocks: &mut [Value]) {
    if let Some(Value::Object(block)) = blocks.last_mut() {
        block.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
}

fn add_tools(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    let tools = ask.tools(|tool| {
        json!({
            "name": tool.name,
            "description": tool.description,
            "input_schema": tool.parameters,
        })
    });
    let Some(mut tools) = tools else {
        return;
    };
    mark_for_cache(&mut tools);
    body.insert("tools".into(), Value::Array(tools));
    let choice = match &ask.prompt.tool_choice {
        None => return,
        Some(ToolChoice::Auto) => json!({ "type": "auto" }),
        Some(ToolChoice::None) => json!({ "type": "none" }),
        Some(ToolChoice::Required) => json!({ "type": "any" }),
        Some(ToolChoice::Named(name)) => json!({ "type": "tool", "name": name }),
    };
    body.insert("tool_choice".into(), choice);
}

fn add_system(ask: &RequestInput<'_>, body: &mut Map<String, Value>) {
    // A closed schema has lost its bounds, so the original is told in words as well.
    let words = ask.prompt.schema.as_ref().and_then(|wanted| {
        let told = schema::close_objects(wanted).is_some_and(|closed| closed == *wanted);
        (!told).then(|| schema::as_instruction(wanted))
    });
    let layers = ask.system.iter().map(String::as_str);
    let layers = layers.chain(words.as_deref());
    let mut blocks: Vec<Value> = layers
        .map(|layer| json!({ "type": "text", "text": layer }))
        .collect();
    if !blocks.is_empty() {
        mark_for_cache(&mut blocks);
        body.insert("system".into(), Value::Array(blocks));
    }
}

fn add_output(ask: &RequestInput<'_>, generation: ClaudeGeneration, body: &mut Map<String, Value>) {
    let mut output = Map::new();
    let closed = ask.prompt.schema.as_ref().and_then(schema::close_objects);
    if let Some(closed) = closed.filter(|_| generation.keeps_schemas()) {
        let format = json!({ "type": "json_schema", "schema": closed });
        output.insert("format".into(), format);
    }
    let effort = ask.prompt.options.thinking.and_then(reasoning::effort);
    if let Some(effort) = effort.filter(|_| generation.adapts()) {
        output.insert("effort".into(), json!(effort));
    }
    if !output.is_empty() {
        body.insert("output_config".into(), Value::Object(output));
    }
}

fn add_sampling(
    ask: &RequestInput<'_>,
    generation: ClaudeGeneration,
    max_tokens: u32,
    body: &mut Map<String, Value>,
) {
    let options = &ask.prompt.options;
    if !options.stop.is_empty() {
        body.insert("stop_sequences".into(), json!(options.stop));
    }
    let thinking = thinking(ask, generation, max_tokens);
    let thinks = thinking.is_some();
    if let Some(thinking) = thinking {
        body.insert("thinking".into(), thinking);
    }
    // Sampling options are rejected with thinking, and always by the newest models.
    if thinks || generation.refuses_sampling() {
        return;
    }
    if let Some(temperature) = options.temperature {
        // Callers may use OpenAI's range, which reaches to 2; this one ends at 1.
        body.insert("temperature".into(), json!(temperature.clamp(0.0, 1.0)));
    } else if let Some(top_p) = options.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
}

fn thinking(
    ask: &RequestInput<'_>,
    generation: ClaudeGeneration,
    max_tokens: u32,
) -> Option<Value> {
    let wanted = ask.prompt.options.thinking?;
    let budget = match wanted {
        ThinkingLevel::Off => return None,
        ThinkingLevel::Low => 2_048,
        ThinkingLevel::Medium => 8_192,
        ThinkingLevel::High => 24_576,
    };
    if generation.adapts() {
        let mut adaptive = json!({ "type": "adaptive" });
        if generation.hides_thoughts() {
            adaptive["display"] = json!("summarized");
        }
        return Some(adaptive);
    }
    // The provider rejects a thinking budget together with a forced call.
    let forced = matches!(
        ask.prompt.tool_choice,
        Some(ToolChoice::Required | ToolChoice::Named(_))
    );
    // The budget counts towards `max_tokens`, and the answer itself needs room, too.
    let budget = budget.min(max_tokens / 2);
    let possible = generation.thinks()
        && !forced
        && budget >= BUDGET_TOKENS_MIN
        && unfinished_turn_has_thoughts(ask.turns);
    possible.then(|| json!({ "type": "enabled", "budget_tokens": budget }))
}

/// True if an unfinished turn begins with thoughts, which a thinking budget requires. A turn that
/// another provider began has no thoughts that could be sent.
fn unfinished_turn_has_thoughts(turns: &[ConversationTurn]) -> bool {
    let unfinished = &turns[unfinished_turn_start(turns).min(turns.len())..];
    let first = unfinished.iter().find_map(|turn| match turn {
        ConversationTurn::Assistant(parts) => Some(parts),
        _ => None,
    });
    first.is_none_or(|parts| {
        parts
            .first()
            .is_some_and(|part| signed_thought(part).is_some())
    })
}

fn messages(ask: &RequestInput<'_>) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in ask.turns {
        let (role, blocks): (&str, Vec<Value>) = match turn {
            ConversationTurn::User(parts) => ("user", parts.iter().filter_map(user_part).collect()),
            ConversationTurn::Assistant(parts) => {
                let spoken = parts.iter().filter_map(|part| assistant_parts(part, ask));
                ("assistant", spoken.collect())
            }
            ConversationTurn::Tools(answers) => (
                "user",
                answers.iter().map(|answer| result(answer, ask)).collect(),
            ),
        };
        match messages.last_mut() {
            // Tool results and the user text after them must be one message.
            Some((before, known)) if *before == role => known.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let mut marks = 0;
    for (role, blocks) in messages.iter_mut().rev() {
        if *role == "user" && marks < 2 {
            mark_for_cache(blocks);
            marks += 1;
        }
    }
    messages
        .into_iter()
        .map(|(role, blocks)| json!({ "role": role, "content": blocks }))
        .collect()
}

fn user_part(part: &ContentPart) -> Option<Value> {
    match part {
        ContentPart::Text { text } => Some(json!({ "type": "text", "text": text })),
        ContentPart::Image { mime_type, data } => Some(json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        })),
        _ => None,
    }
}

fn assistant_parts(part: &ContentPart, ask: &RequestInput<'_>) -> Option<Value> {
    match part {
        ContentPart::Text { .. } => user_part(part),
        ContentPart::Thinking { .. } => signed_thought(part),
        ContentPart::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": format_id(&call.id, ask.quirks.tool_ids),
            "name": call.name,
            "input": history::object_args(call),
        })),
        _ => None,
    }
}

/// Returns a thought as it was received. One without this provider's signature cannot be sent.
fn signed_thought(part: &ContentPart) -> Option<Value> {
    if let Some(data) = reasoning::own_signature(part, ANTHROPIC_REDACTED) {
        return Some(json!({ "type": "redacted_thinking", "data": data }));
    }
    let signature = reasoning::own_signature(part, ANTHROPIC)?;
    let ContentPart::Thinking { text, .. } = part else {
        return None;
    };
    Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
}

fn result(answer: &NamedToolResult, ask: &RequestInput<'_>) -> Value {
    let content: Vec<Value> = answer.content.iter().filter_map(user_part).collect();
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": format_id(&answer.id, ask.quirks.tool_ids),
        "content": content,
    });
    if answer.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// The generation of a model, by the numbers in its name: `claude-opus-5-5` is 5.5,
/// `claude-3-7-sonnet` is 3.7. A name without numbers counts as new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ClaudeGeneration(u8, u8);

impl ClaudeGeneration {
    const UNKNOWN: ClaudeGeneration = ClaudeGeneration(u8::MAX, 0);

    fn of(model: &str) -> ClaudeGeneration {
        let words = model.split(['-', '.', '@', ':']);
        // A longer number is a date, such as `20250219`.
        let numbers = words.skip(1).filter(|word| word.len() <= 2);
        let mut numbers = numbers.filter_map(|word| word.parse().ok());
        match numbers.next() {
            Some(major) => ClaudeGeneration(major, numbers.next().unwrap_or(0)),
            None => ClaudeGeneration::UNKNOWN,
        }
    }

    fn output_tokens(self) -> u32 {
        match self {
            ClaudeGeneration(0..=2, _) | ClaudeGeneration(3, 0..=4) => 4_096,
            ClaudeGeneration(3, 5 | 6) | ClaudeGeneration::UNKNOWN => 8_192,
            _ => 32_000,
        }
    }

    fn thinks(self) -> bool {
        self >= ClaudeGeneration(3, 7)
    }

    /// True if the model decides how much to think.
    fn adapts(self) -> bool {
        self >= ClaudeGeneration(4, 6) && self != ClaudeGeneration::UNKNOWN
    }

    /// True if the model shows its thoughts only on request.
    fn hides_thoughts(self) -> bool {
        self >= ClaudeGeneration(4, 7)
    }

    fn refuses_sampling(self) -> bool {
        self >= ClaudeGeneration(4, 7) && self != ClaudeGeneration::UNKNOWN
    }

    fn keeps_schemas(self) -> bool {
        self >= ClaudeGeneration(4, 5)
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
