//! Processes, environment and output of xtask. Nothing else here starts a process or prints.

use anyhow::{Context, Result, bail};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's root: where the workspace's `Cargo.toml` lies.
pub(crate) fn root() -> PathBuf {
    // Cargo says where it runs us; a binary started by itself remembers where it was built.
    let here = env("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").to_owned());
    let here = Path::new(&here);
    here.parent().unwrap_or(here).to_owned()
}

/// Prints a line.
#[expect(clippy::print_stdout, reason = "xtask prints to a terminal")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Prints a line about a problem.
#[expect(clippy::print_stderr, reason = "xtask prints to a terminal")]
pub(crate) fn warn(line: &str) {
    eprintln!("{line}");
}

/// Prints a headline before a long step.
pub(crate) fn step(name: &str) {
    say(&format!("── {name}"));
}

/// The value of an environment variable, if it is set and not empty.
#[expect(clippy::disallowed_methods, reason = "xtask is a program of its own")]
pub(crate) fn env(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// The names of the environment's variables, those that are text.
pub(crate) fn names() -> Vec<String> {
    let names = std::env::vars_os().map(|(name, _)| name.into_string());
    names.filter_map(Result::ok).collect()
}

/// True in CI, where a missing tool is a failure.
pub(crate) fn in_ci() -> bool {
    env("CI").is_some_and(|value| value == "true" || value == "1")
}

/// Cargo, run in the project's root.
pub(crate) fn cargo() -> Command {
    program(env("CARGO").unwrap_or_else(|| "cargo".to_owned()))
}

/// Any program, run in the project's root.
#[expect(
    clippy::disallowed_methods,
    reason = "xtask is not part of hob: it drives cargo and package tools"
)]
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    command.current_dir(root());
    command
}

/// Runs a command with our own output; returns whether it succeeded.
pub(crate) fn succeeds(command: &mut Command) -> Result<bool> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {}", command.get_program().display()))?;
    Ok(status.success())
}

/// Runs a command without output; false if it fails or does not exist.
pub(crate) fn quietly(command: &mut Command) -> bool {
    let silent = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    silent.status().is_ok_and(|status| status.success())
}

/// Runs a command and returns what it printed.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let name = command.get_program().display().to_string();
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    if !output.status.success() {
        bail!("{name} failed: {}", output.status);
    }
    String::from_utf8(output.stdout).with_context(|| format!("{name} printed no UTF-8"))
}
