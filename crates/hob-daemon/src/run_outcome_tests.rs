//! What runs and their children cost together.

use super::*;

#[test]
fn a_sum_knows_the_price_as_far_as_anything_does() {
    let priced = Cost {
        micro_dollars: Some(5),
        input_tokens: 1,
        output_tokens: 2,
        calls: 1,
    };
    assert_eq!(sum(Cost::default(), priced), priced);
    assert_eq!(sum(priced, priced).micro_dollars, Some(10));
    let unpriced = Cost {
        micro_dollars: None,
        ..priced
    };
    let nothing = Cost {
        micro_dollars: Some(0),
        ..Cost::default()
    };
    assert_eq!(sum(unpriced, nothing), unpriced);
    assert_eq!(sum(nothing, unpriced), unpriced);
    let unknown = Cost::default();
    assert_eq!(sum(unknown, unknown).micro_dollars, None);
}
