//! Reading the process table.

use super::*;

#[test]
fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
    let stat = b"42 (a) S 1 (b)) R 7 42 42 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 3 0 99 0 0";
    let found = parse_stat(42, stat).expect("whole");
    assert_eq!((found.parent, found.zombie, found.threads), (7, false, 3));
}

#[test]
fn what_is_cut_short_is_no_row() {
    assert_eq!(parse_stat(1, b"1 (init) S 0"), None);
    assert_eq!(parse_stat(1, b""), None);
}

#[test]
fn grandchildren_are_found_through_dead_parents_and_circles_end() {
    let make = |pid, parent, zombie| ProcessRow {
        pid,
        parent,
        zombie,
        threads: 1,
    };
    let rows = [
        make(2, 1, false),
        make(3, 2, true),
        make(4, 3, false),
        make(9, 8, false),
        make(8, 9, false),
    ];
    let mut found: Vec<i32> = descendants_of(1, &rows).iter().map(|row| row.pid).collect();
    found.sort_unstable();
    assert_eq!(found, [2, 4]);
    assert!(descendants_of(77, &rows).is_empty());
}

#[test]
fn this_process_is_in_the_table() {
    let own = i32::try_from(std::process::id()).expect("small");
    let rows = read_process_table();
    let found = rows.iter().find(|row| row.pid == own).expect("listed");
    assert!(found.threads >= 1 && !found.zombie);
}
