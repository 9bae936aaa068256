//! Figures that can be true, and those that cannot.

use super::{ClaimedUsage, MeasuredUsage, TokenFigure, reconcile};
use hob_wire::content::TokenUsage;
use proptest::prelude::*;
use serde_json::json;

fn measured() -> MeasuredUsage {
    MeasuredUsage {
        sent_bytes: 4_000,
        received_bytes: 400,
        input_tokens: 1_000,
        output_tokens: 100,
        ..MeasuredUsage::default()
    }
}

fn claim(input: u64, output: u64) -> ClaimedUsage {
    ClaimedUsage {
        input: TokenFigure::Tokens(input),
        output: TokenFigure::Tokens(output),
        ..ClaimedUsage::default()
    }
}

const OWN: TokenUsage = TokenUsage {
    input_tokens: 1_000,
    output_tokens: 100,
    cached_tokens: 0,
};

#[test]
fn a_plausible_claim_is_taken_as_it_is() {
    let given = ClaimedUsage {
        cached: TokenFigure::Tokens(512),
        ..claim(900, 90)
    };
    let expected = TokenUsage {
        input_tokens: 900,
        output_tokens: 90,
        cached_tokens: 512,
    };
    assert_eq!(reconcile(given, measured()), (expected, false));
}

#[test]
fn lies_are_replaced_by_our_own_count() {
    let nonsense = |value| ClaimedUsage {
        input: TokenFigure::at(&value, "/n"),
        ..claim(0, 90)
    };
    let lies = [
        ClaimedUsage::default(),
        claim(0, 0),
        claim(1_000_000_000, 90),
        claim(900, 1_000_000_000),
        claim(900, 0),
        nonsense(json!({"n": -5})),
        nonsense(json!({"n": 1.5})),
        nonsense(json!({"n": "900"})),
        nonsense(json!({"n": null})),
        nonsense(json!({"n": 1e300})),
        ClaimedUsage {
            cached: TokenFigure::Tokens(901),
            ..claim(900, 90)
        },
        ClaimedUsage {
            hidden: TokenFigure::Tokens(u64::MAX),
            ..claim(900, u64::MAX)
        },
    ];
    for lie in lies {
        assert_eq!(reconcile(lie, measured()), (OWN, true), "{lie:?}");
    }
}

#[test]
fn hidden_thoughts_may_be_counted() {
    let told = ClaimedUsage {
        hidden: TokenFigure::Tokens(20_000),
        ..claim(900, 20_090)
    };
    assert!(!reconcile(told, measured()).1);
    assert!(reconcile(claim(900, 20_090), measured()).1);
    let thought = MeasuredUsage {
        thought: true,
        ..measured()
    };
    assert!(!reconcile(claim(900, 20_090), thought).1);
}

proptest! {
    /// Whatever is claimed, what is accounted for is possible.
    #[test]
    fn no_claim_overspends(input in any::<u64>(), output in any::<u64>(), cached in any::<u64>()) {
        let given = ClaimedUsage { cached: TokenFigure::Tokens(cached), ..claim(input, output) };
        let (usage, _) = reconcile(given, measured());
        prop_assert!(usage.input_tokens <= 4_000 + 16_384);
        prop_assert!(usage.output_tokens <= 400 + 1_024);
        prop_assert!(usage.cached_tokens <= usage.input_tokens);
    }
}
