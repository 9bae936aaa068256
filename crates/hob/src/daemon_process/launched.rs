//! The daemon in place of another system's: that system's launcher starts it, with variables of its
//! own, and looks for the address in what hob prints or in a file.
//!
//! Invariants: nothing here happens unless the launcher's variable is set. The file is written
//! whole, never through a link, and removed only if it still has what was written.

use anyhow::Context;
use hob_gateway::Gateway;
use hob_gateway::dialect::{DialectEntry, LauncherVariables};
use hob_kit::host_environment::EnvVars;
use rustix::fs::{AtFlags, Mode, OFlags};
use std::fs::File;
use std::io::{self, IsTerminal, Read, Write};
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Maximum bytes of the file when it is compared; a port has five digits.
const PORT_FILE_BYTES_MAX: u64 = 64;

/// Returns true if a launcher started hob without arguments, to be its daemon. A person who typed
/// `hob` has a terminal.
pub fn is_launched(env: &EnvVars) -> bool {
    launchers(env).next().is_some() && !io::stdin().is_terminal()
}

/// Refuses to start with a variable that would mean something else to hob.
pub(super) fn check_variables(env: &EnvVars) -> anyhow::Result<()> {
    for (_, launcher) in launchers(env) {
        let mut refused = launcher.refused.iter();
        if let Some(variable) = refused.find(|variable| env.os(variable.name).is_some()) {
            anyhow::bail!(
                "{} is set, and hob does not follow it: {}.",
                variable.name,
                variable.advice
            );
        }
    }
    Ok(())
}

/// Writes the port files and returns the lines for the launchers.
pub(super) fn announce(env: &EnvVars, gateway: &Gateway) -> String {
    let mut lines = String::new();
    for (launcher, address) in announced(env, gateway) {
        lines.extend([launcher.announced, "=", &address.to_string(), "\n"]);
        let Some(path) = port_file(env, &launcher) else {
            continue;
        };
        // The launcher has the address from stdout, so a failure is not the end.
        if let Err(failure) = write(&path, &address.port().to_string()) {
            tracing::warn!("'{}' cannot be written: {failure:#}", path.display());
        }
    }
    lines
}

/// Removes the port files, unless another daemon has replaced them.
pub(super) fn remove_port_files(env: &EnvVars, gateway: &Gateway) {
    for (launcher, address) in announced(env, gateway) {
        if let Some(path) = port_file(env, &launcher) {
            // A file that stays names a port on which nobody answers; the next start replaces it.
            let _ = remove(&path, &address.port().to_string());
        }
    }
}

/// The dialects whose launcher started hob.
fn launchers(
    env: &EnvVars,
) -> impl Iterator<Item = (&'static DialectEntry, LauncherVariables)> + '_ {
    let dialects = hob_dialects::all().iter();
    let launchers = dialects.filter_map(|dialect| Some((dialect, dialect.launcher?)));
    launchers.filter(|(_, launcher)| env.text(launcher.listen).is_some())
}

/// The launchers with the addresses of their listeners.
fn announced<'e>(
    env: &'e EnvVars,
    gateway: &'e Gateway,
) -> impl Iterator<Item = (LauncherVariables, SocketAddr)> + 'e {
    launchers(env).filter_map(|(dialect, launcher)| {
        let place = gateway.opt_in_place(dialect.surface)?;
        Some((launcher, place.parse().ok()?))
    })
}

fn port_file(env: &EnvVars, launcher: &LauncherVariables) -> Option<PathBuf> {
    let home = env.os("HOME").map(Path::new)?;
    home.is_absolute()
        .then(|| launcher.port_file.map(|path| home.join(path)))
        .flatten()
}

/// Replaces the file. Its folder is opened once and not through a link, and the name is replaced
/// by a rename, which follows none.
fn write(path: &Path, content: &str) -> anyhow::Result<()> {
    let (folder, name) = folder_and_name(path)?;
    match std::fs::DirBuilder::new().create(folder) {
        Err(failure) if failure.kind() != io::ErrorKind::AlreadyExists => {
            return Err(failure).context("its folder cannot be created");
        }
        _ => {}
    }
    let folder = open_folder(folder)?;
    let draft = format!(".{name}.{}.draft", std::process::id());
    // A draft left by a crash of a process with the same pid is ours to remove.
    let _ = rustix::fs::unlinkat(&folder, &draft, AtFlags::empty());
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, &draft, flags, Mode::RUSR | Mode::WUSR)?;
    let written = File::from(file)
        .write_all(content.as_bytes())
        .and_then(|()| Ok(rustix::fs::renameat(&folder, &draft, &folder, name)?));
    if written.is_err() {
        let _ = rustix::fs::unlinkat(&folder, &draft, AtFlags::empty());
    }
    Ok(written?)
}

fn remove(path: &Path, ours: &str) -> anyhow::Result<()> {
    let (folder, name) = folder_and_name(path)?;
    let folder = open_folder(folder)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat(&folder, name, flags, Mode::empty())?;
    let mut found = String::new();
    File::from(file)
        .take(PORT_FILE_BYTES_MAX)
        .read_to_string(&mut found)?;
    if found == ours {
        rustix::fs::unlinkat(&folder, name, AtFlags::empty())?;
    }
    Ok(())
}

fn folder_and_name(path: &Path) -> anyhow::Result<(&Path, &str)> {
    let parts = path
        .parent()
        .zip(path.file_name().and_then(|name| name.to_str()));
    parts.context("it has no folder")
}

fn open_folder(folder: &Path) -> anyhow::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(folder, flags, Mode::empty())
        .context("its folder is a link or cannot be opened")
}
