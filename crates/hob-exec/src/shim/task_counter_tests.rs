//! When the table is read again.

use super::*;

#[test]
fn the_machine_says_how_many_it_has() {
    assert_eq!(tasks_in("0.20 0.18 0.12 1/80 11206\n"), Some(80));
    assert_eq!(tasks_in("nonsense"), None);
    assert!(tasks_of_machine().is_some_and(|count| count > 0));
}

#[test]
fn growth_of_the_machine_and_time_make_a_count_due() {
    let begun = Instant::now();
    let mut census = Census::new(100, begun);
    assert!(census.is_due(Some(500), begun), "nothing was counted yet");
    (census.own, census.all) = (20, Some(500));
    for (all, after_ms, due) in [
        (500, 20, false),
        // Forty more, of which all may be the run's: it is still within its bound.
        (540, 20, false),
        (541, 20, true),
        (400, 20, false),
        (500, 499, false),
        (500, 500, true),
    ] {
        let now = begun + Duration::from_millis(after_ms);
        assert_eq!(
            census.is_due(Some(all), now),
            due,
            "{all} after {after_ms} ms"
        );
    }
    assert!(census.is_due(None, begun), "where the machine says nothing");
}

#[test]
fn a_steady_run_is_looked_at_less() {
    let begun = Instant::now();
    let census = Census::new(100, begun);
    assert_eq!(census.pause(begun), LOOK);
    assert_eq!(census.pause(begun + CALM_AFTER), CALM_LOOK);
}
