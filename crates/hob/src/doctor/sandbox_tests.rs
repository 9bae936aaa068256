//! What each machine is told.

use super::*;

fn facts() -> Facts {
    Facts {
        bubblewrap: None,
        bubblewrap_problem: Some("it is not installed.".to_owned()),
        landlock_abi: 7,
        namespaces: true,
        processes: Bound::Rlimit,
    }
}

#[test]
fn the_strongest_is_well_and_each_step_down_says_more() {
    let mut found = facts();
    found.bubblewrap = Some("/usr/bin/bwrap".into());
    assert_eq!(judge(&found).level, Level::Well);
    found.bubblewrap = None;
    assert_eq!(judge(&found).level, Level::Note);
    found.namespaces = false;
    let alone = judge(&found);
    assert_eq!(alone.level, Level::Warning);
    assert!(alone.message.contains("refuses"), "{}", alone.message);
    assert!(alone.fix.unwrap_or_default().contains("namespaces"));
    found.landlock_abi = 0;
    let none = judge(&found);
    assert_eq!(none.level, Level::Warning);
    assert!(none.message.contains("refuses"), "{}", none.message);
    let fix = none.fix.unwrap_or_default();
    assert!(fix.contains("apt install bubblewrap"), "{fix}");
}
