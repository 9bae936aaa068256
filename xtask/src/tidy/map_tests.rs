//! The map rule fires on a crate that is missing and on a map too long to read.

use super::{MAP_LINES_MAX, check};
use crate::tidy::fixtures::{member, page, workspace};

fn found(map: &str) -> usize {
    let world = workspace(vec![member("hob-bus", "core", &[])]);
    check(&world, &[page("ARCHITECTURE.md", map)]).len()
}

#[test]
fn a_short_whole_map_passes() {
    assert_eq!(found("| core | `hob-bus` | the router |\n"), 0);
}

#[test]
fn a_missing_crate_or_a_long_map_is_found() {
    assert_eq!(found("hob-bus, without its mark\n"), 1);
    assert_eq!(
        found(&format!("`hob-bus`\n{}", "a\n".repeat(MAP_LINES_MAX))),
        1
    );
}
