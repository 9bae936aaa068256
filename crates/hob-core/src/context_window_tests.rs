//! The cut keeps whole turns from the newest back.

use super::*;
use proptest::prelude::*;

fn history(weights: &[(u64, bool)]) -> Vec<MessageWeight> {
    weights
        .iter()
        .map(|&(tokens, opens_turn)| MessageWeight { tokens, opens_turn })
        .collect()
}

#[test]
fn whole_turns_are_left_out_oldest_first() {
    let messages = history(&[(10, true), (10, false), (10, true), (10, false), (10, true)]);
    let all = HistoryCut {
        first_kept: 0,
        turns_left_out: 0,
        too_large: false,
    };
    assert_eq!(cut_history(&messages, 50), all);
    let shorter = HistoryCut {
        first_kept: 2,
        turns_left_out: 1,
        too_large: false,
    };
    assert_eq!(cut_history(&messages, 49), shorter);
    assert_eq!(cut_history(&messages, 30), shorter);
    assert_eq!(
        cut_history(&messages, 29),
        HistoryCut {
            first_kept: 4,
            turns_left_out: 2,
            too_large: false
        }
    );
}

#[test]
fn the_newest_turn_stays_even_when_it_is_too_large() {
    let messages = history(&[(1, true), (100, true), (100, false)]);
    assert_eq!(
        cut_history(&messages, 50),
        HistoryCut {
            first_kept: 1,
            turns_left_out: 1,
            too_large: true
        }
    );
}

#[test]
fn an_empty_history_needs_no_cut() {
    assert_eq!(
        cut_history(&[], 0),
        HistoryCut {
            first_kept: 0,
            turns_left_out: 0,
            too_large: false
        }
    );
}

proptest! {
    #[test]
    fn the_tail_starts_at_a_turn_and_fits_unless_it_is_one_turn(
        weights in prop::collection::vec((0..100_u64, any::<bool>()), 0..40),
        room in 0..2_000_u64,
    ) {
        let messages = history(&weights);
        let cut = cut_history(&messages, room);
        prop_assert!(cut.first_kept == 0 || cut.first_kept == messages.len() || messages[cut.first_kept].opens_turn);
        let kept: u64 = messages[cut.first_kept..].iter().map(|message| message.tokens).sum();
        prop_assert_eq!(cut.too_large, kept > room);
        if cut.too_large {
            let later_turns = messages.iter().skip(cut.first_kept + 1).filter(|m| m.opens_turn).count();
            prop_assert_eq!(later_turns, 0);
        }
    }
}
