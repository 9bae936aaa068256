//! Eviction: which call keeps its permit and which loses it.

use super::{UnprovenCalls, UnprovenPermit};

fn has_lost(place: &UnprovenPermit<'_>) -> bool {
    place.lost.is_cancelled()
}

#[test]
fn the_newest_gets_in_and_the_oldest_goes() {
    let calls = UnprovenCalls::new(3);
    let places: Vec<_> = (0..3).map(|_| calls.acquire("build")).collect();
    assert!(places.iter().all(|place| !has_lost(place)));
    let newest = calls.acquire("build");
    assert!(has_lost(&places[0]));
    assert!(!has_lost(&places[1]) && !has_lost(&places[2]) && !has_lost(&newest));
    assert_eq!(calls.waiting().calls.len(), 3);
    // One that ends makes room without a loss.
    drop(newest);
    let next = calls.acquire("build");
    assert!(!has_lost(&places[1]) && !has_lost(&next));
}

#[test]
fn strangers_at_one_hook_do_not_cost_the_callers_of_another() {
    let calls = UnprovenCalls::new(4);
    let honest = calls.acquire("deploy");
    let crowd: Vec<_> = (0..50).map(|_| calls.acquire("build")).collect();
    assert!(!has_lost(&honest));
    assert_eq!(crowd.iter().filter(|place| !has_lost(place)).count(), 3);
    // Names that are made up one by one: then only age counts.
    let made_up: Vec<_> = (0..2)
        .map(|n| calls.acquire(&format!("none-{n}")))
        .collect();
    assert_eq!(crowd.iter().filter(|place| !has_lost(place)).count(), 1);
    assert!(!has_lost(&honest));
    let _next = calls.acquire("none-2");
    assert!(has_lost(&honest), "it has waited longest");
    assert!(made_up.iter().all(|place| !has_lost(place)));
}

#[test]
fn all_places_are_free_in_the_end() {
    let calls = UnprovenCalls::new(2);
    let places: Vec<_> = (0..9).map(|n| calls.acquire(&n.to_string())).collect();
    assert_eq!(calls.waiting().calls.len(), 2);
    drop(places);
    assert!(calls.waiting().calls.is_empty());
}
