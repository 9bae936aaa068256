//! What stays writable where the home folder lies in a workspace.

use super::*;
use std::os::unix::fs::symlink;

fn names(root: &Path, view: &HomeView) -> Vec<String> {
    let below = |path: &PathBuf| path.strip_prefix(root).expect("lies in it").to_owned();
    let text = |path: PathBuf| path.display().to_string();
    view.writable.iter().map(below).map(text).collect()
}

#[test]
fn existing_entries_stay_writable_and_dot_files_do_not() {
    let around = tempfile::tempdir().expect("a folder");
    let root = around.path().canonicalize().expect("is there");
    let home = root.join("me");
    for folder in ["me/work", "me/.config", "me/bin", "other", "me/Docs"] {
        std::fs::create_dir_all(root.join(folder)).expect("made");
    }
    std::fs::write(home.join("notes.txt"), "x").expect("written");
    std::fs::write(home.join(".bashrc"), "x").expect("written");
    symlink("/etc", home.join("way")).expect("made");
    let person = PersonHome::new(&home);
    let view = home_view(&home, &person).expect("is the home folder");
    assert_eq!(names(&home, &view), ["Docs", "notes.txt", "work"]);
    let above = home_view(&root, &person).expect("holds the home folder");
    let expected = ["me/Docs", "me/notes.txt", "me/work", "other"];
    assert_eq!(names(&root, &above), expected);
    assert_eq!(home_view(&home.join("work"), &person), None);
    assert_eq!(home_view(&root.join("other"), &person), None);
}

#[test]
fn too_many_entries_are_said() {
    let around = tempfile::tempdir().expect("a folder");
    for number in 0..=WRITABLE_MAX {
        std::fs::write(around.path().join(format!("{number}")), "").expect("written");
    }
    let view = home_view(around.path(), &PersonHome::new(around.path())).expect("is home");
    assert!(view.is_cut);
    assert_eq!(view.writable.len(), WRITABLE_MAX);
}
