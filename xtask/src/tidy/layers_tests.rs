//! The layer rule fires on a crate that depends upward, sideways, or on a restricted crate.

use super::check;
use crate::tidy::fixtures::{member, workspace};
use crate::workspace::WorkspaceCrate;

fn found(members: Vec<WorkspaceCrate>) -> Vec<String> {
    let findings = check(&workspace(members)).into_iter();
    findings.map(|found| found.to_string()).collect()
}

#[test]
fn looking_down_passes() {
    let members = vec![
        member("hob-wire", "wire", &[]),
        member("hob-bus", "core", &["hob-wire"]),
        member("hob-store", "infrastructure", &["hob-bus", "ext:rusqlite"]),
        member(
            "hob-gateway",
            "daemon",
            &["hob-store", "hob-bus", "ext:axum"],
        ),
        member("hob-dialects", "daemon", &["hob-gateway"]),
        member("hob-client", "client", &["hob-wire"]),
        member("hob", "ui", &["hob-gateway", "hob-client", "hob-store"]),
    ];
    assert_eq!(found(members), Vec::<String>::new());
}

#[test]
fn looking_up_and_sideways_is_found() {
    let up = found(vec![
        member("hob-wire", "wire", &["ext:serde", "hob-bus"]),
        member("hob-bus", "core", &[]),
    ]);
    assert_eq!(up.len(), 1);
    assert!(
        up[0].starts_with("crates/hob-wire/Cargo.toml:3: `hob-wire` (wire) depends on `hob-bus`"),
        "{up:?}"
    );
    let sideways = found(vec![
        member("hob-daemon", "daemon", &["hob-gateway"]),
        member("hob-gateway", "daemon", &[]),
    ]);
    assert_eq!(sideways.len(), 1, "{sideways:?}");
}

#[test]
fn tests_may_look_anywhere() {
    let members = vec![
        member("hob-wire", "wire", &["dev:hob-bus", "dev:ext:rusqlite"]),
        member("hob-bus", "core", &[]),
    ];
    assert_eq!(found(members), Vec::<String>::new());
}

#[test]
fn faces_and_the_client_never_link_what_is_behind_the_wire() {
    for layer in ["client", "ui"] {
        let face = found(vec![
            member("hob-store", "infrastructure", &[]),
            member("hob-face", layer, &["hob-store"]),
        ]);
        assert_eq!(face.len(), 1, "{layer}: {face:?}");
    }
}

#[test]
fn a_crate_without_a_floor_is_found() {
    assert_eq!(found(vec![member("hob-bus", "", &[])]).len(), 1);
    assert_eq!(found(vec![member("hob-bus", "attic", &[])]).len(), 1);
}

#[test]
fn sql_outside_the_store_is_found() {
    let members = vec![member("hob-daemon", "daemon", &["ext:rusqlite"])];
    assert!(found(members)[0].contains("`hob-daemon` uses `rusqlite` itself"));
}
