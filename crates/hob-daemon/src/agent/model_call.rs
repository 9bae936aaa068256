//! One model call, ready to be made: which model, what it is shown, what it may cost. Pure but
//! for the list of tools it is given.

use super::conversation::{self, Spoken};
use super::history::Unread;
use super::prompt;
use hob_models::{CONTEXT_TOKENS_ASSUMED, Candidate, Profile, Prompt, ToolWord, price};
use hob_wire::rooms::agent::{Sampling, ToolChoice};
use hob_wire::work::{Effect, ToolSpec};
use hob_wire::{Part, Usage};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// Tokens an answer is reserved for when neither caller nor model says how long it may be.
const OUTPUT_TOKENS: u64 = 8_192;

/// What a model is asked with, before it is known which.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Layers, the stable ones first.
    pub(crate) system: Vec<String>,
    /// Those of them that are the caller's own words.
    pub(crate) callers_system: Vec<String>,
    pub(crate) spoken: Vec<Spoken>,
    /// What came before `spoken` and was not read.
    pub(crate) unread: Unread,
    pub(crate) tools: Vec<ToolSpec>,
    /// Tools that are the caller's to run.
    pub(crate) client_tools: Vec<ToolWord>,
    pub(crate) tool_choice: Option<ToolChoice>,
    pub(crate) schema: Option<Value>,
    pub(crate) options: Sampling,
    /// Whether thoughts may go back: only to the model that had them.
    pub(crate) keep_thoughts: bool,
    /// Whether a model of unknown window is taken to have [`CONTEXT_TOKENS_ASSUMED`].
    pub(crate) assume_window: bool,
    /// Less room than the window, after a provider found the conversation too long.
    pub(crate) room_cap: Option<u64>,
}

/// A model call.
#[derive(Clone, Debug)]
pub(crate) struct Order {
    pub(crate) candidate: Candidate,
    /// Large and never changed, so it is shared.
    pub(crate) prompt: Arc<Prompt>,
    /// What it may cost at the most; nothing when the price is not known.
    pub(crate) reserved: Option<u64>,
    pub(crate) input_tokens: u64,
    /// Sentences about the prompt for the person.
    pub(crate) notes: Vec<String>,
    /// What repeating a call of each tool does.
    pub(crate) effects: BTreeMap<String, Effect>,
}

impl Order {
    pub(crate) fn new(candidate: Candidate, mut request: Request) -> Order {
        let facts = candidate.facts();
        if let Some(profile) = facts.profile {
            request.follow(profile);
        }
        let effects = effects(&request.tools);
        let mut prompt = Prompt {
            system: request.system,
            tools: words(request.tools, request.client_tools),
            tool_choice: request.tool_choice,
            schema: request.schema,
            options: request.options,
            ..Prompt::default()
        };
        let output_tokens = output_tokens(&prompt.options, facts.output_tokens);
        let fixed = candidate.count_prompt(&prompt);
        let assumed = request.assume_window.then_some(CONTEXT_TOKENS_ASSUMED);
        let window = facts.context_tokens.or(assumed).map(|window| {
            // A small window is shared evenly; a large one leaves room for the longest answer.
            let answer = output_tokens.min(window / 4);
            window.saturating_sub(fixed).saturating_sub(answer)
        });
        let room = match (window, request.room_cap) {
            (Some(window), Some(cap)) => Some(window.min(cap)),
            (window, cap) => window.or(cap),
        };
        let weigh = |parts: &[Part]| candidate.count_tokens(parts);
        let fitted = conversation::fit(request.spoken, room, request.keep_thoughts, &weigh);
        prompt.messages = fitted.messages;
        let left_out = LeftOut {
            messages: request.unread.messages + fitted.messages_left_out,
            or_more: request.unread.or_more,
        };
        let mut notes = Vec::new();
        if left_out.messages > 0 {
            notes.push(left_out.note(&candidate));
            if facts.profile.is_none() {
                prompt.system.push(prompt::left_out(&left_out.to_string()));
            }
        }
        let input_tokens = candidate.count_prompt(&prompt);
        let worst = Usage {
            input_tokens,
            output_tokens,
            cached_tokens: 0,
        };
        Order {
            reserved: facts.price.map(|price| price::cost(&price, &worst)),
            input_tokens,
            notes,
            effects,
            prompt: Arc::new(prompt),
            candidate,
        }
    }

