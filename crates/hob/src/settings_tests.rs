//! The declarations are sound.

use super::catalog;
use hob_kit::settings::Settings;
use hob_kit::world::Env;

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
