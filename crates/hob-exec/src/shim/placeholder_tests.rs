//! Placeholders come and go, and nothing of the person's own goes with them.

use super::*;
use std::fs;

fn policy(root: &Path) -> SandboxPolicy {
    SandboxPolicy::workspace(&[root.to_owned()], None, Vec::new())
}

/// A writable folder in which what starts by itself is protected.
fn home_policy(home: &Path, hidden: Vec<PathBuf>) -> SandboxPolicy {
    let mut policy = SandboxPolicy::workspace(&[home.to_owned()], None, hidden);
    let names = [
        ".profile",
        ".bashrc",
        ".gitconfig",
        ".ssh",
        ".config/autostart",
        ".config/systemd",
        ".local/bin",
    ];
    policy.protected.extend(names.map(|name| home.join(name)));
    policy
}

#[test]
fn the_last_holder_removes_it() {
    let root = tempfile::tempdir().expect("a folder");
    let git = root.path().join(".git");
    let first = PlaceholderSet::create(&mut policy(root.path())).expect("made");
    let second = PlaceholderSet::create(&mut policy(root.path())).expect("held");
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
    PlaceholderSet::create(&mut policy(root.path()))
        .expect("nothing to do")
        .remove();
    assert!(git.is_dir());
    fs::remove_dir(&git).expect("empty");
    fs::write(&git, "gitdir: elsewhere").expect("made");
    PlaceholderSet::create(&mut policy(root.path()))
        .expect("nothing to do")
        .remove();
    assert!(git.is_file());
}

#[test]
fn one_that_was_filled_meanwhile_stays() {
    let root = tempfile::tempdir().expect("a folder");
    let made = PlaceholderSet::create(&mut policy(root.path())).expect("made");
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
    let made = PlaceholderSet::create(&mut policy).expect("made");
    assert_eq!(policy.protected, [root.path().join(".config")]);
    made.remove();
    assert!(!root.path().join(".config").exists());
}

/// The names below a folder, however deep.
fn names(root: &Path) -> Vec<String> {
    let entries = fs::read_dir(root).expect("readable").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn a_plain_home_is_as_it_was_afterwards() {
    let root = tempfile::tempdir().expect("a folder");
    let home = root.path();
    let hidden = vec![home.join(".config/hob"), home.join(".local/share/hob")];
    let mut policy = home_policy(home, hidden);
    let made = PlaceholderSet::create(&mut policy).expect("no parent is needed");
    for (name, is_file) in [
        (".profile", true),
        (".bashrc", true),
        (".gitconfig", true),
        (".ssh", false),
        (".git", false),
        (".config", false),
        (".local", false),
    ] {
        let found = fs::symlink_metadata(home.join(name)).expect(name);
        assert_eq!(found.is_file(), is_file, "{name}");
        assert!(policy.protected.contains(&home.join(name)), "{name}");
    }
    assert!(policy.protected.iter().all(|path| path.exists()));
    assert!(names(&home.join(".config")).is_empty(), "nothing is nested");
    made.remove();
    assert_eq!(names(home), Vec::<String>::new());
}

#[test]
fn two_runs_at_once_leave_nothing_either() {
    let root = tempfile::tempdir().expect("a folder");
    let home = root.path();
    let policy = || home_policy(home, vec![home.join(".x/hob")]);
    let (mut one, mut other) = (policy(), policy());
    let first = PlaceholderSet::create(&mut one).expect("made");
    let second = PlaceholderSet::create(&mut other).expect("held");
    assert_eq!(one.protected, other.protected);
    first.remove();
    assert!(home.join(".config").is_dir() && home.join(".profile").is_file());
    second.remove();
    assert_eq!(names(home), Vec::<String>::new());
}

#[test]
fn a_failure_leaves_nothing() {
    let root = tempfile::tempdir().expect("a folder");
    let mut policy = policy(root.path());
    let long = "x".repeat(300);
    policy.protected = vec![root.path().join(".git"), root.path().join(long)];
    let error = PlaceholderSet::create(&mut policy).expect_err("too long a name");
    assert!(error.to_string().contains("cannot be kept"), "{error}");
    assert_eq!(names(root.path()), Vec::<String>::new());
}

#[test]
fn what_a_killed_shim_left_is_removed_by_the_next_run() {
    let root = tempfile::tempdir().expect("a folder");
    let home = root.path();
    let policy = || home_policy(home, Vec::new());
    drop(PlaceholderSet::create(&mut policy()).expect("made"));
    assert!(names(home).len() > 5, "control: nobody removed them");
    // As one is between its making and its stamp.
    create_empty(&home.join(".inputrc"), PlaceholderKind::File).expect("made");
    let mut next = policy();
    next.protected.push(home.join(".inputrc"));
    PlaceholderSet::create(&mut next).expect("held").remove();
    assert_eq!(names(home), Vec::<String>::new());
}

#[test]
fn files_of_the_person_stay_however_empty() {
    let root = tempfile::tempdir().expect("a folder");
    let home = root.path();
    fs::write(home.join(".profile"), "").expect("written");
    let read_only = <fs::Permissions as std::os::unix::fs::PermissionsExt>::from_mode(0o444);
    fs::set_permissions(home.join(".profile"), read_only).expect("set");
    fs::create_dir(home.join(".ssh")).expect("made");
    let mut policy = home_policy(home, Vec::new());
    let made = PlaceholderSet::create(&mut policy).expect("made");
    // What is put into a placeholder from outside is the person's, too.
    fs::write(home.join(".bashrc"), "# mine").expect("written");
    fs::write(home.join(".git/HEAD"), "x").expect("written");
    made.remove();
    assert_eq!(names(home), [".bashrc", ".git", ".profile", ".ssh"]);
}

#[test]
fn a_file_in_the_way_is_protected_itself() {
    let root = tempfile::tempdir().expect("a folder");
    fs::write(root.path().join(".config"), "a file").expect("written");
    let mut policy = policy(root.path());
    policy.protected = vec![root.path().join(".config/autostart")];
    let made = PlaceholderSet::create(&mut policy).expect("made");
    assert_eq!(policy.protected, [root.path().join(".config")]);
    made.remove();
    assert_eq!(names(root.path()), [".config"]);
}
