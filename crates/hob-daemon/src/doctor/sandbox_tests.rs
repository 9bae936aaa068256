//! What each machine is told.

use super::*;

fn facts() -> SandboxSupport {
    SandboxSupport {
        bubblewrap: None,
        bubblewrap_problem: Some("it is not installed.".to_owned()),
        landlock_abi: 7,
        namespaces: true,
        processes: ProcessLimiter::Rlimit,
    }
}

#[test]
fn the_strongest_is_well_and_each_step_down_says_more() {
    let mut found = facts();
    found.bubblewrap = Some("/usr/bin/bwrap".into());
    assert_eq!(sandbox_finding(&found).level, FindingLevel::Well);
    found.bubblewrap = None;
    assert_eq!(sandbox_finding(&found).level, FindingLevel::Note);
    found.namespaces = false;
    let alone = sandbox_finding(&found);
    assert_eq!(alone.level, FindingLevel::Warning);
    assert!(alone.message.contains("refuses"), "{}", alone.message);
    assert!(alone.fix.unwrap_or_default().contains("namespaces"));
    found.landlock_abi = 0;
    let none = sandbox_finding(&found);
    assert_eq!(none.level, FindingLevel::Warning);
    assert!(none.message.contains("refuses"), "{}", none.message);
    let fix = none.fix.unwrap_or_default();
    assert!(fix.contains("apt install bubblewrap"), "{fix}");
}
