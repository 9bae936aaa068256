//! The purity rule fires on everything that acts, however it is written, and only in `hob-core`.

use super::{check, check_dependencies};
use crate::tidy::fixtures::{member, source, workspace};

const PATH: &str = "crates/hob-core/src/turn.rs";

#[test]
fn each_impurity_is_found() {
    for text in [
        "use tokio::time::sleep;",
        "use std::{fmt, fs::File};",
        "use std::fs as disk;",
        "use std::net::*;",
        "fn a() { std::fs::read(b); }",
        "use std::time::Instant;",
        "struct A { at: std::time::SystemTime }",
        "use std::collections::{BTreeMap, HashMap};",
        "struct A { b: Vec<HashMap<u8, u8>> }",
        "struct A { cost: f64 }",
        "fn a() -> Option<f32> { None }",
        "use hob_wire::frame;",
        "use hob_wire::{SessionId, WireError};",
    ] {
        assert_eq!(check(&source(PATH, text)).len(), 1, "{text}");
    }
}

#[test]
fn words_and_pure_machines_pass() {
    for text in [
        "use hob_wire::{Message, SessionId, id::RunId};",
        "use std::collections::BTreeMap;",
        "use std::time::Duration;",
        "mod fs; use self::fs::Step;",
        "#[cfg(test)] mod tests { use std::collections::HashMap; }",
    ] {
        assert!(check(&source(PATH, text)).is_empty(), "{text}");
    }
}

#[test]
fn other_rooms_may_act() {
    let text = "use std::fs;";
    assert!(check(&source("crates/hob-store/src/a.rs", text)).is_empty());
    assert!(check(&source("crates/hob-core/src/a_tests.rs", text)).is_empty());
}

#[test]
fn an_acting_dependency_is_found() {
    let core = member(
        "hob-core",
        "core",
        &["ext:serde", "ext:tokio", "dev:ext:tokio"],
    );
    let found = check_dependencies(&workspace(vec![core]));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].line, 3);
}
