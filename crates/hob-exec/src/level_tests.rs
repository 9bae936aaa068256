//! Which level a policy gets, and which rule is named when there is none.

use super::*;

fn facts(bubblewrap: bool, landlock_abi: i32, namespaces: bool) -> Facts {
    Facts {
        bubblewrap: bubblewrap.then(|| PathBuf::from("/usr/bin/bwrap")),
        bubblewrap_problem: (!bubblewrap).then(|| "it is not installed.".to_owned()),
        landlock_abi,
        namespaces,
        processes: Bound::Rlimit,
    }
}

fn policy() -> Policy {
    Policy::workspace(&[PathBuf::from("/w")], None, vec![PathBuf::from("/h")])
}

fn rule(facts: &Facts, policy: &Policy) -> String {
    match facts.choose(policy) {
        Err(ExecError::Unenforceable { rule, remedy, .. }) => {
            assert!(remedy.contains("bubblewrap"), "{remedy}");
            rule
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_strongest_level_is_taken() {
    let level = |facts: Facts| facts.choose(&policy()).expect("enforceable");
    assert_eq!(level(facts(true, 7, true)), Level::Bubblewrap);
    assert_eq!(level(facts(true, 0, false)), Level::Bubblewrap);
    assert_eq!(level(facts(false, 7, true)), Level::Landlock);
}

#[test]
fn no_level_is_no_run() {
    assert_eq!(rule(&facts(false, 0, true), &policy()), "a sandbox");
    let old = facts(false, LANDLOCK_ABI_MIN - 1, true);
    assert_eq!(rule(&old, &policy()), "a sandbox");
}

#[test]
fn landlock_alone_names_what_it_cannot_hold() {
    let alone = facts(false, 7, false);
    assert!(rule(&alone, &policy()).contains("/w/.git"));
    let mut bare = policy();
    bare.protected.clear();
    assert_eq!(alone.choose(&bare), Ok(Level::Landlock));
    bare.network = NetworkAccess::Proxy;
    assert!(
        rule(&alone, &bare).contains("proxy"),
        "never the host's network instead"
    );
    bare.network = NetworkAccess::Host;
    assert_eq!(alone.choose(&bare), Ok(Level::Landlock));
    bare.network = NetworkAccess::Off;
    bare.hidden = vec![PathBuf::from("/w/hob")];
    assert!(rule(&alone, &bare).contains("/w/hob"));
    bare.hidden = vec![PathBuf::from("/h")];
    bare.unix_sockets = true;
    assert!(rule(&alone, &bare).contains("sockets"));
}
