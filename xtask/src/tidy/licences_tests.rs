//! The licence rule fires on what may not be shipped, and on two versions of one crate.

use super::{check, is_permissive};
use crate::tidy::fixtures::{package, workspace};

#[test]
fn expressions_are_read_as_they_are_meant() {
    for permissive in [
        "MIT",
        "MIT OR Apache-2.0",
        "MIT/Apache-2.0",
        "MIT OR LGPL-2.1-or-later",
        "Apache-2.0 WITH LLVM-exception",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "MIT AND BSD-3-Clause",
    ] {
        assert!(is_permissive(permissive), "{permissive}");
    }
    for other in [
        "",
        "GPL-3.0-only",
        "MIT AND GPL-3.0",
        "(MIT OR Apache-2.0) AND AGPL-3.0",
        "MPL-2.0 OR LGPL-2.1",
        "(MIT",
        "MIT MIT",
    ] {
        assert!(!is_permissive(other), "{other}");
    }
}

#[test]
fn a_crate_that_may_not_be_shipped_is_found() {
    let mut world = workspace(Vec::new());
    world.packages = vec![
        package("free", "1.0.0", "MIT"),
        package("bound", "1.0.0", "GPL-3.0"),
    ];
    let found = check(&world);
    assert_eq!(found.len(), 1);
    assert!(found[0].what.contains("`bound` 1.0.0"));
}

#[test]
fn two_versions_of_one_crate_are_found() {
    let mut world = workspace(Vec::new());
    world.packages = vec![
        package("rusqlite", "0.41.1", "MIT"),
        package("rusqlite", "0.39.0", "MIT"),
        package("syn", "2.0.0", "MIT"),
        package("syn", "3.0.0", "MIT"),
    ];
    let found = check(&world);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "`rusqlite` is there as 0.41.1 and 0.39.0");
}
