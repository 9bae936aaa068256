//! The link rule fires on registries and spares other links.

use super::check;
use crate::tidy::fixtures::{page, workspace};

fn found(path: &str, text: &str) -> usize {
    check(&workspace(Vec::new()), &[page(path, text)]).len()
}

#[test]
fn registries_are_found() {
    for text in [
        "see [serde](https://crates.io/crates/serde)",
        "https://docs.rs/serde",
        "npm config set x http://registry.example.org/npm",
        "first https://example.org then https://pypi.org/simple",
    ] {
        assert_eq!(found("README.md", text), 1, "{text}");
    }
}

#[test]
fn other_links_pass() {
    let text = "https://www.rust-lang.org and ws://127.0.0.1:7717/ws, a registry of services";
    assert_eq!(found("README.md", text), 0);
}

#[test]
fn a_lockfile_names_only_the_default_source() {
    let default = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    assert_eq!(found("Cargo.lock", default), 0);
    assert_eq!(
        found("Cargo.lock", "source = \"git+https://example.org/a#b\""),
        1
    );
}
