//! Reading who has the keyboard.

use super::*;

#[test]
fn the_groups_are_found_behind_any_name() {
    let stat = "12 (a) b (c) S 3 4 5 34816 6 4194304 1";
    assert_eq!(groups(stat), Some((4, 6)));
    assert_eq!(groups("12 (bash"), None);
    assert_eq!(groups(""), None);
}

#[test]
fn a_process_that_is_not_there_is_an_error() {
    assert!(foreground_of(i32::MAX).is_err());
    assert!(signal_foreground(i32::MAX, Signal::TERM).is_err());
}
