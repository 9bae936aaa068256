//! The built-in providers, as data. A row holds a provider's URL, its protocol, the variable of its
//! key, and its deviations from the protocol.

use crate::tool_id::ToolIdFormat;
use hob_wire::rooms::model::ProviderKind;

/// A built-in provider.
#[derive(Debug)]
pub(crate) struct ProviderRow {
    pub(crate) name: &'static str,
    pub(crate) kind: ProviderKind,
    pub(crate) url: &'static str,
    /// The environment variable of its key; `None` if it needs no key.
    pub(crate) key_env: Option<&'static str>,
    /// True for a server on the user's own machine: it is free, and used only if configured.
    pub(crate) local: bool,
    pub(crate) quirks: ProviderQuirks,
    /// The models to use when the user set none.
    pub(crate) suggested: SuggestedModels,
}

/// Models for the aliases, by the provider's names; empty if there is no obvious choice.
#[derive(Debug)]
pub(crate) struct SuggestedModels {
    pub(crate) default: &'static str,
    pub(crate) fast: &'static str,
    pub(crate) smart: &'static str,
}

/// A provider's deviations from its protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProviderQuirks {
    /// The field name of the output limit in chat completions.
    pub(crate) output_limit: &'static str,
    pub(crate) tool_ids: ToolIdFormat,
    /// The `tool_choice` value that forces a tool call.
    pub(crate) required: &'static str,
    /// True if `stream_options` is accepted. Providers that reject it send usage anyway.
    pub(crate) stream_options: bool,
    pub(crate) schema: SchemaFormat,
    pub(crate) effort: EffortField,
    /// The field that returns thoughts within an unfinished turn.
    pub(crate) thoughts_back: Option<&'static str>,
    /// True if its reasoning models reject temperature, top-p and stop sequences.
    pub(crate) strict_sampling: bool,
    /// Headers in addition to the protocol's.
    pub(crate) headers: &'static [(&'static str, &'static str)],
}

/// The request field for an answer schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SchemaFormat {
    /// `response_format: {type: json_schema}`.
    JsonSchema,
    /// `json_object`, with the schema in the system text.
    JsonObject,
}

/// The request field for the thinking effort.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EffortField {
    /// `reasoning_effort: "low"`.
    Word,
    /// `reasoning: {effort: "low"}`.
    Nested,
    /// Not sent: the model decides.
    Unsaid,
}

impl ProviderQuirks {
    /// Chat completions without deviations.
    pub(crate) const COMMON: ProviderQuirks = ProviderQuirks {
        output_limit: "max_tokens",
        tool_ids: ToolIdFormat::Common,
        required: "required",
        stream_options: true,
        schema: SchemaFormat::JsonSchema,
        effort: EffortField::Unsaid,
        thoughts_back: None,
        strict_sampling: false,
        headers: &[],
    };
}

const NOTHING: SuggestedModels = SuggestedModels {
    default: "",
    fast: "",
    smart: "",
};

