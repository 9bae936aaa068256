//! Second names, without mounts of our own; those are tried in `tests/it`.

use super::*;
use std::fs;

fn policy(root: &Path, hidden: &Path) -> SandboxPolicy {
    SandboxPolicy::workspace(&[root.to_owned()], None, vec![hidden.to_owned()])
}

/// A workspace with a repository, and a home of hob's beside it.
fn folders() -> (tempfile::TempDir, PathBuf, PathBuf) {
    let all = tempfile::tempdir().expect("a folder");
    let (work, home) = (all.path().join("work"), all.path().join("home"));
    for folder in ["work/.git/hooks", "work/.git/objects/ab", "home/blobs/ab"] {
        fs::create_dir_all(all.path().join(folder)).expect("made");
    }
    fs::write(work.join(".git/config"), "[core]\n").expect("written");
    fs::write(work.join(".git/objects/ab/cd"), "content").expect("written");
    fs::write(home.join("owner.token"), "secret").expect("written");
    (all, work, home)
}

fn refusal(policy: &SandboxPolicy) -> String {
    match refuse_hard_links(policy) {
        Err(ExecError::Policy(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_second_name_of_a_protected_file_is_refused() {
    let (_all, work, home) = folders();
    let usual = policy(&work, &home);
    assert_eq!(refuse_hard_links(&usual), Ok(()), "control");
    let hook = work.join(".git/hooks/pre-commit");
    fs::write(&hook, "mine").expect("written");
    for file in [work.join(".git/config"), hook] {
        let other = work.join("other");
        fs::hard_link(&file, &other).expect("linked");
        let reason = refusal(&usual);
        assert!(reason.contains(&file.display().to_string()), "{reason}");
        assert!(reason.contains("hard link"), "{reason}");
        fs::remove_file(other).expect("removed");
        assert_eq!(refuse_hard_links(&usual), Ok(()));
    }
}

#[test]
fn a_second_name_of_what_hob_keeps_is_refused_wherever_it_is() {
    let (all, work, home) = folders();
    let other = all.path().join("elsewhere");
    fs::hard_link(home.join("owner.token"), &other).expect("linked");
    let reason = refusal(&policy(&work, &home));
    assert!(reason.contains("owner.token"), "{reason}");
}

#[test]
fn a_secret_under_a_protected_name_is_refused() {
    let (_all, work, home) = folders();
    fs::remove_file(work.join(".git/config")).expect("removed");
    fs::hard_link(home.join("owner.token"), work.join(".git/config")).expect("linked");
    let mut shown = policy(&work, &home);
    assert!(refusal(&shown).contains(".git/config"));
    shown.protected.clear();
    assert!(refusal(&shown).contains("owner.token"));
}

#[test]
fn content_named_by_its_digest_is_no_reason() {
    let (_all, work, home) = folders();
    let shared = work.join("shared");
    fs::hard_link(work.join(".git/objects/ab/cd"), &shared).expect("linked");
    let blob = home.join("blobs/digest");
    fs::write(&blob, "content").expect("written");
    fs::hard_link(&blob, work.join("copy")).expect("linked");
    assert_eq!(refuse_hard_links(&policy(&work, &home)), Ok(()));
    let mut outside = policy(&work, &home);
    outside.write.clear();
    fs::hard_link(work.join(".git/config"), work.join("other")).expect("linked");
    assert_eq!(refuse_hard_links(&outside), Ok(()), "nothing is writable");
}

#[test]
fn the_mount_table_is_read_as_the_kernel_writes_it() {
    let line = br"44 27 0:39 /a\040b /mnt/with\134slash rw,relatime shared:3 - overlay overlay rw";
    let expected = MountEntry {
        id: 44,
        device: "0:39".to_owned(),
        root: PathBuf::from("/a b"),
        point: PathBuf::from(r"/mnt/with\slash"),
    };
    assert_eq!(MountEntry::parse(line), Some(expected));
    assert_eq!(MountEntry::parse(b""), None);
    let mounts = MountTable::read().expect("readable");
    assert!(mounts.0.iter().any(|mount| mount.point == Path::new("/")));
}

#[test]
fn a_path_that_is_mounted_once_has_no_other_name() {
    let (_all, work, home) = folders();
    let mounts = MountTable::read().expect("readable");
    assert_eq!(mounts.aliases(&home), Vec::<PathBuf>::new());
    assert_eq!(mounts.aliases(&work.join("missing")), Vec::<PathBuf>::new());
}
