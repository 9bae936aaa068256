//! The limiter's promises, by table and by chance.

use super::{AuthFailureLimiter, FailureRate, LimitDecision};
use proptest::prelude::*;

const RATE: FailureRate = FailureRate {
    burst: 3,
    refill_ms: 100,
};

fn counted(limiter: &mut AuthFailureLimiter, now_ms: u64) -> bool {
    limiter.record_failure(now_ms) == LimitDecision::Counted
}

#[test]
fn a_burst_is_counted_and_the_next_is_told_when() {
    let mut limiter = AuthFailureLimiter::new(RATE);
    assert!((0..3).all(|_| counted(&mut limiter, 1_000)));
    let verdict = limiter.record_failure(1_000);
    assert_eq!(
        verdict,
        LimitDecision::Limited {
            retry_after_ms: 100
        }
    );
    let verdict = limiter.record_failure(1_060);
    assert_eq!(verdict, LimitDecision::Limited { retry_after_ms: 40 });
    assert!(counted(&mut limiter, 1_100));
    assert!(!counted(&mut limiter, 1_100));
}

#[test]
fn failures_beyond_the_rate_do_not_prolong_it() {
    let mut limiter = AuthFailureLimiter::new(RATE);
    for _ in 0..10_000 {
        limiter.record_failure(0);
    }
    assert!(counted(&mut limiter, 100));
}

#[test]
fn quiet_time_gives_back_the_burst_and_no_more() {
    let mut limiter = AuthFailureLimiter::new(RATE);
    for _ in 0..3 {
        limiter.record_failure(0);
    }
    let after = (0..10).filter(|_| counted(&mut limiter, 1_000_000)).count();
    assert_eq!(after, 3);
}

#[test]
fn time_going_back_forgives_nothing() {
    let mut limiter = AuthFailureLimiter::new(RATE);
    for _ in 0..3 {
        limiter.record_failure(5_000);
    }
    assert!(!counted(&mut limiter, 4_000));
    assert!(!counted(&mut limiter, 0));
}

#[test]
fn the_end_of_time_is_no_panic() {
    let mut limiter = AuthFailureLimiter::new(FailureRate {
        burst: u32::MAX,
        refill_ms: u64::MAX,
    });
    limiter.record_failure(u64::MAX);
    limiter.record_failure(0);
}

proptest! {
    #[test]
    fn no_span_counts_more_than_its_share(steps in prop::collection::vec(0_u64..300, 1..200)) {
        let mut limiter = AuthFailureLimiter::new(RATE);
        let mut now = 0;
        let mut times = Vec::new();
        for step in steps {
            now += step;
            if counted(&mut limiter, now) {
                times.push(now);
            }
        }
        for (at, first) in times.iter().enumerate() {
            for (upto, last) in times.iter().enumerate().skip(at) {
                let count = (upto - at + 1) as u64;
                prop_assert!(count <= 3 + (last - first) / 100);
            }
        }
    }
}
