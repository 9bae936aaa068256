//! The usage of processes, from made-up tables and from this process.

use super::*;

fn times(parent: i32, own_ticks: u64, waited_ticks: u64) -> ProcessTimes {
    ProcessTimes {
        parent,
        zombie: false,
        own_ticks,
        waited_ticks,
    }
}

#[test]
fn a_stat_line_is_read_whatever_the_program_is_called() {
    let line = b"42 (a) b (c)) S 7 42 42 0 -1 4194560 9 8 0 0 11 12 13 14 20 0 1 0 99 0 0";
    let expected = ProcessTimes {
        parent: 7,
        zombie: false,
        own_ticks: 23,
        waited_ticks: 27,
    };
    assert_eq!(parse_stat(line), Some(expected));
    let zombie = parse_stat(b"42 (x) Z 7 42 42 0 -1 4194560 9 8 0 0 1 2 3 4 20");
    assert!(zombie.is_some_and(|it| it.zombie));
    assert_eq!(parse_stat(b"42 (x) S 7 42"), None);
    assert_eq!(parse_stat(b""), None);
}

#[test]
fn everything_below_the_shim_counts_once_and_nothing_else() {
    // 10 is the shim of 11; 12 is its child, 13 an orphan that the shim took in.
    let table = BTreeMap::from([
        (1, times(0, 1_000, 0)),
        (10, times(1, 500, 7)),
        (11, times(10, 20, 3)),
        (12, times(11, 5, 0)),
        (13, times(10, 2, 0)),
        (20, times(1, 900, 0)),
    ]);
    let mut below: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for (pid, times) in &table {
        below.entry(times.parent).or_default().push(*pid);
    }
    let usage = usage_of(11, &table, &below).expect("runs");
    assert_eq!(usage.processes, 3);
    assert_eq!(usage.cpu_ms, (7 + 20 + 3 + 5 + 2) * TICK_MS);
    assert_eq!(usage_of(99, &table, &below), None);
}

#[test]
fn this_process_uses_memory_and_a_pid_that_is_not_there_nothing() {
    let own = i32::try_from(std::process::id()).expect("a pid");
    assert!(resident_bytes(own) > 100_000);
    let found = of_children(&[own, i32::MAX]);
    assert!(found[0].is_some_and(|usage| usage.processes >= 1));
    assert_eq!(found[1], None);
}
