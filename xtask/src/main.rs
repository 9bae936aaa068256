//! Development commands of hob: checks, tests, fault tests, generated pages. Nothing here is
//! shipped.
//!
//! - [`tidy`]: the project's rules, one file each
//! - [`suite`]: `cargo xtask test`, every test of the project
//! - [`first_answer`]: the README's first command, as a newcomer types it
//! - [`dist`]: the packages; [`package_check`]: installs and removes them
//! - [`recording`]: the picture of the README, from a real session
//! - [`faults`]: the fault tests and the table of their figures
//! - [`sabotage`]: patches that break hob, so that a fault test can be seen to fail
//! - [`tools`]: programs beyond cargo that tests need
//! - [`workspace`], [`source`]: the project as data, for the rules
//! - [`shell`]: the one place that starts processes and prints

mod commands;
mod dist;
mod faults;
mod first_answer;
mod package_check;
mod recording;
mod sabotage;
mod shell;
mod source;
mod suite;
mod tidy;
mod tools;
mod workspace;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match commands::run(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            shell::warn(&format!("xtask: {error:#}"));
            ExitCode::FAILURE
        }
    }
}