/// The built-in providers, in order of preference when the user set no model.
pub(crate) const ROWS: &[ProviderRow] = &[
    ProviderRow {
        name: "anthropic",
        kind: ProviderKind::Anthropic,
        url: "https://api.anthropic.com",
        key_env: Some("ANTHROPIC_API_KEY"),
        local: false,
        quirks: ProviderQuirks::COMMON,
        suggested: SuggestedModels {
            default: "claude-sonnet-5-5",
            fast: "claude-haiku-5-5",
            smart: "claude-opus-5-5",
        },
    },
    ProviderRow {
        name: "openai",
        kind: ProviderKind::OpenaiResponses,
        url: "https://api.openai.com/v1",
        key_env: Some("OPENAI_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            output_limit: "max_completion_tokens",
            effort: EffortField::Word,
            strict_sampling: true,
            ..ProviderQuirks::COMMON
        },
        suggested: SuggestedModels {
            default: "gpt-5.4",
            fast: "gpt-5.4-mini",
            smart: "gpt-5.5",
        },
    },
    ProviderRow {
        name: "gemini",
        kind: ProviderKind::Gemini,
        url: "https://generativelanguage.googleapis.com",
        key_env: Some("GEMINI_API_KEY"),
        local: false,
        quirks: ProviderQuirks::COMMON,
        suggested: SuggestedModels {
            default: "gemini-flash-latest",
            fast: "gemini-flash-lite-latest",
            smart: "gemini-pro-latest",
        },
    },
    ProviderRow {
        name: "openrouter",
        kind: ProviderKind::Openai,
        url: "https://openrouter.ai/api/v1",
        key_env: Some("OPENROUTER_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            effort: EffortField::Nested,
            thoughts_back: Some("reasoning_details"),
            headers: &[("x-title", "hob")],
            ..ProviderQuirks::COMMON
        },
        suggested: SuggestedModels {
            default: "openrouter/auto",
            fast: "openrouter/auto",
            smart: "openrouter/auto",
        },
    },
    ProviderRow {
        name: "groq",
        kind: ProviderKind::Openai,
        url: "https://api.groq.com/openai/v1",
        key_env: Some("GROQ_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            output_limit: "max_completion_tokens",
            effort: EffortField::Word,
            ..ProviderQuirks::COMMON
        },
        suggested: SuggestedModels {
            default: "openai/gpt-oss-120b",
            fast: "openai/gpt-oss-20b",
            smart: "openai/gpt-oss-120b",
        },
    },
    ProviderRow {
        name: "deepseek",
        kind: ProviderKind::Openai,
        url: "https://api.deepseek.com/v1",
        key_env: Some("DEEPSEEK_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            schema: SchemaFormat::JsonObject,
            thoughts_back: Some("reasoning_content"),
            ..ProviderQuirks::COMMON
        },
        suggested: SuggestedModels {
            default: "deepseek-flash",
            fast: "deepseek-flash",
            smart: "deepseek-v4-pro",
        },
    },
    ProviderRow {
        name: "mistral",
        kind: ProviderKind::Openai,
        url: "https://api.mistral.ai/v1",
        key_env: Some("MISTRAL_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            tool_ids: ToolIdFormat::NineLetters,
            required: "any",
            stream_options: false,
            ..ProviderQuirks::COMMON
        },
        suggested: SuggestedModels {
            default: "mistral-medium-latest",
            fast: "mistral-small-latest",
            smart: "mistral-large-latest",
        },
    },
    ProviderRow {
        name: "xai",
        kind: ProviderKind::Openai,
        url: "https://api.x.ai/v1",
        key_env: Some("XAI_API_KEY"),
        local: false,
        quirks: ProviderQuirks {
            output_limit: "max_completion_tokens",
            ..ProviderQuirks::COMMON
        },
        suggested: NOTHING,
    },
    ProviderRow {
        name: "ollama",
        kind: ProviderKind::Ollama,
        url: "http://127.0.0.1:11434",
        key_env: None,
        local: true,
        quirks: ProviderQuirks {
            effort: EffortField::Word,
            ..ProviderQuirks::COMMON
        },
        suggested: NOTHING,
    },
    ProviderRow {
        name: "lmstudio",
        kind: ProviderKind::Openai,
        url: "http://127.0.0.1:1234/v1",
        key_env: None,
        local: true,
        quirks: ProviderQuirks::COMMON,
        suggested: NOTHING,
    },
];

/// Returns the row of that name.
pub(crate) fn row(name: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.name == name)
}

/// Returns the row whose key is in this variable.
pub(crate) fn row_of_variable(variable: &str) -> Option<&'static ProviderRow> {
    ROWS.iter().find(|row| row.key_env == Some(variable))
}

/// Returns the row with the same host as this URL, whatever name the user gave it.
pub(crate) fn row_at(url: &str) -> Option<&'static ProviderRow> {
    fn host(url: &str) -> Option<&str> {
        url.split_once("://")?.1.split('/').next()
    }
    let wanted = host(url)?;
    // A local port may belong to any server, so no row's quirks are assumed there.
    let mut rows = ROWS.iter().filter(|row| !row.local);
    rows.find(|row| host(row.url) == Some(wanted))
}

/// Returns the row whose public URL is the default of a kind.
pub(crate) fn row_of_kind(kind: ProviderKind) -> Option<&'static ProviderRow> {
    // OpenAI serves chat completions and responses at the same URL with the same key.
    let wanted = match kind {
        ProviderKind::Openai => ProviderKind::OpenaiResponses,
        other => other,
    };
    ROWS.iter().find(|row| row.kind == wanted)
}

#[cfg(test)]
#[path = "providers_tests.rs"]
mod tests;
