//! The providers hob knows by name: data, no code. A row says where a provider answers, which
//! protocol it speaks, where its key is, and in what it differs from that protocol.

use crate::tool_id::IdShape;
use hob_wire::rooms::model::ProviderKind;

/// A provider.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) kind: ProviderKind,
    pub(crate) url: &'static str,
    /// The variable its key is in; none needs no key.
    pub(crate) key_env: Option<&'static str>,
    /// Runs on a machine of the person's own: costs nothing, and is asked only if configured.
    pub(crate) local: bool,
    pub(crate) quirks: Quirks,
    /// What to ask when the person named no model.
    pub(crate) suggested: Suggested,
}

/// Models for the aliases, by the provider's own names; empty when it has no obvious one.
#[derive(Debug)]
pub(crate) struct Suggested {
    pub(crate) default: &'static str,
    pub(crate) fast: &'static str,
    pub(crate) smart: &'static str,
}

/// Differences within a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quirks {
    /// What the output limit is called in chat completions.
    pub(crate) output_limit: &'static str,
    pub(crate) tool_ids: IdShape,
    /// How "some tool must be called" is said.
    pub(crate) required: &'static str,
    /// Whether `stream_options` is taken; who refuses it sends usage unasked.
    pub(crate) stream_options: bool,
    pub(crate) schema: SchemaWay,
    pub(crate) effort: EffortWay,
    /// The field in which thoughts are sent back within an unfinished turn.
    pub(crate) thoughts_back: Option<&'static str>,
    /// Its reasoning models refuse temperature, top-p and stop words.
    pub(crate) strict_sampling: bool,
    /// Headers beside the protocol's.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

/// How a schema for the answer is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaWay {
    /// `response_format: {type: json_schema}`.
    JsonSchema,
    /// `json_object`, with the schema in the system text.
    JsonObject,
}

/// How much thinking is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffortWay {
    /// `reasoning_effort: "low"`.
    Word,
    /// `reasoning: {effort: "low"}`.
    Nested,
    /// Not at all: the model decides.
    Unsaid,
}

impl Quirks {
    /// Chat completions as most servers speak it.
    pub(crate) const COMMON: Quirks = Quirks {
        output_limit: "max_tokens",
        tool_ids: IdShape::Common,
        required: "required",
        stream_options: true,
        schema: SchemaWay::JsonSchema,
        effort: EffortWay::Unsaid,
        thoughts_back: None,
        strict_sampling: false,
        headers: &[],
    };
}

const NOTHING: Suggested = Suggested {
    default: "",
    fast: "",
    smart: "",
};

/// In the order in which a provider is taken when the person named no model.
pub(crate) const ROWS: &[Row] = &[
    Row {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        url: "https://api.anthropic.com",
        key_env: Some("ANTHROPIC_API_KEY"),
        local: false,
        quirks: Quirks::COMMON,
        suggested: Suggested {
            default: "claude-sonnet-5-5",
            fast: "claude-haiku-5-5",
            smart: "claude-opus-5-5",
        },
    },
    Row {
        name: "openai",
        kind: ProviderKind::OpenaiResponses,
        url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        local: false,
        quirks: Quirks {
            output_limit: "max_completion_tokens",
            effort: EffortWay::Word,
            strict_sampling: true,
            ..Quirks::COMMON
        },
        suggested: Suggested {
            default: "gpt-5.4",
            fast: "gpt-5.4-mini",
            smart: "gpt-5.5",
        },
    },
    Row {
        name: "gemini",
        kind: ProviderKind::Gemini,
        url: "https://generativelanguage.googleapis.com",
        key_env: Some("GEMINI_API_KEY"),
        local: false,
        quirks: Quirks::COMMON,
        suggested: Suggested {
            default: "gemini-flash-latest",
            fast: "gemini-flash-lite-latest",
            smart: "gemini-pro-latest",
        },
    },
    Row {
        name: "openrouter",
        kind: ProviderKind::Openai,
        url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        local: false,
        quirks: Quirks {
            effort: EffortWay::Nested,
            thoughts_back: Some("reasoning_details"),
            headers: &[("x-title", "hob")],
            ..Quirks::COMMON
        },
        suggested: Suggested {
            default: "openrouter/auto",
            fast: "openrouter/auto",
            smart: "openrouter/auto",
        },
    },
    Row {
        name: "groq",
        kind: ProviderKind::Openai,
        url: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        local: false,
        quirks: Quirks {
            output_limit: "max_completion_tokens",
            effort: EffortWay::Word,
            ..Quirks::COMMON
        },
        suggested: Suggested {
            default: "openai/gpt-oss-120b",
            fast: "openai/gpt-oss-20b",
            smart: "openai/gpt-oss-120b",
        },
    },
    Row {
        name: "deepseek",
        kind: ProviderKind::Openai,
        url: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        local: false,
        quirks: Quirks {
            schema: SchemaWay::JsonObject,
            thoughts_back: Some("reasoning_content"),
            ..Quirks::COMMON
        },
        suggested: Suggested {
            default: "deepseek-flash",
            fast: "deepseek-flash",
            smart: "deepseek-v4-pro",
        },
    },
    Row {
        name: "mistral",
        kind: ProviderKind::Openai,
        url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        local: false,
        quirks: Quirks {
            tool_ids: IdShape::NineLetters,
            required: "any",
            stream_options: false,
            ..Quirks::COMMON
        },
        suggested: Suggested {
            default: "mistral-medium-latest",
            fast: "mistral-small-latest",
            smart: "mistral-large-latest",
        },
    },
    Row {
        name: "xai",
        kind: ProviderKind::Openai,
        url: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        local: false,
        quirks: Quirks {
            output_limit: "max_completion_tokens",
            ..Quirks::COMMON
        },
        suggested: NOTHING,
    },
    Row {
        name: "ollama",
        kind: ProviderKind::Ollama,
        url: "http://127.0.0.1:11434",
        key_env: None,
        local: true,
        quirks: Quirks {
            effort: EffortWay::Word,
            ..Quirks::COMMON
        },
        suggested: NOTHING,
    },
    Row {
        name: "lmstudio",
        kind: ProviderKind::Openai,
        url: "http://127.0.0.1:1234/v1",
        key_env: None,
        local: true,
        quirks: Quirks::COMMON,
        suggested: NOTHING,
    },
];

/// The row of that name.
pub(crate) fn row(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.name == name)
}

/// The row that answers at this address, whatever a person called it.
pub(crate) fn row_at(url: &str) -> Option<&'static Row> {
    fn host(url: &str) -> Option<&str> {
        url.split_once("://")?.1.split('/').next()
    }
    let wanted = host(url)?;
    let mut rows = ROWS.iter().filter(|row| !row.local);
    rows.find(|row| host(row.url) == Some(wanted))
}

/// The row whose public address a kind has when none is given.
pub(crate) fn row_of_kind(kind: ProviderKind) -> Option<&'static Row> {
    // Chat completions at OpenAI itself are the same account and address as responses.
    let wanted = match kind {
        ProviderKind::Openai => ProviderKind::OpenaiResponses,
        other => other,
    };
    ROWS.iter().find(|row| row.kind == wanted)
}

#[cfg(test)]
#[path = "providers_tests.rs"]
mod tests;
