//! Prices and costs, in millionths of a dollar per million tokens. Pure.
//!
//! Invariants: an unknown price is missing, never zero; a sum is rounded up and never overflows.

use crate::known_models;
use hob_wire::content::TokenUsage;
use hob_wire::rooms::model::ModelPrice;

/// The date of the price table. The README lists the sources of its rows.
pub const AS_OF: &str = known_models::AS_OF;

/// The price of a model on the user's own machine.
pub(crate) const FREE: ModelPrice = ModelPrice {
    input: 0,
    output: 0,
    cached: Some(0),
};

const MILLION: u128 = 1_000_000;

/// The list price of a model at its own provider, for a prompt of ordinary length.
pub fn price(provider: &str, model: &str) -> Option<ModelPrice> {
    price_of_prompt(provider, model, 0)
}

/// The list price of a call with that many input tokens. Some models cost more for long prompts.
pub fn price_of_prompt(provider: &str, model: &str, input_tokens: u64) -> Option<ModelPrice> {
    Some(known_models::find(provider, model)?.price(input_tokens))
}

/// The cost of a call, in millionths of a dollar.
pub fn cost(price: &ModelPrice, usage: &TokenUsage) -> u64 {
    // The subtraction below must not underflow, whatever a provider reported.
    let cached = usage.cached_tokens.min(usage.input_tokens);
    let fresh = usage.input_tokens - cached;
    let line = |tokens: u64, price: u64| u128::from(tokens) * u128::from(price);
    let sum = line(fresh, price.input)
        .saturating_add(line(cached, price.cached.unwrap_or(price.input)))
        .saturating_add(line(usage.output_tokens, price.output));
    u64::try_from(sum.div_ceil(MILLION)).unwrap_or(u64::MAX)
}

/// Parses dollars such as `0.15` to millionths.
pub(crate) fn read_dollars(text: &str) -> Option<u64> {
    const PLACES: usize = 6;
    let (whole, fraction) = text.trim().split_once('.').unwrap_or((text.trim(), ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || fraction.len() > PLACES || !digits(whole) || !digits(fraction) {
        return None;
    }
    let millionths: u64 = format!("{fraction:0<PLACES$}").parse().ok()?;
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(1_000_000)?.checked_add(millionths)
}

#[cfg(test)]
#[path = "price_tests.rs"]
mod tests;
