//! What the usual policy protects.

use super::*;

#[test]
fn git_is_protected_in_every_root_and_more_below_the_home_folder() {
    let around = tempfile::tempdir().expect("a folder");
    let home = around.path().canonicalize().expect("is there");
    for folder in ["work", ".config/app", "bin"] {
        std::fs::create_dir_all(home.join(folder)).expect("made");
    }
    let of = |root: &str| SandboxPolicy::workspace(&[home.join(root)], Some(&home), Vec::new());
    let plain = of("work");
    assert_eq!(plain.write, [home.join("work")]);
    assert_eq!(plain.protected, [home.join("work/.git")]);
    assert!(plain.network == NetworkAccess::Off && !plain.unix_sockets);
    let config = of(".config");
    for name in [".config/autostart", ".config/nvim", ".config/git"] {
        assert!(config.protected.contains(&home.join(name)), "{name}");
    }
    assert!(!config.protected.contains(&home.join(".config")));
}

#[test]
fn the_home_folder_as_a_root_is_read_only_but_for_what_is_in_it() {
    let around = tempfile::tempdir().expect("a folder");
    let home = around.path().canonicalize().expect("is there");
    for folder in ["work", ".config/app", "bin"] {
        std::fs::create_dir_all(home.join(folder)).expect("made");
    }
    let policy = SandboxPolicy::workspace(std::slice::from_ref(&home), Some(&home), Vec::new());
    assert_eq!(policy.write, [home.join("work")]);
    assert!(policy.protected.is_empty(), "no placeholder is needed");
    let link = around.path().join("work/link");
    std::os::unix::fs::symlink(&home, &link).expect("made");
    let linked = SandboxPolicy::workspace(std::slice::from_ref(&home), Some(&link), Vec::new());
    assert_eq!(linked.write, [home.join("work")], "through a link");
}
