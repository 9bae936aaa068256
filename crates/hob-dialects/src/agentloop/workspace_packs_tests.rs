//! Agents of a workspace, and what is not read as one.

use super::load;
use hob_kit::home::Home;
use hob_kit::mask::SecretMask;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use tempfile::TempDir;

const AGENTS: &str = ".agentloop/agents";

fn workspace() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join(AGENTS)).unwrap();
    folder
}

fn write(workspace: &TempDir, name: &str, text: &str) {
    fs::write(workspace.path().join(AGENTS).join(name), text).unwrap();
}

fn read(workspace: &Path) -> super::WorkspacePacks {
    let elsewhere = tempfile::tempdir().unwrap();
    load(workspace, &Home::at(elsewhere.path()), &SecretMask::new())
}

#[test]
fn files_change_and_add_agents() {
    let here = workspace();
    write(&here, "a.md", "---\nname: chat.quick\n---\nSpeak Latin.");
    write(
        &here,
        "release.notes.md",
        "---\ntools: fs.read\n---\nWrite notes.",
    );
    write(&here, "remark.txt", "no agent");
    let loaded = read(here.path());
    assert_eq!(loaded.refused, Vec::<String>::new());
    let chat = loaded.packs.find("chat.quick").unwrap();
    assert_eq!(chat.prompt, "Speak Latin.");
    assert!(chat.tools.is_empty() && !chat.about.is_empty());
    let added = loaded.packs.find("release.notes").unwrap();
    assert_eq!(
        (added.tools.as_slice(), added.prompt.as_str()),
        (&["fs.read".to_owned()][..], "Write notes.")
    );
    assert_eq!(loaded.packs.iter().count(), 6);
}

#[test]
fn a_workspace_without_agents_has_the_built_in_ones() {
    let empty = tempfile::tempdir().unwrap();
    for folder in [empty.path().to_owned(), empty.path().join("gone")] {
        let loaded = read(&folder);
        assert_eq!(loaded.packs.iter().count(), 5);
        assert!(loaded.refused.is_empty());
    }
}

/// A checkout may contain links to anywhere, and prompts leave the machine.
#[test]
fn links_and_strange_files_are_told_and_not_read() {
    let here = workspace();
    let secret = here.path().join("secret");
    fs::write(&secret, "the key").unwrap();
    symlink(&secret, here.path().join(AGENTS).join("link.md")).unwrap();
    fs::hard_link(&secret, here.path().join(AGENTS).join("hard.md")).unwrap();
    fs::create_dir(here.path().join(AGENTS).join("folder.md")).unwrap();
    let loaded = read(here.path());
    assert_eq!(loaded.packs.iter().count(), 5, "{loaded:?}");
    assert_eq!(loaded.refused.len(), 3, "{loaded:?}");

    for part in [".agentloop", AGENTS] {
        let other = tempfile::tempdir().unwrap();
        let place = other.path().join(part);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        let target = if part == AGENTS { AGENTS } else { ".agentloop" };
        let real = workspace();
        write(&real, "a.md", "Go.");
        symlink(real.path().join(target), &place).unwrap();
        let loaded = read(other.path());
        assert_eq!(loaded.packs.iter().count(), 5, "{part}");
        assert!(loaded.refused[0].contains("link"), "{part}: {loaded:?}");
    }
}

#[test]
fn hobs_own_files_are_no_agents() {
    let home = workspace();
    write(&home, "a.md", "Go.");
    let loaded = load(home.path(), &Home::at(home.path()), &SecretMask::new());
    assert_eq!(loaded.packs.iter().count(), 5);
    assert!(loaded.refused[0].contains("belongs to hob"), "{loaded:?}");
}

#[test]
fn what_is_too_much_is_left_out() {
    let here = workspace();
    for number in 0..80 {
        write(&here, &format!("n{number:02}.md"), "Go.");
    }
    write(&here, "a.md", &"x".repeat(100_000));
    let loaded = read(here.path());
    assert_eq!(loaded.packs.iter().count(), 5 + 64);
    assert_eq!(loaded.packs.find("a").unwrap().prompt.len(), 32 * 1024);
}
