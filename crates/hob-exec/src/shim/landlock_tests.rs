//! Carving: everything but what is hidden.

use super::*;
use std::fs;

fn carved(tree: &Path, left_out: &[PathBuf]) -> Vec<String> {
    let mut found = Vec::new();
    collect_trees_without(tree, left_out, &mut found).expect("readable");
    let shown = |path: &PathBuf| {
        path.strip_prefix(tree)
            .map(|path| path.display().to_string())
    };
    let mut found: Vec<String> = found
        .iter()
        .map(|path| shown(path).expect("below"))
        .collect();
    found.sort();
    found
}

#[test]
fn siblings_on_the_way_stay_and_links_do_not_lead_in() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path();
    for folder in ["a/b/secret/deep", "a/b/open", "a/c", "d"] {
        fs::create_dir_all(root.join(folder)).expect("made");
    }
    fs::write(root.join("a/file"), "x").expect("made");
    std::os::unix::fs::symlink(root.join("a/b/secret"), root.join("a/way-in")).expect("made");
    let hidden = [root.join("a/b/secret")];
    assert_eq!(carved(root, &hidden), ["a/b/open", "a/c", "a/file", "d"]);
}

#[test]
fn a_tree_with_nothing_hidden_is_one_rule_and_a_hidden_one_none() {
    let root = tempfile::tempdir().expect("a folder");
    let elsewhere = [PathBuf::from("/nowhere/else")];
    assert_eq!(carved(root.path(), &elsewhere), [""]);
    let itself = [root.path().to_owned()];
    assert!(carved(root.path(), &itself).is_empty());
    let above = [PathBuf::from("/")];
    assert!(carved(root.path(), &above).is_empty());
}
