//! Applications found by the names that people use.

use super::{find, folders};
use hob_kit::host_environment::EnvVars;
use std::path::Path;
use tempfile::TempDir;

/// A person's home with applications of theirs, and folders of the system's.
struct TestDesktop {
    folder: TempDir,
}

impl TestDesktop {
    fn new() -> TestDesktop {
        TestDesktop {
            folder: TempDir::new().expect("a folder"),
        }
    }

    fn env(&self) -> EnvVars {
        let path = |name: &str| self.folder.path().join(name).into_os_string();
        EnvVars::from_pairs([
            ("HOME", path("home")),
            ("XDG_DATA_DIRS", path("system")),
            ("PATH", path("bin")),
            ("LANG", "de_DE.UTF-8".into()),
        ])
    }

    fn put(&self, file: &str, lines: &str) {
        let file = self.folder.path().join(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        let text = format!("[Desktop Entry]\nType=Application\n{lines}\n");
        std::fs::write(file, text).expect("written");
    }

    fn system(&self, id: &str, lines: &str) {
        self.put(&format!("system/applications/{id}.desktop"), lines);
    }

    fn finds(&self, name: &str) -> Option<String> {
        find(name, &self.env()).map(|entry| entry.id)
    }
}

fn desktop() -> TestDesktop {
    let desktop = TestDesktop::new();
    desktop.system(
        "org.mozilla.firefox",
        "Name=Firefox\nName[de]=Feuerfuchs\nGenericName=Web Browser\nExec=firefox %u",
    );
    desktop.system(
        "firefox-private",
        "Name=Firefox Private Window\nExec=firefox --private-window",
    );
    desktop.system(
        "org.gnome.TextEditor",
        "Name=Text Editor\nExec=gnome-text-editor %U",
    );
    desktop.system(
        "gimp",
        "Name=GNU Image Manipulation Program\nGenericName=Image Editor\nExec=gimp-2.10 %U",
    );
    desktop.system(
        "vlc",
        "Name=VLC media player\nExec=/usr/bin/vlc --started-from-file %U",
    );
    desktop.system("kde/konsole", "Name=Konsole\nExec=konsole");
    desktop
}

#[test]
fn names_as_people_say_them() {
    let desktop = desktop();
    for (name, expected) in [
        ("org.mozilla.firefox", Some("org.mozilla.firefox")),
        ("Firefox", Some("org.mozilla.firefox")),
        ("feuerfuchs", Some("org.mozilla.firefox")),
        ("firefox.desktop", Some("org.mozilla.firefox")),
        ("web browser", Some("org.mozilla.firefox")),
        ("browser", Some("org.mozilla.firefox")),
        ("text editor", Some("org.gnome.TextEditor")),
        ("texteditor", Some("org.gnome.TextEditor")),
        ("image editor", Some("gimp")),
        ("vlc", Some("vlc")),
        ("private window", Some("firefox-private")),
        ("kde-konsole", Some("kde-konsole")),
        ("konsole", Some("kde-konsole")),
        ("firefx", Some("org.mozilla.firefox")),
        ("konsloe", Some("kde-konsole")),
        ("vlx", None),
        ("fir", None),
        ("ox", None),
        ("chromium", None),
        ("", None),
        ("  ", None),
    ] {
        assert_eq!(desktop.finds(name).as_deref(), expected, "{name:?}");
    }
}

#[test]
fn what_is_hidden_or_not_installed_is_not_found() {
    let desktop = desktop();
    desktop.put("home/.local/share/applications/vlc.desktop", "Hidden=true");
    assert_eq!(desktop.finds("vlc"), None, "a person took it out");
    desktop.system("secret", "Name=Secret\nExec=secret\nNoDisplay=true");
    assert_eq!(desktop.finds("secret"), None);
    desktop.system("game", "Name=Game\nExec=game\nTryExec=game");
    assert_eq!(desktop.finds("game"), None, "its program is missing");
    let program = desktop.folder.path().join("bin/game");
    std::fs::create_dir_all(program.parent().expect("a folder")).expect("made");
    std::fs::write(&program, "").expect("written");
    assert_eq!(desktop.finds("game"), None, "it may not be run");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&program, mode).expect("set");
    assert_eq!(desktop.finds("game").as_deref(), Some("game"));
}

#[test]
fn the_persons_own_file_counts_first() {
    let desktop = desktop();
    desktop.put(
        "home/.local/share/applications/gimp.desktop",
        "Name=My Gimp\nExec=mine",
    );
    let found = find("my gimp", &desktop.env()).expect("found");
    assert_eq!((&*found.id, &*found.exec), ("gimp", "mine"));
    assert_eq!(desktop.finds("image editor"), None);
}

#[test]
fn applications_are_described_in_seven_folders() {
    let env = EnvVars::from_pairs([("HOME", "/home/ann")]);
    let folders = folders(&env);
    let expected = [
        "/home/ann/.local/share/applications",
        "/usr/local/share/applications",
        "/usr/share/applications",
        "/home/ann/.local/share/flatpak/exports/share/applications",
        "/var/lib/flatpak/exports/share/applications",
        "/home/ann/.nix-profile/share/applications",
        "/var/lib/snapd/desktop/applications",
    ];
    assert_eq!(folders, expected.map(Path::new));
}
