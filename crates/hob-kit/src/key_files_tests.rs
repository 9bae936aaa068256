//! Keys in a home: private, whole, and nowhere else.

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.ensure().expect("made");
    (folder, home)
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).expect("there").mode() & 0o777
}

#[test]
fn a_key_is_kept_private_replaced_and_removed() {
    let (_folder, home) = home();
    assert!(read_all(&home).0.is_empty());
    for key in ["sk-first-1234", "sk-second-5678"] {
        store(&home, "anthropic", &Secret::new(key)).expect("kept");
        let (keys, problems) = read_all(&home);
        assert_eq!(keys, [("anthropic".to_owned(), Secret::new(key))]);
        assert!(problems.is_empty(), "{problems:?}");
    }
    assert_eq!(mode(&home.keys()), 0o700);
    assert_eq!(mode(&home.keys().join("anthropic")), 0o600);
    let files = std::fs::read_dir(home.keys()).expect("read").count();
    assert_eq!(files, 1, "no draft is left");
    assert!(remove(&home, "anthropic").expect("removed"));
    assert!(!remove(&home, "anthropic").expect("gone"));
    assert!(read_all(&home).0.is_empty());
}

#[test]
fn a_name_cannot_leave_the_folder() {
    let (_folder, home) = home();
    for name in ["", ".", "..", "../hob.db", "a/b", ".draft", "a b", "é"] {
        assert!(
            store(&home, name, &Secret::new("sk-12345678")).is_err(),
            "{name:?}"
        );
        assert!(remove(&home, name).is_err(), "{name:?}");
    }
}

#[test]
fn a_folder_that_was_opened_is_closed_again() {
    let (_folder, home) = home();
    std::fs::create_dir(home.keys()).expect("made");
    std::fs::set_permissions(home.keys(), std::fs::Permissions::from_mode(0o755)).expect("set");
    store(&home, "openai", &Secret::new("sk-12345678")).expect("kept");
    assert_eq!(mode(&home.keys()), 0o700);
}

#[test]
fn files_that_are_not_private_keys_are_not_used() {
    let (folder, home) = home();
    std::fs::create_dir(home.keys()).expect("made");
    let write = |name: &str, text: &str, mode: u32| {
        let path = home.keys().join(name);
        std::fs::write(&path, text).expect("written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("set");
    };
    write("open", "sk-12345678", 0o644);
    write("empty", "\n", 0o600);
    write("lines", "sk-1234\nsk-5678", 0o600);
    write("long", &"x".repeat(5_000), 0o600);
    let outside = folder.path().join("outside");
    std::fs::write(&outside, "sk-12345678").expect("written");
    std::os::unix::fs::symlink(&outside, home.keys().join("link")).expect("linked");
    let (keys, problems) = read_all(&home);
    assert!(keys.is_empty(), "{keys:?}");
    assert_eq!(problems.len(), 5, "{problems:?}");
    assert!(
        problems.iter().any(|it| it.contains("chmod 600")),
        "{problems:?}"
    );
    assert!(store(&home, "link", &Secret::new("sk-12345678")).is_err());
    assert_eq!(
        std::fs::read_to_string(outside).expect("read"),
        "sk-12345678"
    );
}
