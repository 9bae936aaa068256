//! The filter as data; what it does is tried on real processes in `tests/it`.

use super::*;

#[test]
fn every_combination_of_sockets_compiles() {
    for (internet, unix) in [(false, false), (true, false), (false, true), (true, true)] {
        let programs = filters(AllowedSockets { internet, unix }).expect("compiles");
        assert_eq!(programs.len(), 2);
        for program in &programs {
            assert!(program.len() > 8 && program.len() < 4096);
            assert_eq!(filter_bytes(program).len(), program.len() * 8);
        }
    }
}

#[test]
fn no_call_is_named_twice() {
    let mut all: Vec<_> = FORBIDDEN.iter().chain(REFUSED_AS_UNKNOWN).collect();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}
