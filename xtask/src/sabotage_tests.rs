//! Patches are read as they are written, belong to faults of the table, and are chosen by commit.

use super::{SabotagePatch, choose, copy_if_changed, find_problems, remove_others, uncovered};
use crate::faults::FaultTest;
use std::collections::BTreeSet;
use std::slice::from_ref;

const PATCH: &str = "Nothing is synced.\nTests: f07_a, f07_b\n\ndiff --git a/x b/x\n--- a/x\n";

fn fault(number: u32, test: &str) -> FaultTest {
    FaultTest {
        number,
        test: test.to_owned(),
        expects: "no ack".to_owned(),
    }
}

fn patch(name: &str) -> SabotagePatch {
    SabotagePatch::parse(name, "It breaks.\n\ndiff --git a/x b/x\n").unwrap()
}

#[test]
fn a_patch_says_what_it_breaks_and_which_tests_notice() {
    let read = SabotagePatch::parse("07-no-sync", PATCH).unwrap();
    assert_eq!(
        (read.number, read.sentence.as_str()),
        (7, "Nothing is synced.")
    );
    assert!(read.covers(&fault(7, "f07_a")) && read.covers(&fault(7, "f07_b")));
    assert!(!read.covers(&fault(7, "f07_c")) && !read.covers(&fault(8, "f07_a")));
    assert!(patch("07-no-sync").covers(&fault(7, "f07_c")));
    for (name, text) in [
        ("no-number", PATCH),
        ("07-x", "It breaks.\n"),
        ("07-x", "\ndiff --git a/x b/x\n"),
        ("07-x", "Tests: f07_a\n\ndiff --git a/x b/x\n"),
    ] {
        assert!(SabotagePatch::parse(name, text).is_err(), "{name}: {text}");
    }
}

#[test]
fn a_patch_belongs_to_a_fault_of_the_table() {
    let faults = [fault(7, "f07_a"), fault(7, "f07_b"), fault(8, "f08_c")];
    let of_two = SabotagePatch::parse("07-no-sync", PATCH).unwrap();
    assert_eq!(
        find_problems(&faults, from_ref(&of_two)),
        Vec::<String>::new()
    );
    assert_eq!(uncovered(&faults, from_ref(&of_two)), [&faults[2]]);
    assert_eq!(
        find_problems(&faults[..1], &[of_two, patch("99-x")]),
        [
            "07-no-sync.patch: fault 7 has no test f07_b",
            "99-x.patch: there is no fault 99"
        ]
    );
}

#[test]
fn a_commit_always_chooses_the_same_patches() {
    let patches: Vec<SabotagePatch> = (1..=70).map(|it| patch(&format!("{it:02}-x"))).collect();
    let first = "45486193c0ffee00000000000000000000000000";
    let chosen = choose(&patches, first, 3);
    assert_eq!(chosen, choose(&patches, first, 3));
    let numbers: BTreeSet<u32> = chosen.iter().map(|it| it.number).collect();
    assert_eq!(numbers.len(), 3, "none twice");
    assert_ne!(chosen, choose(&patches, "55486193c0ffee00", 3));
    assert_eq!(choose(&patches[..2], first, 3).len(), 2);
    assert_eq!(choose(&patches, "", 3).len(), 3);
}

#[test]
fn every_patch_of_the_project_is_read_and_has_its_fault() {
    let patches = super::read_patches().unwrap();
    let faults = crate::faults::read_faults().unwrap();
    assert_eq!(find_problems(&faults, &patches), Vec::<String>::new());
}

#[test]
fn the_copy_follows_the_project_and_leaves_equal_files_alone() {
    let folder = std::env::temp_dir().join(format!("xtask-sabotage-{}", std::process::id()));
    let (from, to) = (folder.join("from"), folder.join("copy/deep/to"));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(&from, "one").unwrap();
    copy_if_changed(&from, &to).unwrap();
    let copied = to.metadata().unwrap().modified().unwrap();
    copy_if_changed(&from, &to).unwrap();
    assert_eq!(to.metadata().unwrap().modified().unwrap(), copied);
    std::fs::write(&to, "patched").unwrap();
    copy_if_changed(&from, &to).unwrap();
    assert_eq!(std::fs::read_to_string(&to).unwrap(), "one");
    let copy = folder.join("copy");
    std::fs::write(copy.join("gone"), "").unwrap();
    remove_others(&copy, &copy, &BTreeSet::from(["deep/to".into()])).unwrap();
    assert!(to.exists() && !copy.join("gone").exists());
    std::fs::remove_dir_all(&folder).unwrap();
}
