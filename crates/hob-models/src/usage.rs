//! What a call used: the provider's figures where they can be true, our own where they cannot.
//! Pure.
//!
//! Invariant: a figure that is missing, no whole number, or impossible against the bytes that were
//! really sent and received never reaches the ledger.

use hob_kit::failpoint;
use hob_wire::content::Usage;
use serde_json::Value;

/// Tokens a provider may add to what we sent: its own instructions, wrappers of tools.
const INPUT_SLACK_TOKENS: u64 = 16_384;
/// Tokens an image may cost, whatever its bytes.
const IMAGE_TOKENS_MAX: u64 = 16_384;
/// Tokens an answer may have beyond its bytes: markers of calls and roles.
const OUTPUT_SLACK_TOKENS: u64 = 1_024;
/// Thoughts that are counted but not shown.
const HIDDEN_TOKENS_MAX: u64 = 262_144;
/// No tokenizer in use puts more bytes of ordinary text into a token.
const BYTES_PER_TOKEN_MAX: u64 = 64;

/// What a provider says it used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    pub(crate) input: Figure,
    pub(crate) output: Figure,
    /// Of the input, read from a cache.
    pub(crate) cached: Figure,
    /// Of the output, thoughts that were not shown.
    pub(crate) hidden: Figure,
}

/// A figure as a provider gives it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Figure {
    #[default]
    Missing,
    Tokens(u64),
    /// Negative, a fraction, a text.
    Nonsense,
}

impl Figure {
    /// The figure at a path of keys.
    pub(crate) fn at(value: &Value, pointer: &str) -> Figure {
        match value.pointer(pointer) {
            None | Some(Value::Null) => Figure::Missing,
            Some(found) => found.as_u64().map_or(Figure::Nonsense, Figure::Tokens),
        }
    }

    /// This figure, or the other where this one is missing.
    pub(crate) fn or(self, other: Figure) -> Figure {
        if self == Figure::Missing { other } else { self }
    }

    pub(crate) fn plus(self, other: Figure) -> Figure {
        match (self, other) {
            (Figure::Nonsense, _) | (_, Figure::Nonsense) => Figure::Nonsense,
            (Figure::Missing, found) | (found, Figure::Missing) => found,
            (Figure::Tokens(one), Figure::Tokens(two)) => Figure::Tokens(one.saturating_add(two)),
        }
    }

    /// A quarter of it, rounded up.
    pub(crate) fn quarter(self) -> Figure {
        match self {
            Figure::Tokens(tokens) => Figure::Tokens(tokens.div_ceil(4)),
            other => other,
        }
    }

    fn tokens(self) -> Option<u64> {
        match self {
            Figure::Tokens(tokens) => Some(tokens),
            Figure::Missing | Figure::Nonsense => None,
        }
    }
}

/// What we know ourselves of a call.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Measured {
    /// Bytes of the request, without images.
    pub(crate) sent_bytes: u64,
    pub(crate) images: u64,
    pub(crate) received_bytes: u64,
    /// Our own counts.
    pub(crate) input_tokens: u64,
    pub(crate) output_tokens: u64,
    /// What may have been used beyond that, out of our sight.
    pub(crate) unseen_tokens: u64,
    /// Whether the answer held thoughts, of which a provider may show a summary only.
    pub(crate) thought: bool,
}

/// The usage to account for, and whether it is our own count.
pub(crate) fn settle(claim: Claim, measured: Measured) -> (Usage, bool) {
    let own = Usage {
        input_tokens: measured.input_tokens,
        output_tokens: measured.output_tokens,
        cached_tokens: 0,
    };
    if failpoint::broken(58) {
        let said = |figure: Figure| figure.tokens().unwrap_or(0);
        let usage = Usage {
            input_tokens: said(claim.input),
            output_tokens: said(claim.output),
            cached_tokens: 0,
        };
        return (usage, false);
    }
    match believable(claim, measured) {
        Some(usage) => (usage, false),
        None => (own, true),
    }
}

fn believable(claim: Claim, measured: Measured) -> Option<Usage> {
    let input = claim.input.tokens()?;
    let output = claim.output.tokens()?;
    let cached = claim.cached.or(Figure::Tokens(0)).tokens()?;
    let hidden = claim.hidden.or(Figure::Tokens(0)).tokens()?;
    let images = measured.images.saturating_mul(IMAGE_TOKENS_MAX);
    let out_of_sight = measured.unseen_tokens;
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
    possible.then_some(Usage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
    })
}

#[cfg(test)]
#[path = "usage_tests.rs"]
mod tests;
