//! Figures that can be true, and those that cannot.

use super::{Claim, Figure, Measured, settle};
use hob_wire::content::Usage;
use proptest::prelude::*;
use serde_json::json;

fn measured() -> Measured {
    Measured {
        sent_bytes: 4_000,
        received_bytes: 400,
        input_tokens: 1_000,
        output_tokens: 100,
        ..Measured::default()
    }
}

fn claim(input: u64, output: u64) -> Claim {
    Claim {
        input: Figure::Tokens(input),
        output: Figure::Tokens(output),
        ..Claim::default()
    }
}

const OWN: Usage = Usage {
    input_tokens: 1_000,
    output_tokens: 100,
    cached_tokens: 0,
};

#[test]
fn a_plausible_claim_is_taken_as_it_is() {
    let given = Claim {
        cached: Figure::Tokens(512),
        ..claim(900, 90)
    };
    let expected = Usage {
        input_tokens: 900,
        output_tokens: 90,
        cached_tokens: 512,
    };
    assert_eq!(settle(given, measured()), (expected, false));
}

#[test]
fn lies_are_replaced_by_our_own_count() {
    let nonsense = |value| Claim {
        input: Figure::at(&value, "/n"),
        ..claim(0, 90)
    };
    let lies = [
        Claim::default(),
        claim(0, 0),
        claim(1_000_000_000, 90),
        claim(900, 1_000_000_000),
        claim(900, 0),
        nonsense(json!({"n": -5})),
        nonsense(json!({"n": 1.5})),
        nonsense(json!({"n": "900"})),
        nonsense(json!({"n": null})),
        nonsense(json!({"n": 1e300})),
        Claim {
            cached: Figure::Tokens(901),
            ..claim(900, 90)
        },
        Claim {
            hidden: Figure::Tokens(u64::MAX),
            ..claim(900, u64::MAX)
        },
    ];
    for lie in lies {
        assert_eq!(settle(lie, measured()), (OWN, true), "{lie:?}");
    }
}

#[test]
fn hidden_thoughts_may_be_counted() {
    let told = Claim {
        hidden: Figure::Tokens(20_000),
        ..claim(900, 20_090)
    };
    assert!(!settle(told, measured()).1);
    assert!(settle(claim(900, 20_090), measured()).1);
    let thought = Measured {
        thought: true,
        ..measured()
    };
    assert!(!settle(claim(900, 20_090), thought).1);
}

proptest! {
    /// Whatever is claimed, what is accounted for is possible.
    #[test]
    fn no_claim_overspends(input in any::<u64>(), output in any::<u64>(), cached in any::<u64>()) {
        let given = Claim { cached: Figure::Tokens(cached), ..claim(input, output) };
        let (usage, _) = settle(given, measured());
        prop_assert!(usage.input_tokens <= 4_000 + 16_384);
        prop_assert!(usage.output_tokens <= 400 + 1_024);
        prop_assert!(usage.cached_tokens <= usage.input_tokens);
    }
}
