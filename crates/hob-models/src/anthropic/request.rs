//! The request of messages. Pure.

use crate::dialect::Ask;
use crate::history::{self, Answer, Turn, open_turn};
use crate::reasoning::{self, ANTHROPIC, ANTHROPIC_REDACTED};
use crate::schema;
use crate::tool_id::shaped;
use hob_wire::content::Part;
use hob_wire::rooms::agent::{Thinking, ToolChoice};
use serde_json::{Map, Value, json};

/// A budget of thought smaller than this is refused.
const BUDGET_TOKENS_MIN: u32 = 1_024;

pub(super) fn body(ask: &Ask<'_>) -> Value {
    let generation = Generation::of(&ask.prompt.model);
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

/// What is marked so is kept by the provider for a few minutes, with all that stands before it.
/// Four marks are allowed: the tools, the system text, and the two newest messages of the person's
/// side.
fn mark(blocks: &mut [Value]) {
    if let Some(Value::Object(block)) = blocks.last_mut() {
        block.insert("cache_control".into(), json!({ "type": "ephemeral" }));
    }
}

fn add_tools(ask: &Ask<'_>, body: &mut Map<String, Value>) {
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
    mark(&mut tools);
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

fn add_system(ask: &Ask<'_>, body: &mut Map<String, Value>) {
    let words = ask.prompt.schema.as_ref().and_then(|wanted| {
        let told = schema::closed(wanted).is_some_and(|closed| closed == *wanted);
        (!told).then(|| schema::in_words(wanted))
    });
    let layers = ask.system.iter().map(String::as_str);
    let layers = layers.chain(words.as_deref());
    let mut blocks: Vec<Value> = layers
        .map(|layer| json!({ "type": "text", "text": layer }))
        .collect();
    if !blocks.is_empty() {
        mark(&mut blocks);
        body.insert("system".into(), Value::Array(blocks));
    }
}

fn add_output(ask: &Ask<'_>, generation: Generation, body: &mut Map<String, Value>) {
    let mut output = Map::new();
    let closed = ask.prompt.schema.as_ref().and_then(schema::closed);
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
    ask: &Ask<'_>,
    generation: Generation,
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
    // Who thinks picks its words itself; the newest models always do.
    if thinks || generation.refuses_sampling() {
        return;
    }
    if let Some(temperature) = options.temperature {
        body.insert("temperature".into(), json!(temperature.clamp(0.0, 1.0)));
    } else if let Some(top_p) = options.top_p {
        body.insert("top_p".into(), json!(top_p));
    }
}

fn thinking(ask: &Ask<'_>, generation: Generation, max_tokens: u32) -> Option<Value> {
    let wanted = ask.prompt.options.thinking?;
    let budget = match wanted {
        Thinking::Off => return None,
        Thinking::Low => 2_048,
        Thinking::Medium => 8_192,
        Thinking::High => 24_576,
    };
    if generation.adapts() {
        let mut adaptive = json!({ "type": "adaptive" });
        if generation.hides_thoughts() {
            adaptive["display"] = json!("summarized");
        }
        return Some(adaptive);
    }
    let forced = matches!(
        ask.prompt.tool_choice,
        Some(ToolChoice::Required | ToolChoice::Named(_))
    );
    let budget = budget.min(max_tokens / 2);
    let possible = generation.thinks()
        && !forced
        && budget >= BUDGET_TOKENS_MIN
        && unfinished_turn_has_thoughts(ask.turns);
    possible.then(|| json!({ "type": "enabled", "budget_tokens": budget }))
}

/// With a budget, an unfinished turn must begin with thoughts; one that another provider began
/// has none that could be sent.
fn unfinished_turn_has_thoughts(turns: &[Turn]) -> bool {
    let unfinished = &turns[open_turn(turns).min(turns.len())..];
    let first = unfinished.iter().find_map(|turn| match turn {
        Turn::Assistant(parts) => Some(parts),
        _ => None,
    });
    first.is_none_or(|parts| parts.first().is_some_and(|part| thought(part).is_some()))
}

fn messages(ask: &Ask<'_>) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in ask.turns {
        let (role, blocks): (&str, Vec<Value>) = match turn {
            Turn::User(parts) => ("user", parts.iter().filter_map(shown).collect()),
            Turn::Assistant(parts) => {
                let spoken = parts.iter().filter_map(|part| spoken(part, ask));
                ("assistant", spoken.collect())
            }
            Turn::Tools(answers) => (
                "user",
                answers.iter().map(|answer| result(answer, ask)).collect(),
            ),
        };
        match messages.last_mut() {
            // Results and what the person said after them are one message.
            Some((before, known)) if *before == role => known.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let mut marks = 0;
    for (role, blocks) in messages.iter_mut().rev() {
        if *role == "user" && marks < 2 {
            mark(blocks);
            marks += 1;
        }
    }
    messages
        .into_iter()
        .map(|(role, blocks)| json!({ "role": role, "content": blocks }))
        .collect()
}

fn shown(part: &Part) -> Option<Value> {
    match part {
        Part::Text { text } => Some(json!({ "type": "text", "text": text })),
        Part::Image { mime_type, data } => Some(json!({
            "type": "image",
            "source": { "type": "base64", "media_type": mime_type, "data": data },
        })),
        _ => None,
    }
}

fn spoken(part: &Part, ask: &Ask<'_>) -> Option<Value> {
    match part {
        Part::Text { .. } => shown(part),
        Part::Thinking { .. } => thought(part),
        Part::ToolCall(call) => Some(json!({
            "type": "tool_use",
            "id": shaped(&call.id, ask.quirks.tool_ids),
            "name": call.name,
            "input": history::object_args(call),
        })),
        _ => None,
    }
}

/// A thought as it came; one without this provider's proof cannot be sent.
fn thought(part: &Part) -> Option<Value> {
    if let Some(data) = reasoning::own(part, ANTHROPIC_REDACTED) {
        return Some(json!({ "type": "redacted_thinking", "data": data }));
    }
    let signature = reasoning::own(part, ANTHROPIC)?;
    let Part::Thinking { text, .. } = part else {
        return None;
    };
    Some(json!({ "type": "thinking", "thinking": text, "signature": signature }))
}

fn result(answer: &Answer, ask: &Ask<'_>) -> Value {
    let content: Vec<Value> = answer.content.iter().filter_map(shown).collect();
    let mut block = json!({
        "type": "tool_result",
        "tool_use_id": shaped(&answer.id, ask.quirks.tool_ids),
        "content": content,
    });
    if answer.is_error {
        block["is_error"] = json!(true);
    }
    block
}

/// What a model can do, by the numbers in its name: `claude-opus-5-5` is 5.5, `claude-3-7-sonnet`
/// is 3.7. A name without numbers is taken for a new one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Generation(u8, u8);

impl Generation {
    const UNKNOWN: Generation = Generation(u8::MAX, 0);

    fn of(model: &str) -> Generation {
        let words = model.split(['-', '.', '@', ':']);
        let numbers = words.skip(1).filter(|word| word.len() <= 2);
        let mut numbers = numbers.filter_map(|word| word.parse().ok());
        match numbers.next() {
            Some(major) => Generation(major, numbers.next().unwrap_or(0)),
            None => Generation::UNKNOWN,
        }
    }

    fn output_tokens(self) -> u32 {
        match self {
            Generation(0..=2, _) | Generation(3, 0..=4) => 4_096,
            Generation(3, 5 | 6) | Generation::UNKNOWN => 8_192,
            _ => 32_000,
        }
    }

    fn thinks(self) -> bool {
        self >= Generation(3, 7)
    }

    /// It decides itself how much to think.
    fn adapts(self) -> bool {
        self >= Generation(4, 6) && self != Generation::UNKNOWN
    }

    /// It shows its thoughts only when asked to.
    fn hides_thoughts(self) -> bool {
        self >= Generation(4, 7)
    }

    fn refuses_sampling(self) -> bool {
        self >= Generation(4, 7) && self != Generation::UNKNOWN
    }

    fn keeps_schemas(self) -> bool {
        self >= Generation(4, 5)
    }
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
