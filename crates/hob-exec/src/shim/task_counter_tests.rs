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
    let mut counter = TaskCounter::new(100, begun);
    assert!(counter.is_due(Some(500), begun), "nothing was counted yet");
    (counter.run_tasks, counter.machine_tasks) = (20, Some(500));
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
            counter.is_due(Some(all), now),
            due,
            "{all} after {after_ms} ms"
        );
    }
    assert!(
        counter.is_due(None, begun),
        "where the machine says nothing"
    );
}

#[test]
fn a_steady_run_is_looked_at_less() {
    let begun = Instant::now();
    let counter = TaskCounter::new(100, begun);
    assert_eq!(counter.pause(begun), LOOK_INTERVAL);
    assert_eq!(counter.pause(begun + STEADY_AFTER), STEADY_LOOK_INTERVAL);
}
