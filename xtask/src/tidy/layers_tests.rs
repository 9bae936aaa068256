//! The floor rules fire on a crate that looks up, sideways, or around the wall.

use super::check;
use crate::tidy::fixtures::{member, workspace};
use crate::workspace::Member;

fn found(members: Vec<Member>) -> Vec<String> {
    let findings = check(&workspace(members)).into_iter();
    findings.map(|found| found.to_string()).collect()
}

#[test]
fn looking_down_passes() {
    let members = vec![
        member("hob-wire", "words", &[]),
        member("hob-bus", "mind", &["hob-wire"]),
        member("hob-store", "hands", &["hob-bus", "ext:rusqlite"]),
        member(
            "hob-gateway",
            "house",
            &["hob-store", "hob-bus", "ext:axum"],
        ),
        member("hob-client", "threshold", &["hob-wire"]),
        member("hob", "doors", &["hob-gateway", "hob-client", "hob-store"]),
    ];
    assert_eq!(found(members), Vec::<String>::new());
}

#[test]
fn looking_up_and_sideways_is_found() {
    let up = found(vec![
        member("hob-wire", "words", &["ext:serde", "hob-bus"]),
        member("hob-bus", "mind", &[]),
    ]);
    assert_eq!(up.len(), 1);
    assert!(
        up[0].starts_with("crates/hob-wire/Cargo.toml:3: `hob-wire` (words) depends on `hob-bus`"),
        "{up:?}"
    );
    let sideways = found(vec![
        member("hob-daemon", "house", &["hob-gateway"]),
        member("hob-gateway", "house", &[]),
    ]);
    assert_eq!(sideways.len(), 1, "{sideways:?}");
}

#[test]
fn tests_may_look_anywhere() {
    let members = vec![
        member("hob-wire", "words", &["dev:hob-bus", "dev:ext:rusqlite"]),
        member("hob-bus", "mind", &[]),
    ];
    assert_eq!(found(members), Vec::<String>::new());
}

#[test]
fn faces_and_the_client_never_link_what_is_behind_the_wire() {
    for floor in ["threshold", "doors"] {
        let face = found(vec![
            member("hob-store", "hands", &[]),
            member("hob-face", floor, &["hob-store"]),
        ]);
        assert_eq!(face.len(), 1, "{floor}: {face:?}");
    }
}

#[test]
fn a_crate_without_a_floor_is_found() {
    assert_eq!(found(vec![member("hob-bus", "", &[])]).len(), 1);
    assert_eq!(found(vec![member("hob-bus", "attic", &[])]).len(), 1);
}

#[test]
fn sql_outside_the_store_is_found() {
    let members = vec![member("hob-daemon", "house", &["ext:rusqlite"])];
    assert!(found(members)[0].contains("`hob-daemon` uses `rusqlite` itself"));
}
