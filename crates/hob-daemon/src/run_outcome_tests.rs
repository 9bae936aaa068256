//! Costs of runs and their children together.

use super::*;

#[test]
fn a_sum_knows_the_price_as_far_as_anything_does() {
    let priced = Cost {
        micro_dollars: Some(5),
        input_tokens: 1,
        output_tokens: 2,
        calls: 1,
    };
    assert_eq!(add_costs(Cost::default(), priced), priced);
    assert_eq!(add_costs(priced, priced).micro_dollars, Some(10));
    let unpriced = Cost {
        micro_dollars: None,
        ..priced
    };
    let nothing = Cost {
        micro_dollars: Some(0),
        ..Cost::default()
    };
    assert_eq!(add_costs(unpriced, nothing), unpriced);
    assert_eq!(add_costs(nothing, unpriced), unpriced);
    let unknown = Cost::default();
    assert_eq!(add_costs(unknown, unknown).micro_dollars, None);
}
