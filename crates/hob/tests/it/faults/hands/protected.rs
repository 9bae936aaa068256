//! Fault 67: places inside a workspace that run by themselves later stay as they are.

use super::tools::{LEVELS, Tools};
use crate::faults::trial::Trial;
use serde_json::json;
use std::fs;
use std::os::unix::fs::symlink;

/// Places, each with a file that exists already or a new one.
const PLACES: &[&str] = &[
    ".git/hooks/pre-commit",
    ".git/config",
    ".GIT/hooks/post-merge",
    "sub/project/.git/hooks/pre-push",
    ".bashrc",
    ".zshrc",
    ".profile",
    "home/.bash_profile",
    ".bash_aliases",
    ".xsessionrc",
    ".pam_environment",
    "lib/usercustomize.py",
    ".ssh/authorized_keys",
    ".config/autostart/evil.desktop",
    ".config/systemd/user/evil.service",
    ".config/fish/config.fish",
    ".config/hob/config.toml",
    ".local/share/hob/owner.token",
    ".xprofile",
];

#[test]
fn f67_protected_places_in_a_writable_root() {
    let trial = Trial::begin(67);
    let mut tools = Tools::lay_out();
    for folder in [".git/hooks", "sub/project/.git/hooks", ".config/autostart"] {
        fs::create_dir_all(tools.workspace.join(folder)).expect("a folder");
    }
    fs::write(tools.workspace.join(".bashrc"), "mine").expect("a file");
    symlink(".git/hooks", tools.workspace.join("harmless")).expect("a link");
    fs::write(tools.workspace.join("evil.sh"), "evil").expect("a file");
    let mut tries = 0;
    let mut changed = Vec::new();
    let places = PLACES.iter().copied().chain(["harmless/pre-commit"]);
    for place in places {
        for (tool, args) in [
            ("write", json!({ "path": place, "content": "evil" })),
            (
                "edit",
                json!({ "path": place, "oldText": "mine", "newText": "evil" }),
            ),
            ("move", json!({ "from": "evil.sh", "to": place })),
            ("remove", json!({ "path": place })),
        ] {
            tries += 1;
            let said = tools.call(tool, &args);
            if !said.failed {
                changed.push(format!("{tool} {place}: {}", said.text));
            }
        }
    }
    for folder in [".git", ".config"] {
        let said = tools.call("remove", &json!({ "path": folder, "recursive": true }));
        let moved = tools.call("move", &json!({ "from": folder, "to": "elsewhere" }));
        tries += 2;
        if !(said.failed && moved.failed) {
            changed.push(format!("{folder}: {said:?} {moved:?}"));
        }
    }
    assert!(changed.is_empty(), "{changed:#?}");
    tries += by_commands();
    let rc = fs::read_to_string(tools.workspace.join(".bashrc"));
    assert_eq!(rc.as_deref().ok(), Some("mine"));
    let beside = tools.call(
        "write",
        &json!({ "path": "gitlike.txt", "content": "fine" }),
    );
    assert!(!beside.failed, "{beside:?}");
    trial.figure("tries", tries);
    trial.figure("writes", changed.len());
}

/// What a command tries at each level: another name of a protected file, prepared or made by
/// itself, and places that do not exist yet. Gives how much was tried.
fn by_commands() -> usize {
    let mut tries = 0;
    for level in LEVELS {
        let mut tools = Tools::behind(level, "", &[]);
        let hooks = tools.workspace.join("sub/project/.git/hooks");
        fs::create_dir_all(&hooks).expect("a folder");
        fs::write(hooks.join("../config"), "mine").expect("a file");
        for attack in [
            "ln sub/project/.git/config other && echo evil > other",
            "mv sub away",
            "mv sub/project sub/away",
            "chmod 777 sub/project/.git/hooks",
            "touch -d 2001-02-03 sub/project/.git/config",
            "mkdir -p .git/hooks && echo evil > .git/hooks/pre-commit",
        ] {
            tries += 1;
            let said = tools.exec(attack);
            assert_ne!(said.metadata["exitCode"], 0, "{level}: {attack}: {said:?}");
        }
        let prepared = tools.workspace.join("prepared");
        fs::hard_link(hooks.join("../config"), &prepared).expect("a link");
        tries += 1;
        let said = tools.exec("echo evil > prepared");
        assert!(
            said.failed && said.text.contains("hard link"),
            "{level}: {said:?}"
        );
        fs::remove_file(&prepared).expect("removed");
        let config = fs::read_to_string(hooks.join("../config"));
        assert_eq!(config.ok().as_deref(), Some("mine"), "{level}");
        assert!(!tools.workspace.join(".git").exists(), "{level}");
        let said = tools.exec("echo fine > sub/project/file && mv sub/project/file sub/file");
        assert_eq!(said.metadata["exitCode"], 0, "control, {level}: {said:?}");
    }
    tries
}
