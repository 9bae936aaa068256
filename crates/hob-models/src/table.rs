//! What is known of well-known models: windows and list prices, from their providers' own pages.
//! Data; a model that is not here is simply not known.

use hob_wire::rooms::model::Price;

/// When this table was last compared with what the providers publish.
pub(crate) const AS_OF: &str = "2026-10-31";

/// A model, or a family whose names begin so.
#[derive(Debug)]
pub(crate) struct Known {
    provider: &'static str,
    /// A model of this name, or of this name with a date or a version tag after a dash.
    name: &'static str,
    pub(crate) context_tokens: u64,
    /// The longest answer it gives.
    pub(crate) output_tokens: u64,
    /// Hundredths of a cent for a million tokens: input, cached input, output.
    hundredths: [u32; 3],
}

impl Known {
    pub(crate) fn price(&self) -> Price {
        let [input, cached, output] = self
            .hundredths
            .map(|hundredths| u64::from(hundredths) * 100);
        Price {
            input,
            output,
            cached: Some(cached),
        }
    }
}

const fn known(
    provider: &'static str,
    name: &'static str,
    window: [u64; 2],
    hundredths: [u32; 3],
) -> Known {
    Known {
        provider,
        name,
        context_tokens: window[0],
        output_tokens: window[1],
        hundredths,
    }
}

const MILLION_128K: [u64; 2] = [1_000_000, 128_000];

const TABLE: &[Known] = &[
    known(
        "anthropic",
        "claude-opus-5",
        MILLION_128K,
        [50_000, 5_000, 250_000],
    ),
    known(
        "anthropic",
        "claude-sonnet-5",
        MILLION_128K,
        [20_000, 2_000, 100_000],
    ),
    known(
        "openai",
        "gpt-5.5",
        [1_050_000, 128_000],
        [50_000, 5_000, 300_000],
    ),
    known(
        "openai",
        "gpt-5.4",
        [1_050_000, 128_000],
        [25_000, 2_500, 150_000],
    ),
];

/// What is known of a model.
pub(crate) fn find(provider: &str, model: &str) -> Option<&'static Known> {
    TABLE
        .iter()
        .filter(|known| known.provider == provider && is_or_extends(model, known.name))
        .max_by_key(|known| known.name.len())
}

/// `claude-opus-5-20260724` is `claude-opus-5`; `claude-opus-5-5` and `gpt-5.4-mini` are others.
fn is_or_extends(model: &str, name: &str) -> bool {
    let Some(rest) = model.strip_prefix(name) else {
        return false;
    };
    if rest.is_empty() {
        return true;
    }
    let Some(tag) = rest.strip_prefix('-') else {
        return false;
    };
    let dated = tag.len() >= 4
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    dated || tag == "latest" || tag.starts_with("preview")
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
