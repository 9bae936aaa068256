//! Context windows and list prices of well-known models, from their providers' pages. Data only;
//! a model that is not listed is unknown.

use hob_wire::rooms::model::ModelPrice;

/// The date this table was last compared with the providers' pages.
pub(crate) const AS_OF: &str = "2026-10-31";

/// A model, and its dated or tagged versions.
#[derive(Debug)]
pub(crate) struct KnownModel {
    provider: &'static str,
    name: &'static str,
    pub(crate) context_tokens: u64,
    /// The output limit.
    pub(crate) output_tokens: u64,
    rate: TokenRate,
    /// Prompts of more tokens than this cost more.
    long: Option<(u64, TokenRate)>,
}

/// Hundredths of a cent for a million tokens: input, cached input, output.
type TokenRate = [u32; 3];

impl KnownModel {
    /// The price of a call with that many input tokens.
    pub(crate) fn price(&self, input_tokens: u64) -> ModelPrice {
        let rate = match self.long {
            Some((above, rate)) if input_tokens > above => rate,
            _ => self.rate,
        };
        let [input, cached, output] = rate.map(|hundredths| u64::from(hundredths) * 100);
        ModelPrice {
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
    rate: TokenRate,
    long: Option<(u64, TokenRate)>,
) -> KnownModel {
    KnownModel {
        provider,
        name,
        context_tokens: window[0],
        output_tokens: window[1],
        rate,
        long,
    }
}

const MILLION: [u64; 2] = [1_000_000, 128_000];
const CLAUDE: [u64; 2] = [200_000, 64_000];
const GPT_5: [u64; 2] = [400_000, 128_000];
const GPT_4_1: [u64; 2] = [1_047_576, 32_768];
const GPT_4O: [u64; 2] = [128_000, 16_384];
const GEMINI: [u64; 2] = [1_048_576, 65_536];

#[rustfmt::skip]
const TABLE: &[KnownModel] = &[
    known("anthropic", "claude-fable-5-1", MILLION, [100_000, 10_000, 500_000], None),
    known("anthropic", "claude-opus-5-5", MILLION, [40_000, 4_000, 200_000], None),
    known("anthropic", "claude-opus-5", MILLION, [50_000, 5_000, 250_000], None),
    known("anthropic", "claude-opus-4-6", MILLION, [50_000, 5_000, 250_000], None),
    known("anthropic", "claude-opus-4-5", CLAUDE, [50_000, 5_000, 250_000], None),
    known("anthropic", "claude-sonnet-5-5", MILLION, [20_000, 2_000, 100_000], None),
    known("anthropic", "claude-sonnet-5", MILLION, [20_000, 2_000, 100_000], None),
    known("anthropic", "claude-sonnet-4-6", MILLION, [30_000, 3_000, 150_000], None),
    known("anthropic", "claude-sonnet-4-5", CLAUDE, [30_000, 3_000, 150_000], None),
    known("anthropic", "claude-haiku-5-5", MILLION, [1_000, 100, 5_000], Some((100_000, [5_000, 500, 25_000]))),
    known("anthropic", "claude-haiku-4-5", CLAUDE, [10_000, 1_000, 50_000], None),
    known("openai", "gpt-5.5", [1_050_000, 128_000], [50_000, 5_000, 300_000], Some((272_000, [100_000, 10_000, 450_000]))),
    known("openai", "gpt-5.5-pro", [1_050_000, 128_000], [300_000, 300_000, 1_800_000], Some((272_000, [600_000, 600_000, 2_700_000]))),
    known("openai", "gpt-5.4", [1_050_000, 128_000], [25_000, 2_500, 150_000], Some((272_000, [50_000, 5_000, 225_000]))),
    known("openai", "gpt-5.4-mini", GPT_5, [7_500, 750, 45_000], None),
    known("openai", "gpt-5.4-nano", GPT_5, [2_000, 200, 12_500], None),
    known("openai", "gpt-5.1", GPT_5, [12_500, 1_250, 100_000], None),
    known("openai", "gpt-5", GPT_5, [12_500, 1_250, 100_000], None),
    known("openai", "gpt-5-mini", GPT_5, [2_500, 250, 20_000], None),
    known("openai", "gpt-5-nano", GPT_5, [500, 50, 4_000], None),
    known("openai", "gpt-4.1", GPT_4_1, [20_000, 5_000, 80_000], None),
    known("openai", "gpt-4.1-mini", GPT_4_1, [4_000, 1_000, 16_000], None),
    known("openai", "gpt-4.1-nano", GPT_4_1, [1_000, 250, 4_000], None),
    known("openai", "gpt-4o", GPT_4O, [25_000, 12_500, 100_000], None),
    known("openai", "gpt-4o-mini", GPT_4O, [1_500, 750, 6_000], None),
    known("gemini", "gemini-3-pro-preview", GEMINI, [20_000, 2_000, 120_000], Some((200_000, [40_000, 4_000, 180_000]))),
    known("gemini", "gemini-3-flash-preview", GEMINI, [5_000, 500, 30_000], None),
    known("gemini", "gemini-2.5-pro", GEMINI, [12_500, 1_250, 100_000], Some((200_000, [25_000, 2_500, 150_000]))),
    known("gemini", "gemini-2.5-flash", GEMINI, [3_000, 300, 25_000], None),
    known("gemini", "gemini-2.5-flash-lite", GEMINI, [1_000, 100, 4_000], None),
];

/// Returns the row with the longest matching name.
pub(crate) fn find(provider: &str, model: &str) -> Option<&'static KnownModel> {
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
    // A shorter number is another version, such as the last `-5` of `claude-opus-5-5`.
    let dated = tag.len() >= 4
        && tag
            .bytes()
            .all(|byte| byte.is_ascii_digit() || byte == b'-');
    dated || tag == "latest" || tag.starts_with("preview")
}

#[cfg(test)]
#[path = "known_models_tests.rs"]
mod tests;
