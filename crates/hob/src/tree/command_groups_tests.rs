//! The main help page names every command once.

use super::*;
use crate::tree;

#[test]
fn every_visible_command_is_in_one_group() {
    let command = tree::command();
    let page = template(&command);
    for (name, _) in visible(&command) {
        let lines = page.lines().filter(|line| {
            let words = line.strip_prefix("  ").unwrap_or_default();
            words.split("  ").next() == Some(name.as_str())
        });
        assert_eq!(lines.count(), 1, "{name}:\n{page}");
    }
    let mut grouped: Vec<&str> = GROUPS
        .iter()
        .flat_map(|(_, group)| *group)
        .copied()
        .collect();
    let all = grouped.len();
    grouped.sort_unstable();
    grouped.dedup();
    assert_eq!(grouped.len(), all, "a command is in two groups");
}

#[test]
fn the_page_begins_with_three_commands_that_exist() {
    let page = template(&tree::command());
    let start = page.split("Start here:\n").nth(1).expect("the section");
    let lines: Vec<&str> = start.lines().take_while(|line| !line.is_empty()).collect();
    assert_eq!(lines.len(), FIRST_STEPS.len(), "{page}");
    for (line, _) in FIRST_STEPS {
        let name = line.split(' ').next().expect("a name");
        assert!(tree::command().find_subcommand(name).is_some(), "{name}");
    }
}
