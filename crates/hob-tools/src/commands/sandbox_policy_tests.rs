//! What is protected where, and what is refused.

use super::*;
use crate::trial::TestWorkspace;

fn home(path: &Path) -> PersonHome {
    PersonHome::new(path)
}

#[test]
fn what_is_there_and_protected_is_added_to_the_policy() {
    let trial = TestWorkspace::new();
    for name in [".git/config", "lib/.envrc", "plain/.github/workflows/a"] {
        trial.put(name, "x");
    }
    let root = trial.path("");
    let mut made = workspace_policy(&root, None, &[]).expect("stands");
    protect_below(&mut made, &root, None).expect("is small");
    for name in [".git", "lib/.envrc", "plain/.github/workflows"] {
        assert!(made.protected.contains(&trial.path(name)), "{name}");
    }
}

#[test]
fn a_protected_workspace_is_refused_and_hobs_usual_homes_are_hidden() {
    let person = home(Path::new("/home/someone"));
    let work = Path::new("/home/someone/work");
    for name in [
        "work/.git/x",
        ".local/bin",
        ".config/nvim/lua",
        "work/.husky",
    ] {
        let root = person.path().join(name);
        workspace_policy(&root, Some(&person), &[]).expect_err(name);
    }
    let own = [PathBuf::from("/srv/hob")];
    let made = workspace_policy(work, Some(&person), &own).expect("stands");
    for hidden in [
        "/srv/hob",
        "/home/someone/.config/hob",
        "/home/someone/.local/share/hob",
    ] {
        assert!(made.hidden.contains(&PathBuf::from(hidden)), "{hidden}");
    }
    assert!(made.network == hob_exec::NetworkAccess::Off && !made.unix_sockets);
}

#[test]
fn in_a_home_folder_only_what_is_there_can_be_changed() {
    let trial = TestWorkspace::new();
    for name in ["docs/.git/x", ".config/x", "bin/x", "a.txt", "store/HEAD"] {
        trial.put(name, "x");
    }
    trial.put("store/objects/x", "x");
    trial.put("store/refs/x", "x");
    let root = trial.path("").canonicalize().expect("is there");
    let person = home(&root);
    let mut made = workspace_policy(&root, Some(&person), &[]).expect("stands");
    let names = ["a.txt", "docs", "store"].map(|name| root.join(name));
    assert_eq!(made.write, names);
    protect_below(&mut made, &root, Some(&person)).expect("is small");
    assert_eq!(made.protected, [root.join("docs/.git"), root.join("store")]);
}
