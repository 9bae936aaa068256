//! Processes that are the person's and not hob's: tmux, and the windows of their desktop. They have
//! a process session of their own and no shim, so they live on when the daemon is gone.
//!
//! Invariant: such a process holds no descriptor of the daemon's, has `/dev/null` for input and
//! errors, and the variables of [`variables`] only.

#![expect(
    unsafe_code,
    reason = "a session of its own is begun between fork and exec; the one call states why it is sound"
)]

use crate::environment;
use hob_kit::world::Env;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{Output, Stdio};
use std::time::Duration;
use tokio::process::Command;

/// What passes beside [`environment::PASSED`]: how a person's programs reach their desktop and
/// their keys.
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
/// Where the directories of the desktop are, and what desktop it is.
const DESKTOP_PREFIX: &str = "XDG_";
/// What a person's text is read as when nothing says so.
const LANGUAGE: (&str, &str) = ("LC_CTYPE", "C.UTF-8");
/// How long a program that only answers may take.
const ANSWER_MAX: Duration = Duration::from_secs(10);

/// The variables of a process of the person's.
pub fn variables(env: &Env, added: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let own = |name: &&str| env.os(name).map(|value| ((*name).into(), value.to_owned()));
    let mut more: Vec<(OsString, OsString)> = DESKTOP.iter().filter_map(own).collect();
    let desktop = env.beginning_with(DESKTOP_PREFIX);
    more.extend(desktop.map(|(name, value)| (name.to_owned(), value.to_owned())));
    let says_language = ["LANG", "LC_ALL", "LC_CTYPE"]
        .iter()
        .any(|name| env.os(name).is_some());
    if !says_language {
        more.push((LANGUAGE.0.into(), LANGUAGE.1.into()));
    }
    more.extend(added.iter().cloned());
    environment::of_child(env, &more)
}

/// What a short program answers. What it leaves running, as tmux does its server, runs on.
pub(crate) async fn answer(
    argv: &[OsString],
    folder: &Path,
    variables: Vec<(OsString, OsString)>,
) -> io::Result<Output> {
    let mut command = command(argv, folder, variables)?;
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = command.kill_on_drop(true).output();
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, "it did not answer in time");
    tokio::time::timeout(ANSWER_MAX, output)
        .await
        .map_err(late)?
}

/// Starts a program and leaves it alone; its process. Whoever drops that leaves it running, and
/// the runtime notices its end.
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
            rustix::process::setsid()?;
            crate::shim::close_on_exec()
        });
    }
    Ok(command)
}

#[cfg(test)]
#[path = "detached_tests.rs"]
mod tests;
