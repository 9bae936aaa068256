//! Every Rust file starts with a `//!` header.

use super::TidyFinding;
use crate::source::RustSource;

pub(super) fn check(source: &RustSource) -> Vec<TidyFinding> {
    let first = source.text.lines().next().unwrap_or_default();
    let says_something = first
        .strip_prefix("//!")
        .is_some_and(|rest| !rest.trim().is_empty());
    if says_something {
        return Vec::new();
    }
    vec![TidyFinding::new(
        &source.path,
        1,
        "the file does not say what it is",
        "Open it with `//!`: what it is, why it is here, what always holds.",
    )]
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
