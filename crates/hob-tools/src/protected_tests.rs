//! What is protected, and what only looks like it.

use super::why;
use std::path::Path;

#[test]
fn what_runs_later_by_itself_is_protected() {
    for path in [
        "/w/.git",
        "/w/.git/hooks/pre-commit",
        "/w/sub/.git/config",
        "/w/.GIT/config",
        "/w/.bashrc",
        "/w/deep/.Profile",
        "/w/.config/autostart/x.desktop",
        "/w/.config/systemd/user/x.service",
        "/w/.config/fish/config.fish",
        "/w/Library/LaunchAgents/x.plist",
        "/w/.ssh/authorized_keys",
        "/w/.local/share/hob/hob.db",
    ] {
        assert!(why(Path::new(path)).is_some(), "{path}");
    }
}

#[test]
fn ordinary_files_are_not() {
    for path in [
        "/w/.gitignore",
        "/w/.github/workflows/x.yml",
        "/w/git/config",
        "/w/.config/app.toml",
        "/w/profile",
        "/w/src/.bashrc/x",
        "/w/systemd/user/x",
    ] {
        assert_eq!(why(Path::new(path)), None, "{path}");
    }
}
