//! The owner's token on a real disk.

use super::{OwnerTokenError, read, read_or_create};
use hob_kit::randomness::Randomness;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn it_is_made_once_and_private() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owner.token");
    let made = read_or_create(&path, &Randomness::system()).unwrap();
    assert_eq!(mode(&path), 0o600);
    assert_eq!(read_or_create(&path, &Randomness::system()).unwrap(), made);
    assert_eq!(read(&path).unwrap(), made);
}

#[test]
fn a_readable_one_is_made_private() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owner.token");
    let made = read_or_create(&path, &Randomness::system()).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(read(&path).unwrap(), made);
    assert_eq!(mode(&path), 0o600);
}

#[test]
fn a_short_or_torn_one_is_refused_not_replaced() {
    let home = tempfile::tempdir().unwrap();
    let path = home.path().join("owner.token");
    for content in ["", "hunter2", "zz"] {
        std::fs::write(&path, content).unwrap();
        let refused = read_or_create(&path, &Randomness::system());
        assert!(matches!(refused, Err(OwnerTokenError::Malformed { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }
}

#[test]
fn a_link_is_not_followed() {
    let home = tempfile::tempdir().unwrap();
    let target = home.path().join("elsewhere");
    let path = home.path().join("owner.token");
    std::fs::write(&target, "f".repeat(64)).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    assert!(matches!(read(&path), Err(OwnerTokenError::Io { .. })));
}
