//! Processes that belong to the user and not to hob: tmux, and windows on the desktop. They have
//! their own process session and no shim, so they survive the daemon.
//!
//! Invariant: a detached process holds no descriptor of the daemon, reads `/dev/null`, and gets
//! only the variables of [`variables`].

#![expect(
    unsafe_code,
    reason = "a session of its own is begun between fork and exec; the one call states why it is sound"
)]

use crate::environment;
use hob_kit::host_environment::EnvVars;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// Variables beside [`environment::INHERITED`] through which the user's programs reach the desktop
/// and the SSH agent.
const DESKTOP: &[&str] = &[
    "COLORTERM",
    "DBUS_SESSION_BUS_ADDRESS",
    "DESKTOP_SESSION",
    "DISPLAY",
    "EDITOR",
    "PAGER",
    "SSH_AUTH_SOCK",
    "VISUAL",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
];
/// The prefix of variables that name the desktop and its directories.
const DESKTOP_PREFIX: &str = "XDG_";
/// The locale of text when the environment names none.
const LANGUAGE: (&str, &str) = ("LC_CTYPE", "C.UTF-8");
/// The time limit of a program that is run for its output.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// Returns the variables of a detached process.
pub fn variables(env: &EnvVars, added: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let own = |name: &&str| env.os(name).map(|value| ((*name).into(), value.to_owned()));
    let mut more: Vec<(OsString, OsString)> = DESKTOP.iter().filter_map(own).collect();
    let desktop = env.with_prefix(DESKTOP_PREFIX);
    more.extend(desktop.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let says_language = ["LANG", "LC_ALL", "LC_CTYPE"]
        .iter()
        .any(|name| env.os(name).is_some());
    // Without any of these, programs assume ASCII and damage other text.
    if !says_language {
        more.push((LANGUAGE.0.into(), LANGUAGE.1.into()));
    }
    more.extend(added.iter().cloned());
    environment::child_variables(env, &more)
}

/// Runs a short program and returns its output. Processes it leaves behind, such as the tmux
/// server, keep running.
pub(crate) async fn run_for_output(
    argv: &[OsString],
    folder: &Path,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<Output> {
    let mut command = command(argv, folder, variables)?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A timeout drops the future, and the program must not stay behind.
    let output = command.kill_on_drop(true).output();
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time");
    tokio::time::timeout(ANSWER_MAX, output)
        .await
        .map_err(late)?
}

/// Starts a program. Dropping the returned child leaves the program running; the runtime reaps it
/// when it ends.
pub fn start(
    argv: &[OsString],
    folder: &Path,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<tokio::process::Child> {
    let mut command = command(argv, folder, variables)?;
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn()
}

#[expect(
    clippy::disallowed_methods,
    reason = "what belongs to the person hangs on no shim"
)]
fn command(
    argv: &[OsString],
    folder: &Path,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<Command> {
    let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "no program is named");
    let (program, arguments) = argv.split_first().ok_or_else(nothing)?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(variables)
        .current_dir(folder)
        .stdin(Stdio::null());
    // SAFETY: between fork and exec only two system calls are made, which take no lock and allocate
    // nothing; a failed one is an error code.
    unsafe {
        command.pre_exec(|| {
            // A session of its own: signals to the daemon's group or terminal do not reach it.
            rustix::process::setsid()?;
            crate::shim::close_on_exec()
        });
    }
    Ok(command)
}

#[cfg(test)]
#[path = "detached_tests.rs"]
mod tests;
