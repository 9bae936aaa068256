//! Sums of money.

use super::{cost, price, read_dollars};
use hob_wire::content::TokenUsage;
use hob_wire::rooms::model::ModelPrice;
use proptest::prelude::*;

fn usage(input: u64, cached: u64, output: u64) -> TokenUsage {
    TokenUsage {
        input_tokens: input,
        output_tokens: output,
        cached_tokens: cached,
    }
}

const PRICE: ModelPrice = ModelPrice {
    input: 3_000_000,
    output: 15_000_000,
    cached: Some(300_000),
};

#[test]
fn a_call_costs_its_tokens_rounded_up() {
    assert_eq!(cost(&PRICE, &usage(1_000_000, 0, 1_000_000)), 18_000_000);
    assert_eq!(cost(&PRICE, &usage(1_000_000, 1_000_000, 0)), 300_000);
    assert_eq!(cost(&PRICE, &usage(1, 1, 0)), 1);
    assert_eq!(cost(&PRICE, &usage(0, 0, 0)), 0);
    let no_cache = ModelPrice {
        cached: None,
        ..PRICE
    };
    assert_eq!(cost(&no_cache, &usage(1_000_000, 1_000_000, 0)), 3_000_000);
}

#[test]
fn an_unknown_model_has_no_price() {
    assert_eq!(price("nobody", "nothing"), None);
    assert!(price("anthropic", "claude-sonnet-5").is_some());
}

#[test]
fn dollars_are_read_exactly() {
    assert_eq!(read_dollars("0.15"), Some(150_000));
    assert_eq!(read_dollars("15"), Some(15_000_000));
    assert_eq!(read_dollars("0.000001"), Some(1));
    for text in [
        "",
        ".5",
        "-1",
        "1e3",
        "0.0000001",
        "1,5",
        "99999999999999999999",
    ] {
        assert_eq!(read_dollars(text), None, "{text:?}");
    }
}

proptest! {
    #[test]
    fn no_sum_overflows(
        input in any::<u64>(), cached in any::<u64>(), output in any::<u64>(), each in any::<u64>()
    ) {
        let price = ModelPrice { input: each, output: each, cached: Some(each) };
        let one = cost(&price, &usage(input, cached, output));
        let exact = u128::from(each).saturating_mul(u128::from(input) + u128::from(output));
        let exact = u64::try_from(exact.div_ceil(1_000_000)).unwrap_or(u64::MAX);
        prop_assert_eq!(one, exact);
    }
}
