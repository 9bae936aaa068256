//! Who else speaks chat completions, and in what each differs: data, and the rules that are
//! theirs alone.

use crate::refusal::{ReadResult, SimRefusal};
use crate::request::{Flavour, SimMessage};
use crate::rules;
use hob_wire::content::Role;
use serde_json::Value;

/// Letters and digits of a Mistral tool call's id.
const MISTRAL_ID_LEN: usize = 9;

/// A provider's deviations from OpenAI.
#[derive(Debug)]
pub(crate) struct FlavourQuirks {
    pub(crate) thinking: ThinkingField,
    pub(crate) usage: UsageTiming,
    /// A tool call comes in one chunk, not in pieces.
    pub(crate) calls_whole: bool,
    /// The prefix of a call id, and its length.
    pub(crate) id_prefix: &'static str,
    pub(crate) id_len: usize,
    /// A comment before the first chunk, while the model is looked for.
    pub(crate) comment: Option<&'static str>,
    /// Fields a request may have beside OpenAI's; `None` takes anything.
    pub(crate) more_fields: Option<&'static [&'static str]>,
    /// Fields of OpenAI's that are refused.
    pub(crate) no_fields: &'static [&'static str],
}

/// The field of thoughts.
#[derive(Debug)]
pub(crate) enum ThinkingField {
    /// `delta.reasoning_content`.
    ReasoningContent,
    /// `delta.reasoning`.
    Reasoning,
    /// `delta.reasoning`, and again in `delta.reasoning_details`.
    Details,
    /// Parts of type `thinking` in `delta.content`.
    Parts,
}

/// The point of a stream that reports usage.
#[derive(Debug)]
pub(crate) enum UsageTiming {
    /// In a chunk of its own, when asked for.
    Asked,
    /// In the chunk that ends the answer, asked or not.
    Last,
    /// In every chunk.
    Each,
    /// In the last chunk under `x_groq`, and in one of its own when asked for.
    Groq,
}

const OPENAI: FlavourQuirks = FlavourQuirks {
    thinking: ThinkingField::ReasoningContent,
    usage: UsageTiming::Asked,
    calls_whole: false,
    id_prefix: "call_",
    id_len: 24,
    comment: None,
    more_fields: Some(&[]),
    no_fields: &[],
};

const OPEN_ROUTER: FlavourQuirks = FlavourQuirks {
    thinking: ThinkingField::Details,
    usage: UsageTiming::Last,
    comment: Some(": OPENROUTER PROCESSING\n\n"),
    more_fields: Some(&[
        "models",
        "plugins",
        "provider",
        "reasoning",
        "route",
        "session_id",
        "top_k",
        "transforms",
        "usage",
    ]),
    ..OPENAI
};

const GROQ: FlavourQuirks = FlavourQuirks {
    thinking: ThinkingField::Reasoning,
    usage: UsageTiming::Groq,
    calls_whole: true,
    more_fields: Some(&["include_reasoning", "reasoning_format", "search_settings"]),
    ..OPENAI
};

const DEEP_SEEK: FlavourQuirks = FlavourQuirks {
    usage: UsageTiming::Last,
    more_fields: Some(&["thinking"]),
    ..OPENAI
};

const MISTRAL: FlavourQuirks = FlavourQuirks {
    thinking: ThinkingField::Parts,
    usage: UsageTiming::Last,
    calls_whole: true,
    id_prefix: "",
    id_len: MISTRAL_ID_LEN,
    more_fields: Some(&["prompt_mode", "random_seed", "safe_prompt"]),
    no_fields: &["max_completion_tokens", "seed", "stream_options", "store"],
    ..OPENAI
};

const XAI: FlavourQuirks = FlavourQuirks {
    usage: UsageTiming::Each,
    calls_whole: true,
    more_fields: Some(&["deferred", "search_parameters"]),
    ..OPENAI
};

const OLLAMA: FlavourQuirks = FlavourQuirks {
    thinking: ThinkingField::Reasoning,
    calls_whole: true,
    id_len: 8,
    more_fields: None,
    ..OPENAI
};

const LM_STUDIO: FlavourQuirks = FlavourQuirks {
    id_prefix: "",
    id_len: MISTRAL_ID_LEN,
    more_fields: None,
    ..OPENAI
};

pub(crate) fn quirks(flavour: Flavour) -> &'static FlavourQuirks {
    match flavour {
        Flavour::Openai => &OPENAI,
        Flavour::OpenRouter => &OPEN_ROUTER,
        Flavour::Groq => &GROQ,
        Flavour::DeepSeek => &DEEP_SEEK,
        Flavour::Mistral => &MISTRAL,
        Flavour::Xai => &XAI,
        Flavour::Ollama => &OLLAMA,
        Flavour::LmStudio => &LM_STUDIO,
    }
}

