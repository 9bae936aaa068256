//! The name rule fires on empty words and on history, and spares ordinary words that hold them.

use super::check;
use crate::tidy::fixtures::source;

#[test]
fn files_and_folders_are_found() {
    for path in [
        "crates/a/src/utils.rs",
        "crates/a/src/helpers/b.rs",
        "crates/a/src/socket_manager.rs",
        "crates/a/src/bus_v2.rs",
        "crates/a/src/new_bus.rs",
        "crates/hob-util/src/lib.rs",
    ] {
        assert_eq!(check(&source(path, "")).len(), 1, "{path}");
    }
}

#[test]
fn modules_and_types_are_found() {
    for text in [
        "mod utils;",
        "mod new_bus {}",
        "struct SocketManager;",
        "enum BusV2 {}",
        "trait Helper {}",
        "mod a { pub struct BusUtils; }",
    ] {
        assert_eq!(check(&source("crates/a/src/a.rs", text)).len(), 1, "{text}");
    }
}

#[test]
fn ordinary_names_pass() {
    let text = "mod renewal; struct NewEvent; struct Utility; fn new_session() {}";
    assert!(check(&source("crates/a/src/news.rs", text)).is_empty());
}
