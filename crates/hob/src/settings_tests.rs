//! The declarations are sound, and the pages that derive from them are up to date.

use super::catalog;
use hob_kit::settings::Settings;
use hob_kit::world::Env;
use std::path::Path;

#[test]
fn the_declarations_are_sound() {
    assert_eq!(catalog().faults(), Vec::<String>::new());
}

#[test]
fn the_default_file_changes_nothing() {
    let catalog = catalog();
    let text = catalog.default_text();
    let read = Settings::load(&catalog, "config.toml", &text, &Env::default()).expect("loads");
    assert!(read.entries().eq(Settings::defaults(catalog).entries()));
}

#[test]
fn the_reference_page_is_up_to_date() {
    check_page("config.md", &catalog().reference_text());
}

#[test]
fn the_shown_default_file_is_up_to_date() {
    check_page("config.toml", &catalog().default_text());
}

/// Compares a page under `docs/` with the program's own text; `HOB_UPDATE_DOCS` rewrites it.
#[expect(
    clippy::disallowed_methods,
    reason = "whoever runs the tests says by the environment that the page is to be rewritten"
)]
fn check_page(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("HOB_UPDATE_DOCS").is_some() {
        std::fs::write(&path, text).expect("the page is writable");
    }
    let page = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        page == text,
        "docs/{name} is out of date; run: cargo xtask docs"
    );
}
