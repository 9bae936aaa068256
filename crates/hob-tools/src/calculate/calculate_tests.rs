//! Exact values, and what is refused instead of guessed.

use super::expression::value;
use proptest::prelude::*;

#[test]
fn arithmetic_is_exact() {
    for (text, expected) in [
        ("1 + 2 * 3", "7"),
        ("0.1 + 0.2", "0.3"),
        (
            "(1.1 + 2) * 3^4 / 7",
            "2511/70 (about 35.87142857142857142857…)",
        ),
        ("1/3", "1/3 (about 0.33333333333333333333…)"),
        ("-2^2", "-4"),
        ("2^-2", "0.25"),
        ("2^3^2", "512"),
        ("-7 % 3", "2"),
        ("1_000 * .5", "500"),
        ("min(3, 1, 2) + max(1, 5)", "6"),
        (
            "round(2.5) + round(-2.5) + floor(-1.2) + ceil(1.2) + abs(-3)",
            "3",
        ),
        ("2^120", "1329227995784915872903807060280344576"),
        ("6 ÷ 4 × 2", "3"),
    ] {
        assert_eq!(value(text).unwrap().to_string(), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_said_exactly_is_refused() {
    for (text, told) in [
        ("", "ends where"),
        ("1 +", "ends where"),
        ("1 / 0", "divides by zero"),
        ("5 % (2 - 2)", "divides by zero"),
        ("0^-1", "divides by zero"),
        ("2^0.5", "whole exponent"),
        ("2^127", "too large"),
        ("9^9^9", "too large"),
        ("(1", "parenthesis is missing"),
        ("1 2", "does not belong"),
        ("system(1)", "is not known"),
        ("abs(1, 2)", "takes one number"),
        ("1..2", "not a number"),
        ("1; 2", "does not belong"),
        (&"1".repeat(60), "too large"),
        (&"(".repeat(900), "nested deeper"),
        (&"-".repeat(900), "nested deeper"),
    ] {
        let reason = value(text).unwrap_err();
        assert!(reason.contains(told), "{text}: {reason}");
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "[-+*/%^(). 0-9a-z,×é]{0,80}") {
        let _ = value(&text);
    }

    #[test]
    fn sums_and_products_agree_with_whole_numbers(one in -1_000_000_i128..1_000_000, other in -1_000_000_i128..1_000_000) {
        let text = format!("({one}) + ({other}) * ({one})");
        prop_assert_eq!(value(&text).unwrap().to_string(), (one + other * one).to_string());
    }
}
