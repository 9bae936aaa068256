//! What is protected where, and what only looks like it.

use super::*;
use std::os::unix::fs::symlink;

fn refused(path: &str, home: Option<&PersonHome>) -> bool {
    matches!(
        protection(Path::new(path), home),
        Some(PathProtection::Refused(_))
    )
}

#[test]
fn what_runs_later_by_itself_is_protected() {
    for path in [
        "/w/.git",
        "/w/.git/hooks/pre-commit",
        "/w/sub/.git/config",
        "/w/.GIT/config",
        "/w/.bashrc",
        "/w/.bash_aliases",
        "/w/.xsessionrc",
        "/w/.pam_environment",
        "/w/lib/usercustomize.py",
        "/w/lib/SiteCustomize.py",
        "/w/deep/.Profile",
        "/w/.config/autostart/x.desktop",
        "/w/.config/systemd/user/x.service",
        "/w/.config/fish/config.fish",
        "/w/Library/LaunchAgents/x.plist",
        "/w/.ssh/authorized_keys",
        "/w/.local/share/hob/hob.db",
    ] {
        assert!(refused(path, None), "{path}");
    }
}

#[test]
fn some_names_count_only_below_the_home_folder() {
    let home = PersonHome::new(Path::new("/home/me"));
    for name in [
        ".vimrc",
        ".npmrc",
        ".netrc",
        ".local/bin/ls",
        ".local/lib/python3.12/site-packages/x.pth",
        ".cargo/config.toml",
        ".config/nvim/init.lua",
        ".config/git/config",
        ".emacs.d/init.el",
        "bin/ls",
        "Bin",
        ".AWS/credentials",
    ] {
        assert!(refused(&format!("/home/me/{name}"), Some(&home)), "{name}");
        assert!(!refused(&format!("/srv/{name}"), Some(&home)), "{name}");
        let deeper = format!("/home/me/project/{name}");
        assert!(!refused(&deeper, Some(&home)), "{deeper}");
    }
}

#[test]
fn files_of_a_project_that_start_something_are_asked_for() {
    for path in [
        "/w/.vscode/tasks.json",
        "/w/a/.VSCode/Settings.json",
        "/w/.husky/pre-commit",
        "/w/.husky",
        "/w/.github/workflows/x.yml",
        "/w/.envrc",
        "/w/.devcontainer/devcontainer.json",
        "/w/.idea/runConfigurations/x.xml",
    ] {
        let found = protection(Path::new(path), None);
        assert!(matches!(found, Some(PathProtection::Asked(_))), "{path}");
    }
}

#[test]
fn ordinary_files_are_not() {
    for path in [
        "/w/.gitignore",
        "/w/.github/CODEOWNERS",
        "/w/git/config",
        "/w/.config/app.toml",
        "/w/profile",
        "/w/src/.bashrc/x",
        "/w/systemd/user/x",
        "/w/.vscode/notes.txt",
        "/w/bin/tool",
        "/w/Makefile",
    ] {
        assert_eq!(protection(Path::new(path), None), None, "{path}");
    }
}

#[test]
fn every_entry_passes_the_cheap_check_on_its_name() {
    let files = TREES.iter().chain(FILES).chain(FOLDERS).chain(HOME);
    for entry in files.chain(ASKED) {
        let name = entry.rsplit('/').next().expect("has one").replace('*', "3");
        assert!(may_be_protected(name.as_bytes()), "{entry}");
        assert!(may_be_protected(name.to_uppercase().as_bytes()), "{entry}");
        assert_eq!(entry.to_lowercase(), **entry, "steps are lower case");
    }
    for name in ["main.rs", "python", "x.json", "src"] {
        let plain = name == "main.rs" || name == "x.json" || name == "src";
        assert_eq!(may_be_protected(name.as_bytes()), !plain, "{name}");
    }
}

#[test]
fn a_home_folder_is_known_through_links() {
    let around = tempfile::tempdir().expect("a folder");
    let real = around.path().canonicalize().expect("is there");
    std::fs::create_dir_all(real.join("homes/me/work")).expect("made");
    symlink(real.join("homes"), real.join("link")).expect("made");
    let home = PersonHome::new(&real.join("link/me"));
    assert_eq!(home.path(), real.join("homes/me"));
    assert_eq!(home.inside(&real), Some(real.join("homes/me")));
    let through = real.join("link");
    assert_eq!(home.inside(&through), Some(through.join("me")));
    assert_eq!(home.inside(&real.join("homes/me/work")), None);
    let below = home.below(&real.join("link/me/work/x"));
    assert_eq!(below, Some(PathBuf::from("work/x")));
    assert_eq!(home.below(Path::new("/etc")), None);
}
