//! Placeholders come and go, and nothing of the person's own goes with them.

use super::*;
use std::fs;

fn policy(root: &Path) -> Policy {
    Policy::workspace(&[root.to_owned()], None, Vec::new())
}

#[test]
fn the_last_holder_removes_it() {
    let root = tempfile::tempdir().expect("a folder");
    let git = root.path().join(".git");
    let first = Placeholders::make(&mut policy(root.path())).expect("made");
    let second = Placeholders::make(&mut policy(root.path())).expect("held");
    assert!(git.is_dir());
    first.remove();
    assert!(git.is_dir(), "the second still holds it");
    second.remove();
    assert!(!git.exists());
}

#[test]
fn what_is_there_already_stays() {
    let root = tempfile::tempdir().expect("a folder");
    let git = root.path().join(".git");
    fs::create_dir(&git).expect("made");
    Placeholders::make(&mut policy(root.path()))
        .expect("nothing to do")
        .remove();
    assert!(git.is_dir());
    fs::remove_dir(&git).expect("empty");
    fs::write(&git, "gitdir: elsewhere").expect("made");
    Placeholders::make(&mut policy(root.path()))
        .expect("nothing to do")
        .remove();
    assert!(git.is_file());
}

#[test]
fn one_that_was_filled_meanwhile_stays() {
    let root = tempfile::tempdir().expect("a folder");
    let made = Placeholders::make(&mut policy(root.path())).expect("made");
    fs::remove_dir(root.path().join(".git")).expect("empty");
    fs::create_dir(root.path().join(".git")).expect("made");
    fs::write(root.path().join(".git/HEAD"), "x").expect("made");
    made.remove();
    assert!(root.path().join(".git/HEAD").is_file());
}

#[test]
fn a_deep_path_is_protected_by_its_first_missing_folder() {
    let root = tempfile::tempdir().expect("a folder");
    let mut policy = policy(root.path());
    policy.protected = vec![root.path().join(".config/autostart")];
    let made = Placeholders::make(&mut policy).expect("made");
    assert_eq!(policy.protected, [root.path().join(".config")]);
    made.remove();
    assert!(!root.path().join(".config").exists());
}
