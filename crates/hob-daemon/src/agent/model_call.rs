//! One model call, ready to be made: the model, its prompt and the highest cost. Pure.

use super::conversation::{self, ContextMessage};
use super::history::UnreadCount;
use super::system_prompt;
use hob_core::turn::repetition::LineScope;
use hob_models::{
    CONTEXT_TOKENS_ASSUMED, ModelCandidate, ModelFacts, ModelProfile, Prompt, ToolDefinition, price,
};
use hob_wire::rooms::agent::{SamplingParams, ToolChoice};
use hob_wire::work::{Idempotency, ToolSpec};
use hob_wire::{ContentPart, TokenUsage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Output tokens reserved when neither caller nor model gives a limit.
const OUTPUT_TOKENS_DEFAULT: u64 = 8_192;

/// Everything a prompt is built from, before the model is known.
#[derive(Clone, Debug, Default)]
pub(crate) struct PromptInput {
    /// Layers of the system prompt, stable ones first.
    pub(crate) system: Vec<String>,
    /// The layers that the caller wrote.
    pub(crate) callers_system: Vec<String>,
    pub(crate) messages: Vec<ContextMessage>,
    /// Number of messages before `messages` that were not read.
    pub(crate) unread: UnreadCount,
    pub(crate) tools: Vec<ToolSpec>,
    /// Tools that the caller runs itself.
    pub(crate) client_tools: Vec<ToolDefinition>,
    pub(crate) tool_choice: Option<ToolChoice>,
    pub(crate) schema: Option<Value>,
    pub(crate) options: SamplingParams,
    /// True if thinking may be sent back: only to the model that produced it.
    pub(crate) keep_thoughts: bool,
    /// True if a model with an unknown window is assumed to have [`CONTEXT_TOKENS_ASSUMED`].
    pub(crate) assume_window: bool,
    /// Token limit below the window, after a provider rejected the conversation as too long.
    pub(crate) room_cap: Option<u64>,
}

/// A model call.
#[derive(Clone, Debug)]
pub(crate) struct ModelCall {
    pub(crate) candidate: ModelCandidate,
    /// Shared, because it is large and never changes.
    pub(crate) prompt: Arc<Prompt>,
    /// Highest cost; `None` if the price is unknown.
    pub(crate) reserved: Option<u64>,
    pub(crate) input_tokens: u64,
    /// Notes about the prompt for the person.
    pub(crate) notes: Vec<String>,
    /// Idempotency class of each tool, by name and alias.
    pub(crate) effects: BTreeMap<String, Idempotency>,
    /// The repetitions that end its answer; `None`: none does.
    pub(crate) line_scope: Option<LineScope>,
}

impl ModelCall {
    pub(crate) fn new(candidate: ModelCandidate, mut request: PromptInput) -> ModelCall {
        let facts = candidate.facts();
        if let Some(profile) = facts.profile {
            request.apply_profile(profile);
        }
        let effects = effects_by_name(&request.tools);
        let mut prompt = Prompt {
            system: request.system,
            tools: tool_words(request.tools, request.client_tools),
            tool_choice: request.tool_choice,
            schema: request.schema,
            options: request.options,
            repeat_penalty: facts.profile.map(|profile| profile.repeat_penalty),
            ..Prompt::default()
        };
        let output_tokens = output_tokens(&prompt.options, facts.output_tokens);
        let fixed = candidate.count_prompt(&prompt);
        let assumed = request.assume_window.then_some(CONTEXT_TOKENS_ASSUMED);
        let window = facts.context_tokens.or(assumed).map(|window| {
            // The reserve for the answer is at most a quarter of the window, so that a small window
            // keeps room for the conversation.
            let answer = output_tokens.min(window / 4);
            window.saturating_sub(fixed).saturating_sub(answer)
        });
        let room = match (window, request.room_cap) {
            (Some(window), Some(cap)) => Some(window.min(cap)),
            (window, cap) => window.or(cap),
        };
        let weigh = |parts: &[ContentPart]| candidate.count_tokens(parts);
        let fitted =
            conversation::fit_to_window(request.messages, room, request.keep_thoughts, &weigh);
        prompt.messages = fitted.messages;
        let left_out = OmittedMessages {
            messages: request.unread.messages + fitted.messages_left_out,
            or_more: request.unread.or_more,
        };
        let mut notes = Vec::new();
        if left_out.messages > 0 {
            notes.push(left_out.note(&candidate));
            // A model with a profile gets only the profile's short system prompt.
            if facts.profile.is_none() {
                prompt
                    .system
                    .push(system_prompt::omission_notice(&left_out.to_string()));
            }
        }
        let input_tokens = candidate.count_prompt(&prompt);
        let worst = TokenUsage {
            input_tokens,
            output_tokens,
            cached_tokens: 0,
        };
        ModelCall {
            reserved: facts.price.map(|price| price::cost(&price, &worst)),
            input_tokens,
            notes,
            effects,
            prompt: Arc::new(prompt),
            line_scope: line_scope(&facts),
            candidate,
        }
    }

    /// The cost of this usage at the candidate's price.
    pub(crate) fn price_usage(&self, usage: &TokenUsage) -> Option<u64> {
        let price = self.candidate.facts().price;
        price.map(|price| price::cost(&price, usage))
    }
}

impl PromptInput {
    /// Applies the profile of a small model.
    fn apply_profile(&mut self, profile: &ModelProfile) {
        self.system = match std::mem::take(&mut self.callers_system) {
            none if none.is_empty() => vec![profile.system.to_owned()],
            layers => layers,
        };
        if !profile.tools {
            self.tools.clear();
            self.client_tools.clear();
            self.tool_choice = None;
        }
        let options = &mut self.options;
        options.temperature.get_or_insert(profile.temperature);
        let asked = options.max_output_tokens.unwrap_or(u32::MAX);
        options.max_output_tokens = Some(asked.min(profile.output_tokens));
    }
}

/// Start of the note about omitted messages.
const LEFT_OUT_BEGINS: &str = "The oldest messages of the conversation";

/// True if a note replaces a former one: each step omits a little more.
pub(crate) fn replaces_note(note: &str, former: &str) -> bool {
    note.starts_with(LEFT_OUT_BEGINS) && former.starts_with(LEFT_OUT_BEGINS)
}

/// The oldest messages of a conversation, omitted from the prompt.
#[derive(Clone, Copy, Debug)]
struct OmittedMessages {
    messages: u64,
    /// True if there are more that were not counted.
    or_more: bool,
}

impl OmittedMessages {
    /// The note for the person.
    fn note(self, candidate: &ModelCandidate) -> String {
        let model = candidate.id();
        let why = if candidate.facts().context_tokens.is_some() {
            format!("it is longer than the window of {model}.")
        } else {
            format!(
                "it is longer than {CONTEXT_TOKENS_ASSUMED} tokens, the window assumed for {model}. If its window is different, set context_tokens of its provider."
            )
        };
        format!("{LEFT_OUT_BEGINS} ({self}) were left out: {why}")
    }
}

impl fmt::Display for OmittedMessages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.or_more { "at least " } else { "" };
        write!(f, "{at_least}{}", self.messages)
    }
}

