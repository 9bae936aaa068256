//! Generated pages under `docs/`. `cargo xtask docs` writes them; otherwise a page that differs
//! fails its test. Tests of other crates include this file by its path.

use std::path::{Path, PathBuf};

/// Compares a page with the generated text, or writes it under `HOB_UPDATE_DOCS`.
#[expect(
    clippy::disallowed_methods,
    reason = "a test has no `main` that could pass in the environment"
)]
pub(crate) fn keep(name: &str, expected: &str) {
    let path = path(name);
    if std::env::var_os("HOB_UPDATE_DOCS").is_some() {
        std::fs::write(&path, expected).unwrap();
        return;
    }
    let found = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = found
        .lines()
        .zip(expected.lines())
        .position(|(a, b)| a != b);
    let line = differs.unwrap_or_else(|| found.lines().count().min(expected.lines().count())) + 1;
    assert!(
        found == expected,
        "docs/{name} is not what the code says, from line {line} on. Run `cargo xtask docs`."
    );
}

pub(crate) fn path(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    root.join(name)
}
