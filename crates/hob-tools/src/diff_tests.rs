//! Diffs as a person sees them.

use super::unified;

#[test]
fn a_change_is_shown_with_its_lines() {
    let shown = unified("a.txt", Some(b"one\ntwo\nthree\n"), b"one\n2\nthree\n");
    for part in [
        "14 bytes → 12 bytes",
        "--- a.txt",
        "+++ a.txt",
        "-two\n",
        "+2\n",
        " one\n",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let new = unified("a.txt", None, b"one\n");
    assert!(
        new.contains("nothing → 4 bytes") && new.contains("--- /dev/null") && new.contains("+one"),
        "{new}"
    );
}

#[test]
fn what_cannot_be_compared_is_told_by_its_size() {
    assert!(unified("a", Some(b"\xff"), b"x").contains("1 bytes → 1 bytes (not text)"));
    let large = vec![b'x'; 2_000_000];
    assert!(unified("a", Some(&large), b"x").contains("too large to compare"));
    assert!(unified("a", Some(b"x"), b"x").contains("(unchanged)"));
}

#[test]
fn comparing_ends_in_time_whatever_it_is_given() {
    let one: Vec<String> = (0..60_000).map(|at| (at * 7 % 1_009).to_string()).collect();
    let one = one.join("\n");
    let other: Vec<String> = (0..60_000)
        .map(|at| (at * 11 % 1_013).to_string())
        .collect();
    let other = other.join("\n");
    assert!(unified("a", Some(one.as_bytes()), other.as_bytes()).starts_with("a: "));
}
