//! The README's first command and its install line, as a newcomer types it: an empty home, no key, no account. It builds
//! hob as it is shipped, installs the local model and must end with an answer of that model.

use crate::shell;
use anyhow::{Context, Result};
use std::path::Path;
use std::process::Command;

/// The flag that asks for this step outside CI.
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

/// Returns whether the arguments or CI ask for this step, and the arguments without its flag.
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
    // The daemon that the answer started keeps running otherwise.
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
    Ok(answer.contains(KNOWN) && stopped && installs(target)?)
}

/// Runs the README's install line. It finds everything built by the first command.
fn installs(target: &Path) -> Result<bool> {
    let root = target.join("installed");
    let mut install = shell::cargo();
    install.args([
        "install",
        "--quiet",
        "--locked",
        "--force",
        "--path",
        "crates/hob",
        "--root",
    ]);
    let installed = shell::succeeds(install.arg(&root))?;
    let answers = installed && shell::quietly(shell::program(root.join("bin/hob")).arg("version"));
    let _ = std::fs::remove_dir_all(&root);
    if !answers {
        shell::warn("the README's install line failed");
    }
    Ok(answers)
}

/// Sets an empty home and removes provider keys from the environment, so that only the local
/// model can answer.
fn in_home<'c>(command: &'c mut Command, home: &Path) -> &'c mut Command {
    for name in shell::names() {
        if name.ends_with("_API_KEY") || name.starts_with("HOB_") {
            command.env_remove(name);
        }
    }
    command.env("HOB_HOME", home)
}
