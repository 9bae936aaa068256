//! What is protected where, and what is refused.

use super::*;
use crate::trial::Trial;

#[test]
fn what_is_there_and_protected_is_found_at_any_depth() {
    let trial = Trial::new();
    for name in [
        ".git/config",
        "lib/part/.git/HEAD",
        "lib/.envrc",
        "lib/.Git/HEAD",
        "home/.config/autostart/x.desktop",
        "plain/autostart/x",
        "plain/.github/workflows",
    ] {
        trial.put(name, "x");
    }
    let root = trial.path("");
    let mut found = protected_below(&root).expect("is small");
    found.sort();
    let expected = [
        ".git",
        "home/.config/autostart",
        "lib/.Git",
        "lib/.envrc",
        "lib/part/.git",
    ];
    let expected: Vec<_> = expected.iter().map(|name| trial.path(name)).collect();
    assert_eq!(found, expected);
}

#[test]
fn a_protected_workspace_is_refused_and_hobs_usual_homes_are_hidden() {
    let home = Path::new("/home/someone");
    policy(&home.join("work/.git/x"), Some(home), &[]).expect_err("is protected");
    let own = [PathBuf::from("/srv/hob")];
    let made = policy(&home.join("work"), Some(home), &own).expect("stands");
    for hidden in [
        "/srv/hob",
        "/home/someone/.config/hob",
        "/home/someone/.local/share/hob",
    ] {
        assert!(made.hidden.contains(&PathBuf::from(hidden)), "{hidden}");
    }
    assert!(made.network == hob_exec::NetworkAccess::Off && !made.unix_sockets);
    let whole = policy(home, Some(home), &own).expect("stands");
    for name in [".git", ".bashrc", ".config/autostart"] {
        assert!(whole.protected.contains(&home.join(name)), "{name}");
    }
}
