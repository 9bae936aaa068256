//! What is remembered.

use super::*;

fn home() -> (tempfile::TempDir, Home) {
    let folder = tempfile::tempdir().expect("a folder");
    let home = Home::at(folder.path());
    home.ensure().expect("makes it");
    (folder, home)
}

#[test]
fn a_no_of_a_former_version_is_read_and_a_broken_file_is_not_in_the_way() {
    let (_folder, home) = home();
    assert_eq!(ShownNotices::read(&home), ShownNotices::default());
    let former = r#"{"modest":true,"declined":true}"#;
    std::fs::write(home.notices(), former).expect("writes");
    assert!(ShownNotices::read(&home).declined);
    std::fs::write(home.notices(), "[").expect("writes");
    assert_eq!(ShownNotices::read(&home), ShownNotices::default());
}

#[test]
fn each_server_is_named_once() {
    let (_folder, home) = home();
    let first = |line: &str| ShownNotices::is_first_server(&home, line);
    assert!(first("Asking a."));
    assert!(!first("Asking a."));
    assert!(first("Asking b.") && !first("Asking a."));
    // A home of an early version remembers no servers.
    std::fs::write(home.notices(), r#"{"declined":true}"#).expect("writes");
    assert!(first("Asking a."));
    assert!(ShownNotices::read(&home).declined, "the rest is kept");
    for number in 0..2 * SERVERS_MAX {
        assert!(first(&format!("Asking {number}.")));
    }
    assert_eq!(ShownNotices::read(&home).servers.len(), SERVERS_MAX);
}
