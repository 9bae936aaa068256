//! Keys of folders.

use super::*;

#[test]
fn a_folder_has_one_session_for_ever() {
    let home = Path::new("/home/ada");
    let of = |folder: &str| key(Some(folder), Some(home));
    // A changed key would lose every conversation of every folder.
    assert_eq!(of("/work/hob"), "chat:hob-48fb7729");
    assert_ne!(of("/work/hob"), of("/old/hob"));
    assert_eq!(of("/home/ada"), MAIN_SESSION);
    assert_eq!(key(None, Some(home)), MAIN_SESSION);
    assert!(of("/").starts_with("chat:folder-"), "{}", of("/"));
    assert!(of("/work/a b;c").starts_with("chat:abc-"));
}
