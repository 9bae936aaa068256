//! The README's first command, exactly as a newcomer types it: an empty home, no key, no account.
//! It builds hob as it is shipped, has the local model installed and must end in an answer that the
//! model knows.

use crate::shell;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// Asks for it where `CI` is not set.
pub(crate) const FLAG: &str = "--first-answer";

const COMMAND: &[&str] = &[
    "run",
    "--release",
    "--",
    "ask",
    "--yes",
    "What is the capital of France?",
];
const KNOWN: &str = "Paris";

/// Whether these arguments or the surroundings want it, and the arguments without its flag.
pub(crate) fn wanted(arguments: &[String]) -> (bool, Vec<String>) {
    let mut rest = arguments.to_vec();
    rest.retain(|argument| argument != FLAG);
    (rest.len() < arguments.len() || shell::in_ci(), rest)
}

pub(crate) fn run(target: &Path) -> Result<bool> {
    shell::step("first answer");
    let home = target.join("first-answer");
    let _ = std::fs::remove_dir_all(&home);
    let answer = shell::output(in_home(shell::cargo().args(COMMAND), &home));
    // The daemon it started would live on.
    let hob = target.join("release/hob");
    let stopped = shell::quietly(in_home(shell::program(hob).arg("down"), &home));
    let answer = answer.context("the README's first command failed")?;
    shell::say(answer.trim());
    if !answer.contains(KNOWN) {
        shell::warn(&format!("no {KNOWN} in the answer"));
    }
    if !stopped {
        shell::warn("the daemon did not stop");
    }
    let _ = std::fs::remove_dir_all(&home);
    Ok(answer.contains(KNOWN) && stopped)
}

/// An empty home, and nothing in the environment that could answer instead.
fn in_home<'c>(command: &'c mut Command, home: &Path) -> &'c mut Command {
    for name in shell::names() {
        if name.ends_with("_API_KEY") || name.starts_with("HOB_") {
            command.env_remove(name);
        }
    }
    command.env("HOB_HOME", home)
}
