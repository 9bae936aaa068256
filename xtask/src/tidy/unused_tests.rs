//! The rule fires on a dependency that only the manifest knows.

use super::check;
use crate::tidy::fixtures::{member, page, workspace};

fn found(text: &str) -> Vec<String> {
    let world = workspace(vec![
        member("hob-bus", "core", &["hob-wire", "ext:tokio-util"]),
        member("hob-store", "infrastructure", &[]),
    ]);
    let pages = [
        page("crates/hob-bus/src/lib.rs", text),
        page("crates/hob-store/src/lib.rs", "use tokio_util::sync;"),
    ];
    let findings = check(&world, &pages).into_iter();
    findings.map(|found| found.to_string()).collect()
}

#[test]
fn what_the_code_names_passes() {
    assert!(found("use hob_wire::Scope; fn a() { tokio_util::b(); }").is_empty());
}

#[test]
fn what_only_the_manifest_names_is_found() {
    let found = found("use hob_wire::Scope; // tokio_utility");
    assert_eq!(found.len(), 1);
    assert!(
        found[0].starts_with("crates/hob-bus/Cargo.toml:3: `hob-bus` does not use `tokio-util`")
    );
}