/// Refuses fields the provider does not know.
pub(super) fn check_fields(flavour: Flavour, body: &Value, common: &[&str]) -> ReadResult<()> {
    let quirks = quirks(flavour);
    let Some(more) = quirks.more_fields else {
        return Ok(());
    };
    for (name, _) in rules::fields(body).into_iter().flatten() {
        let name = name.as_str();
        let known =
            (common.contains(&name) && !quirks.no_fields.contains(&name)) || more.contains(&name);
        if known {
            continue;
        }
        return Err(match flavour {
            Flavour::Mistral => SimRefusal::new(
                422,
                format!("body.{name}: Extra inputs are not permitted (extra_forbidden)"),
            ),
            Flavour::Groq => SimRefusal::bad(format!("property '{name}' is unsupported")),
            _ => SimRefusal::bad(format!("Unrecognized request argument supplied: {name}")),
        });
    }
    Ok(())
}

/// The rules only one of them has, once all the common ones are kept.
pub(super) fn check_own(flavour: Flavour, body: &Value, said: &[SimMessage]) -> ReadResult<()> {
    match flavour {
        Flavour::Openai => check_reasoning_model(body),
        Flavour::DeepSeek => check_deep_seek(body),
        Flavour::Mistral => check_mistral(said),
        Flavour::Groq => check_groq(body),
        Flavour::OpenRouter | Flavour::Xai | Flavour::Ollama | Flavour::LmStudio => Ok(()),
    }
}

/// Models that reason do without the knobs of those that do not.
fn check_reasoning_model(body: &Value) -> ReadResult<()> {
    let model = body["model"].as_str().unwrap_or_default();
    let reasons = ["o1", "o3", "o4", "gpt-5"]
        .iter()
        .any(|family| model.starts_with(family));
    if !reasons {
        return Ok(());
    }
    if !body["max_tokens"].is_null() {
        return Err(SimRefusal::bad(
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        )
        .at("max_tokens"));
    }
    for field in ["temperature", "top_p"] {
        let value = &body[field];
        if !value.is_null() && value.as_f64() != Some(1.0) {
            return Err(SimRefusal::bad(format!(
                "Unsupported value: '{field}' does not support {value} with this model. Only the default (1) value is supported."
            ))
            .at(field));
        }
    }
    if !body["stop"].is_null() {
        return Err(SimRefusal::bad(
            "Unsupported parameter: 'stop' is not supported with this model.",
        )
        .at("stop"));
    }
    Ok(())
}

fn check_deep_seek(body: &Value) -> ReadResult<()> {
    if body["response_format"]["type"] == "json_schema" {
        return Err(SimRefusal::bad(
            "This response_format type is unavailable now",
        ));
    }
    if body["model"] != "deepseek-reasoner" {
        return Ok(());
    }
    let messages = body["messages"].as_array().map_or(&[][..], Vec::as_slice);
    let spoke = messages.iter().rposition(|one| one["role"] == "user");
    for (at, message) in messages.iter().enumerate().skip(spoke.unwrap_or(0)) {
        if message["tool_calls"].is_array() && !message["reasoning_content"].is_string() {
            return Err(SimRefusal::bad(format!(
                "Missing `reasoning_content` field in the assistant message at message index {at}."
            )));
        }
    }
    Ok(())
}

fn check_groq(body: &Value) -> ReadResult<()> {
    let messages = body["messages"].as_array().into_iter().flatten();
    for (at, message) in messages.enumerate() {
        if !message["reasoning_content"].is_null() {
            return Err(SimRefusal::bad(format!(
                "'messages.{at}' : for 'role:assistant' the following must be satisfied[('messages.{at}' : property 'reasoning_content' is unsupported)]"
            )));
        }
    }
    Ok(())
}

fn check_mistral(said: &[SimMessage]) -> ReadResult<()> {
    let fits = |id: &str| {
        id.len() == MISTRAL_ID_LEN && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
    };
    for pair in said.windows(2) {
        if let [before, after] = pair
            && before.role == Role::Tool
            && after.role == Role::User
        {
            return Err(SimRefusal::bad("Unexpected role 'user' after role 'tool'"));
        }
    }
    let calls = said.iter().flat_map(|one| &one.tool_calls);
    if let Some(call) = calls.into_iter().find(|call| !fits(&call.id)) {
        return Err(SimRefusal::bad(format!(
            "Tool call id was {} but must be a-z, A-Z, 0-9, with a length of 9.",
            call.id
        )));
    }
    match said.last() {
        Some(last) if last.role == Role::Assistant => Err(SimRefusal::bad(
            "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant",
        )),
        _ => Ok(()),
    }
}
