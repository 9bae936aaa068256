//! What a walk finds, and where it does not go.

use super::*;
use std::os::unix::fs::symlink;

fn put(root: &Path, name: &str) {
    let path = root.join(name);
    std::fs::create_dir_all(path.parent().expect("has one")).expect("made");
    std::fs::write(path, "x").expect("written");
}

fn found(root: &Path, home: Option<&Path>) -> Vec<String> {
    let home = home.map(PersonHome::new);
    let mut found = protected_below(root, home.as_ref()).expect("is small");
    found.sort();
    let below = |path: PathBuf| {
        path.strip_prefix(root)
            .expect("in it")
            .display()
            .to_string()
    };
    found.into_iter().map(below).collect()
}

#[test]
fn what_is_there_and_protected_is_found_at_any_depth() {
    let around = tempfile::tempdir().expect("a folder");
    let root = around.path();
    for name in [
        ".git/config",
        "lib/part/.git/HEAD",
        "lib/.envrc",
        "lib/.Git/HEAD",
        "home/.config/autostart/x.desktop",
        "plain/autostart/x",
        "plain/.github/workflows/a.yml",
        ".vscode/tasks.json",
        ".vscode/notes",
        "node_modules/a/.github/workflows/a.yml",
        "node_modules/a/.git/config",
        "store.git/HEAD",
        "store.git/objects/x",
        "store.git/refs/x",
        "store.git/sub/.git/x",
    ] {
        put(root, name);
    }
    symlink("/etc", root.join("way")).expect("made");
    let expected = [
        ".git",
        ".vscode/tasks.json",
        "home/.config/autostart",
        "lib/.Git",
        "lib/.envrc",
        "lib/part/.git",
        "node_modules/a/.git",
        "plain/.github/workflows",
        "store.git",
    ];
    assert_eq!(found(root, None), expected);
}

#[test]
fn names_of_the_home_folder_count_in_a_workspace_below_it() {
    let around = tempfile::tempdir().expect("a folder");
    let home = around.path();
    for name in [
        ".config/nvim/init.lua",
        ".config/other/x",
        "bin/ls",
        "work/bin/x",
    ] {
        put(home, name);
    }
    assert_eq!(found(&home.join(".config"), Some(home)), ["nvim"]);
    assert_eq!(found(&home.join("work"), Some(home)), [] as [String; 0]);
    assert_eq!(found(home, Some(home)), [".config/nvim", "bin"]);
}

#[test]
fn a_bare_repository_as_the_workspace_and_too_many_places_are_said() {
    let around = tempfile::tempdir().expect("a folder");
    for name in ["HEAD", "objects/x", "refs/x"] {
        put(around.path(), name);
    }
    let refused = protected_below(around.path(), None);
    assert_eq!(refused, Err(ScanError::BareRepository));
    let many = tempfile::tempdir().expect("a folder");
    for number in 0..=PROTECTED_MAX {
        put(many.path(), &format!("{number}/.git/x"));
    }
    assert_eq!(
        protected_below(many.path(), None),
        Err(ScanError::Protected)
    );
}
