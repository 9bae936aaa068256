//! Retries, waits and the next model after failures.

use super::*;
use proptest::prelude::*;

const POLICY: RetryPolicy = RetryPolicy::DEFAULT;

#[test]
fn what_a_retry_cannot_mend_goes_to_the_next_model_at_once() {
    for class in [
        ErrorClass::Auth,
        ErrorClass::Context,
        ErrorClass::Protocol,
        ErrorClass::Request,
    ] {
        let mut failover = ModelFailover::new(POLICY, 2);
        assert_eq!(
            failover.on_failure(class, None, 0),
            FailoverStep::NextModel { candidate: 1 }
        );
        assert_eq!(failover.on_failure(class, None, 0), FailoverStep::GiveUp);
    }
}

#[test]
fn refused_content_is_not_offered_to_another_model() {
    assert_eq!(
        ModelFailover::new(POLICY, 3).on_failure(ErrorClass::Content, None, 0),
        FailoverStep::GiveUp
    );
}

#[test]
fn waits_double_and_honour_the_providers_own() {
    let mut failover = ModelFailover::new(POLICY, 1);
    assert_eq!(
        failover.on_failure(ErrorClass::Overload, None, 1_000),
        FailoverStep::Retry { wait_ms: 500 }
    );
    let asked = Some(7_000);
    assert_eq!(
        failover.on_failure(ErrorClass::Rate, asked, 1_000),
        FailoverStep::Retry { wait_ms: 7_000 }
    );
    assert_eq!(
        failover.on_failure(ErrorClass::Rate, None, 1_000),
        FailoverStep::GiveUp
    );
}

#[test]
fn a_provider_that_asks_for_too_long_is_passed_over() {
    let mut failover = ModelFailover::new(POLICY, 2);
    let asked = Some(POLICY.retry_after_ms_max + 1);
    assert_eq!(
        failover.on_failure(ErrorClass::Rate, asked, 0),
        FailoverStep::NextModel { candidate: 1 }
    );
}

proptest! {
    #[test]
    fn it_always_ends_within_its_bounds(
        candidates in 1..5_usize,
        failures in prop::collection::vec((0..9_usize, prop::option::of(0..100_000_u64), 0..1_001_u64), 40)
    ) {
        let classes = [
            ErrorClass::Auth, ErrorClass::Rate, ErrorClass::Overload, ErrorClass::Timeout,
            ErrorClass::Context, ErrorClass::Network, ErrorClass::Protocol, ErrorClass::Request,
            ErrorClass::Content,
        ];
        let mut failover = ModelFailover::new(POLICY, candidates);
        let (mut waited, mut tries) = (0, 1);
        let mut ended = false;
        for (class, retry_after, jitter) in failures {
            match failover.on_failure(classes[class], retry_after, jitter) {
                FailoverStep::Retry { wait_ms } => {
                    prop_assert!(wait_ms >= retry_after.unwrap_or(0));
                    waited += wait_ms;
                }
                FailoverStep::NextModel { candidate } => prop_assert!(candidate < candidates),
                FailoverStep::GiveUp => { ended = true; break; }
            }
            tries += 1;
        }
        prop_assert!(ended);
        prop_assert!(waited <= POLICY.total_wait_ms);
        prop_assert!(tries <= candidates * POLICY.tries as usize);
    }
}