/// Most tokens of history for this model, without the rest of the prompt.
pub(crate) fn history_tokens_max(candidate: &ModelCandidate, room_cap: Option<u64>) -> u64 {
    let facts = candidate.facts();
    let window = facts.context_tokens.unwrap_or(CONTEXT_TOKENS_ASSUMED);
    room_cap.map_or(window, |cap| window.min(cap))
}

/// The repetitions that end an answer of this model. Answers of the demo are short, so no line of
/// one comes three times; the better local models write code and lists.
fn line_scope(facts: &ModelFacts) -> Option<LineScope> {
    match facts.profile {
        Some(_) => Some(LineScope::Anywhere),
        None => facts.local.then_some(LineScope::InARow),
    }
}

/// True if this model is offered tools.
pub(crate) fn takes_tools(candidate: &ModelCandidate) -> bool {
    let profile = candidate.facts().profile;
    profile.is_none_or(|profile| profile.tools)
}

/// Puts the candidate that answered last in front, so that a failing model is not tried again at
/// every step.
pub(crate) fn with_last_first(
    mut candidates: Vec<ModelCandidate>,
    last: Option<&str>,
) -> Vec<ModelCandidate> {
    let found = last.and_then(|last| candidates.iter().position(|one| one.id() == last));
    candidates.rotate_left(found.unwrap_or(0));
    candidates
}

fn output_tokens(options: &SamplingParams, most: Option<u64>) -> u64 {
    let asked = options.max_output_tokens.map(u64::from);
    let default = most.map_or(OUTPUT_TOKENS_DEFAULT, |most| {
        most.min(OUTPUT_TOKENS_DEFAULT)
    });
    asked.unwrap_or(default)
}

fn tool_words(tools: Vec<ToolSpec>, client_tools: Vec<ToolDefinition>) -> Vec<ToolDefinition> {
    let ours = tools.into_iter().map(|tool| ToolDefinition {
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters,
    });
    ours.chain(client_tools).collect()
}

fn effects_by_name(tools: &[ToolSpec]) -> BTreeMap<String, Idempotency> {
    let names = tools.iter().flat_map(|tool| {
        let names = std::iter::once(&tool.name).chain(&tool.aliases);
        names.map(|name| (name.clone(), tool.effect))
    });
    names.collect()
}

#[cfg(test)]
#[path = "model_call_tests.rs"]
mod tests;
