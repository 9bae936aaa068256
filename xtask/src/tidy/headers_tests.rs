//! The header rule fires on a silent file.

use super::check;
use crate::tidy::fixtures::source;

#[test]
fn a_file_that_says_what_it_is_passes() {
    assert!(check(&source("crates/a/src/a.rs", "//! The letter A.\n")).is_empty());
}

#[test]
fn a_silent_file_is_found() {
    for text in ["fn a() {}\n", "//!\nfn a() {}\n", "// A.\nfn a() {}\n", ""] {
        let found = check(&source("crates/a/src/a.rs", text));
        assert_eq!(found.len(), 1, "{text:?}");
        assert_eq!(found[0].line, 1);
    }
}