    /// The most a call of this candidate's price costs.
    pub(crate) fn price_of(&self, usage: &Usage) -> Option<u64> {
        let price = self.candidate.facts().price;
        price.map(|price| price::cost(&price, usage))
    }
}

impl Request {
    /// Asks as a profile says.
    fn follow(&mut self, profile: &Profile) {
        self.system = match std::mem::take(&mut self.callers_system) {
            none if none.is_empty() => vec![profile.system.to_owned()],
            said => said,
        };
        if !profile.tools {
            self.tools.clear();
            self.client_tools.clear();
            self.tool_choice = None;
        }
        let options = &mut self.options;
        options.temperature.get_or_insert(profile.temperature);
        options
            .max_output_tokens
            .get_or_insert(profile.output_tokens);
        let room = self.room_cap.unwrap_or(u64::MAX);
        self.room_cap = Some(room.min(profile.history_tokens));
    }
}

/// How the note about what was left out begins.
const LEFT_OUT_BEGINS: &str = "The oldest messages of the conversation";

/// Whether a note says anew what a former one said: each step leaves out a little more.
pub(crate) fn replaces(note: &str, former: &str) -> bool {
    note.starts_with(LEFT_OUT_BEGINS) && former.starts_with(LEFT_OUT_BEGINS)
}

/// The oldest messages of a conversation, which a model is not shown.
#[derive(Clone, Copy, Debug)]
struct LeftOut {
    messages: u64,
    /// More than these, which were not counted.
    or_more: bool,
}

impl LeftOut {
    /// The sentence for the person.
    fn note(self, candidate: &Candidate) -> String {
        let model = candidate.id();
        let why = if candidate.facts().context_tokens.is_some() {
            format!("it is longer than the window of {model}.")
        } else {
            format!(
                "it is longer than the {CONTEXT_TOKENS_ASSUMED} tokens that {model} is taken to have room for. If its window is another, set context_tokens of its provider."
            )
        };
        format!("{LEFT_OUT_BEGINS} ({self}) were left out: {why}")
    }
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at_least = if self.or_more { "at least " } else { "" };
        write!(f, "{at_least}{}", self.messages)
    }
}

/// The most tokens of a conversation that this model can be shown, the rest of a prompt not counted.
pub(crate) fn history_tokens_max(candidate: &Candidate, room_cap: Option<u64>) -> u64 {
    let facts = candidate.facts();
    let window = facts.context_tokens.unwrap_or(CONTEXT_TOKENS_ASSUMED);
    let of_profile = facts.profile.map(|profile| profile.history_tokens);
    let caps = room_cap.into_iter().chain(of_profile);
    caps.fold(window, u64::min)
}

/// Whether this model is offered tools at all.
pub(crate) fn takes_tools(candidate: &Candidate) -> bool {
    let profile = candidate.facts().profile;
    profile.is_none_or(|profile| profile.tools)
}

/// The candidates with the one that answered last in front: what failed before is not asked anew
/// at every step.
pub(crate) fn from_last(mut candidates: Vec<Candidate>, last: Option<&str>) -> Vec<Candidate> {
    let found = last.and_then(|last| candidates.iter().position(|one| one.id() == last));
    candidates.rotate_left(found.unwrap_or(0));
    candidates
}

fn output_tokens(options: &Sampling, most: Option<u64>) -> u64 {
    let asked = options.max_output_tokens.map(u64::from);
    let default = most.map_or(OUTPUT_TOKENS, |most| most.min(OUTPUT_TOKENS));
    asked.unwrap_or(default)
}

fn words(tools: Vec<ToolSpec>, client_tools: Vec<ToolWord>) -> Vec<ToolWord> {
    let ours = tools.into_iter().map(|tool| ToolWord {
        name: tool.name,
        description: tool.description,
        parameters: tool.parameters,
    });
    ours.chain(client_tools).collect()
}

fn effects(tools: &[ToolSpec]) -> BTreeMap<String, Effect> {
    let names = tools.iter().flat_map(|tool| {
        let names = std::iter::once(&tool.name).chain(&tool.aliases);
        names.map(|name| (name.clone(), tool.effect))
    });
    names.collect()
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
