//! Which files are offered.

use super::*;

#[test]
fn files_near_the_top_come_first_and_builds_do_not_come() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path();
    for name in ["src/deep", "target", ".git"] {
        std::fs::create_dir_all(root.join(name)).expect("made");
    }
    for name in [
        "src/deep/a.rs",
        "README.md",
        "target/x",
        ".git/config",
        ".hidden",
    ] {
        std::fs::write(root.join(name), "").expect("written");
    }
    assert_eq!(list(root), ["README.md", "src/deep/a.rs"]);
    assert!(list(&root.join("none")).is_empty());
}
