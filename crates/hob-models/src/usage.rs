//! The token usage of a call: the provider's figures if plausible, else our own estimate. Pure.
//!
//! Invariant: a figure that is missing, not a whole number, or impossible for the bytes that were
//! sent and received never reaches the ledger.

use hob_wire::content::TokenUsage;
use serde_json::Value;

/// Tokens a provider may add to the input: its own instructions and tool wrappers.
const INPUT_SLACK_TOKENS: u64 = 16_384;
/// The most tokens one image may cost, whatever its size in bytes.
const IMAGE_TOKENS_MAX: u64 = 16_384;
/// Tokens an answer may have beyond its bytes: call and role markers.
const OUTPUT_SLACK_TOKENS: u64 = 1_024;
/// The most tokens of thoughts that are billed but not shown.
const HIDDEN_TOKENS_MAX: u64 = 262_144;
/// The most bytes of ordinary text that any tokenizer in use puts into a token.
const BYTES_PER_TOKEN_MAX: u64 = 64;

/// The usage a provider reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClaimedUsage {
    pub(crate) input: TokenFigure,
    pub(crate) output: TokenFigure,
    /// The part of the input that was read from a cache.
    pub(crate) cached: TokenFigure,
    /// The part of the output that is hidden thoughts.
    pub(crate) hidden: TokenFigure,
}

/// A token count as reported by a provider.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum TokenFigure {
    #[default]
    Missing,
    Tokens(u64),
    /// A negative number, a fraction or a string.
    Nonsense,
}

impl TokenFigure {
    /// Reads the figure at a JSON pointer.
    pub(crate) fn at(value: &Value, pointer: &str) -> TokenFigure {
        match value.pointer(pointer) {
            None | Some(Value::Null) => TokenFigure::Missing,
            Some(found) => found
                .as_u64()
                .map_or(TokenFigure::Nonsense, TokenFigure::Tokens),
        }
    }

    /// Returns this figure, or `other` if this one is missing.
    pub(crate) fn or(self, other: TokenFigure) -> TokenFigure {
        if self == TokenFigure::Missing {
            other
        } else {
            self
        }
    }

    pub(crate) fn plus(self, other: TokenFigure) -> TokenFigure {
        match (self, other) {
            (TokenFigure::Nonsense, _) | (_, TokenFigure::Nonsense) => TokenFigure::Nonsense,
            (TokenFigure::Missing, found) | (found, TokenFigure::Missing) => found,
            (TokenFigure::Tokens(one), TokenFigure::Tokens(two)) => {
                TokenFigure::Tokens(one.saturating_add(two))
            }
        }
    }

    /// A quarter of it, rounded up.
    pub(crate) fn quarter(self) -> TokenFigure {
        match self {
            TokenFigure::Tokens(tokens) => TokenFigure::Tokens(tokens.div_ceil(4)),
            other => other,
        }
    }

    fn tokens(self) -> Option<u64> {
        match self {
            TokenFigure::Tokens(tokens) => Some(tokens),
            TokenFigure::Missing | TokenFigure::Nonsense => None,
        }
    }
}

/// Our own measurements of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MeasuredUsage {
    /// Bytes of the request, without images.
    pub(crate) sent_bytes: u64,
    pub(crate) images: u64,
    pub(crate) received_bytes: u64,
    /// Estimated, as is `output_tokens`.
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// The most tokens an agent may have used in steps we do not see.
    pub(crate) unseen_tokens: u64,
    /// True if the answer held thoughts. A provider may show only a summary of them.
    pub(crate) thought: bool,
}

/// Returns the usage to record, and true if it is our own estimate.
pub(crate) fn reconcile(claim: ClaimedUsage, measured: MeasuredUsage) -> (TokenUsage, bool) {
    let own = TokenUsage {
        input_tokens: measured.input_tokens,
        output_tokens: measured.output_tokens,
        cached_tokens: 0,
    };
    match plausible_usage(claim, measured) {
        Some(usage) => (usage, false),
        None => (own, true),
    }
}

fn plausible_usage(claim: ClaimedUsage, measured: MeasuredUsage) -> Option<TokenUsage> {
    let input = claim.input.tokens()?;
    let output = claim.output.tokens()?;
    let cached = claim.cached.or(TokenFigure::Tokens(0)).tokens()?;
    let hidden = claim.hidden.or(TokenFigure::Tokens(0)).tokens()?;
    let images = measured.images.saturating_mul(IMAGE_TOKENS_MAX);
    let out_of_sight = measured.unseen_tokens;
    // No token is shorter than a byte, so the bytes bound their number.
    let input_max = (measured.sent_bytes + INPUT_SLACK_TOKENS)
        .saturating_add(images)
        .saturating_add(out_of_sight);
    let input_min = measured.input_tokens / BYTES_PER_TOKEN_MAX;
    let unseen = if measured.thought {
        HIDDEN_TOKENS_MAX
    } else {
        hidden
    };
    let output_max = (measured.received_bytes + OUTPUT_SLACK_TOKENS)
        .saturating_add(unseen)
        .saturating_add(out_of_sight);
    let output_min = measured.received_bytes / BYTES_PER_TOKEN_MAX;
    let possible = (input_min.max(1)..=input_max).contains(&input)
        && (output_min..=output_max).contains(&output)
        && cached <= input
        && hidden <= HIDDEN_TOKENS_MAX;
    possible.then_some(TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
    })
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
