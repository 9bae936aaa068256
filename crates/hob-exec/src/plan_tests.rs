//! What the usual policy protects.

use super::*;

#[test]
fn git_is_protected_in_every_root_and_a_person_s_home_more() {
    let roots = [PathBuf::from("/work/a"), PathBuf::from("/home/me")];
    let policy = Policy::workspace(&roots, Some(Path::new("/home/me")), Vec::new());
    for path in ["/work/a/.git", "/home/me/.git", "/home/me/.bashrc"] {
        assert!(policy.protected.contains(&PathBuf::from(path)), "{path}");
    }
    assert!(policy.network == NetworkAccess::Off && !policy.unix_sockets);
    let policy = Policy::workspace(&roots[..1], Some(Path::new("/home/me")), Vec::new());
    assert_eq!(policy.protected, [PathBuf::from("/work/a/.git")]);
}
