//! Which level a policy gets, and which rule is named when there is none.

use super::*;

fn facts(bubblewrap: bool, landlock_abi: i32, namespaces: bool) -> SandboxSupport {
    SandboxSupport {
        bubblewrap: bubblewrap.then(|| PathBuf::from("/usr/bin/bwrap")),
        bubblewrap_problem: (!bubblewrap).then(|| "it is not installed.".to_owned()),
        landlock_abi,
        namespaces,
        processes: ProcessLimiter::Rlimit,
    }
}

fn refusal(facts: &SandboxSupport) -> (String, String) {
    match facts.require_level() {
        Err(ExecError::Unenforceable { rule, remedy, .. }) => {
            assert!(remedy.contains("apt install bubblewrap"), "{remedy}");
            (rule, remedy)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_strongest_level_is_taken() {
    let level = |facts: SandboxSupport| facts.require_level().expect("enforceable");
    assert_eq!(level(facts(true, 7, true)), SandboxLevel::Bubblewrap);
    assert_eq!(level(facts(true, 0, false)), SandboxLevel::Bubblewrap);
    assert_eq!(level(facts(false, 7, true)), SandboxLevel::Landlock);
}

#[test]
fn no_level_is_no_run() {
    assert_eq!(refusal(&facts(false, 0, true)).0, "a sandbox");
    let old = facts(false, LANDLOCK_ABI_MIN - 1, true);
    assert_eq!(refusal(&old).0, "a sandbox");
}

#[test]
fn landlock_without_read_only_mounts_is_refused() {
    let alone = facts(false, 7, false);
    assert_eq!(alone.level(), SandboxLevel::None);
    let (rule, remedy) = refusal(&alone);
    assert!(rule.contains("modes and times"), "{rule}");
    assert!(remedy.contains("namespaces"), "{remedy}");
}
