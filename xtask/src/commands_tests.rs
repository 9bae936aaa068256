//! The help names every command and fits a terminal.

use super::{COMMANDS, help, run};

#[test]
fn the_help_names_every_command_within_80_columns() {
    let help = help();
    for entry in COMMANDS {
        assert!(
            help.contains(&format!("  {}", entry.name)),
            "{}",
            entry.name
        );
    }
    assert!(
        help.lines().all(|line| line.chars().count() <= 80),
        "{help}"
    );
}

#[test]
fn an_unknown_command_is_refused_with_the_help() {
    let error = run(&["tidyy".to_owned()]).unwrap_err().to_string();
    assert!(
        error.contains("tidyy") && error.contains("faults"),
        "{error}"
    );
}
