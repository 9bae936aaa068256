//! The declarations are sound.

use super::catalog;
use hob_kit::host_environment::EnvVars;
use hob_kit::settings::Settings;

#[test]
fn the_declarations_are_sound() {
    assert_eq!(catalog().faults(), Vec::<String>::new());
}

#[test]
fn the_default_file_changes_nothing() {
    let catalog = catalog();
    let text = catalog.default_text();
    let read = Settings::load(&catalog, "config.toml", &text, &EnvVars::default()).expect("loads");
    assert!(read.entries().eq(Settings::defaults(catalog).entries()));
}
