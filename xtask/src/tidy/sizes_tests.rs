//! The size rules fire on what is too long, and only without the mark of a flat table.

use super::{FILE_LINES_MAX, FUNCTION_LINES_MAX, check};
use crate::tidy::fixtures::source;

fn function(lines: usize, first: &str) -> String {
    let body = "    step();\n".repeat(lines - 3);
    format!("fn long() {{\n{first}\n{body}}}\n")
}

#[test]
fn what_just_fits_passes() {
    let text = format!("//! A.\n{}", function(FUNCTION_LINES_MAX, ""));
    assert!(check(&source("a.rs", &text)).is_empty());
    let text = format!("//! A.\n{}", "// b\n".repeat(FILE_LINES_MAX - 1));
    assert!(check(&source("a.rs", &text)).is_empty());
}

#[test]
fn a_long_function_is_found_wherever_it_stands() {
    let long = function(FUNCTION_LINES_MAX + 1, "");
    for text in [
        long.clone(),
        format!("impl A {{\n{long}}}\n"),
        format!("trait A {{\n{long}}}\n"),
        format!("mod a {{\n{long}}}\n"),
        format!("fn outer() {{\n{long}}}\n"),
    ] {
        let found = check(&source("a.rs", &text));
        assert!(
            found
                .iter()
                .any(|f| f.what.contains("`long` has 101 lines")),
            "{found:?}"
        );
    }
}

#[test]
fn a_long_file_is_found() {
    let text = "// b\n".repeat(FILE_LINES_MAX + 1);
    let found = check(&source("crates/a/tests/it/a.rs", &text));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, FILE_LINES_MAX + 1);
}

#[test]
fn a_flat_table_may_be_long() {
    let text = function(FUNCTION_LINES_MAX + 1, "    // tidy: flat table");
    assert!(check(&source("a.rs", &text)).is_empty());
    let text = format!(
        "//! A.\n// tidy: flat table\n{}",
        "// b\n".repeat(FILE_LINES_MAX)
    );
    assert!(check(&source("a.rs", &text)).is_empty());
    let late = format!("{}// tidy: flat table\n", "// b\n".repeat(FILE_LINES_MAX));
    assert_eq!(check(&source("a.rs", &late)).len(), 1);
}
