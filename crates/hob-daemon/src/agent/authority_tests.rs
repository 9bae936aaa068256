//! Folders that a token may name, with links, near names and hob's own in the way.

use super::resolve_folder;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

struct Tree {
    root: tempfile::TempDir,
}

impl Tree {
    fn new() -> Tree {
        let root = tempfile::tempdir().unwrap();
        for folder in ["notes/deep", "notes-private", "home/hob"] {
            std::fs::create_dir_all(root.path().join(folder)).unwrap();
        }
        std::fs::write(root.path().join("notes/file"), "x").unwrap();
        symlink("/", root.path().join("notes/out")).unwrap();
        symlink(root.path().join("notes"), root.path().join("link")).unwrap();
        Tree { root }
    }

    fn at(&self, name: &str) -> PathBuf {
        std::fs::canonicalize(self.root.path()).unwrap().join(name)
    }

    fn resolve(&self, wanted: &Path, allowed: &[&str]) -> Option<PathBuf> {
        let allowed: Vec<String> = allowed
            .iter()
            .map(|name| self.at(name).display().to_string())
            .collect();
        resolve_folder(wanted, &allowed, vec![self.at("home/hob")]).map(PathBuf::from)
    }
}

#[test]
fn a_configured_folder_and_all_below_it_are_accepted() {
    let tree = Tree::new();
    for name in ["notes", "notes/deep", "notes/deep/../deep", "link/deep"] {
        let found = tree.resolve(&tree.at(name), &["notes"]);
        let real = std::fs::canonicalize(tree.at(name)).unwrap();
        assert_eq!(found, Some(real), "{name}");
    }
    // A link may be configured as well as what it leads to.
    assert!(tree.resolve(&tree.at("notes/deep"), &["link"]).is_some());
}

#[test]
fn everything_else_is_refused() {
    let tree = Tree::new();
    let outside = [
        "",
        "notes-private",
        "notes/..",
        "notes/out",
        "notes/out/etc",
        "notes/file",
        "notes/missing",
        "home/hob",
    ];
    for name in outside {
        assert_eq!(tree.resolve(&tree.at(name), &["notes"]), None, "{name}");
    }
    assert_eq!(tree.resolve(Path::new("/"), &["notes"]), None);
    assert_eq!(tree.resolve(Path::new("notes"), &["notes"]), None);
    assert_eq!(tree.resolve(&tree.at("notes"), &[]), None);
    // Hob's own folders stay closed, even below a configured one.
    assert_eq!(tree.resolve(&tree.at("home/hob"), &["home"]), None);
    assert!(tree.resolve(&tree.at("home"), &["home"]).is_some());
    // A relative entry would depend on where the daemon was started.
    assert_eq!(
        resolve_folder(Path::new("/"), &[".".to_owned()], Vec::new()),
        None
    );
}
