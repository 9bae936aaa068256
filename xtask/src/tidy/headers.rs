//! Every file opens with what it is: a `//!` on its first line.

use super::Finding;
use crate::source::Source;

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let first = source.text.lines().next().unwrap_or_default();
    let says_something = first
        .strip_prefix("//!")
        .is_some_and(|rest| !rest.trim().is_empty());
    if says_something {
        return Vec::new();
    }
    vec![Finding::new(
        &source.path,
        1,
        "the file does not say what it is",
        "Open it with `//!`: what it is, why it is here, what always holds.",
    )]
}

#[cfg(test)]
#[path = "headers_tests.rs"]
mod tests;
