//! Pages under `docs/` that the program itself writes: the command line and the settings.

use std::path::{Path, PathBuf};

#[test]
fn the_command_page_is_what_the_program_says() {
    keep("cli.md", &hob::tree::manual::text());
}

#[test]
fn the_settings_pages_are_what_the_program_says() {
    keep("config.md", &hob::settings::catalog().reference_text());
    keep("config.toml", &hob::settings::catalog().default_text());
}

/// Compares a page with what the program says, or writes it when told to.
#[expect(
    clippy::disallowed_methods,
    reason = "a test is a main of its own: its orders come from the environment"
)]
fn keep(name: &str, expected: &str) {
    let path = path(name);
    if std::env::var_os("HOB_UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).expect("the page is writable");
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(expected.lines())
        .position(|(one, other)| one != other);
    let line = differs.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(
        found == expected,
        "docs/{name} is not what the program says, from line {line} on. Run `cargo xtask docs`."
    );
}

fn path(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    root.join(name)
}
