//! Letting a package client of the person's own fetch one file by name. Their configuration of it
//! (a mirror, a proxy, certificates) holds here too.
//!
//! Invariant: what the client leaves is trusted only after its size and checksum were compared.

use super::error::InstallError;
use super::programs::ISOLATED;
use super::recipe::{Fetch, Fetcher};
use super::site::measure;
use hob_exec::order::Cause;
use hob_exec::{Child, Exit, Plan, Spawner, Walls};
use hob_kit::world::Env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_hours(2);
/// How often it is looked how much has come.
const LOOK: Duration = Duration::from_millis(150);
const REASON: &str = "a package client fetches what a person asked to install";
const REQUIREMENTS: &str = "requirements.txt";
/// Of what the client said last.
const WORDS_MAX: usize = 600;
const LINES_MAX: usize = 6;

/// Variables that configure a package client, by how they begin.
const PASSED_PREFIXES: &[&str] = &["PIP_", "NPM_CONFIG_", "npm_config_"];
/// Ways out and certificates, as the clients read them.
const PASSED: &[&str] = &[
    "ALL_PROXY",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "NODE_EXTRA_CA_CERTS",
    "NO_PROXY",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "all_proxy",
    "http_proxy",
    "https_proxy",
    "no_proxy",
];

/// What fetching needs.
pub(crate) struct Client<'a> {
    pub(crate) spawner: &'a Spawner,
    pub(crate) env: &'a Env,
    /// An empty folder; the file is in it afterwards.
    pub(crate) folder: &'a Path,
    pub(crate) stop: &'a CancellationToken,
}

impl Client<'_> {
    /// Fetches one file, telling how many bytes have come.
    pub(crate) async fn fetch(
        &self,
        fetch: &Fetch,
        tell: impl Fn(u64),
    ) -> Result<(), InstallError> {
        let failed = |error| InstallError::of_program(&fetch.name, &fetch.version, &error);
        if let Fetcher::Pip { .. } = fetch.by {
            let list = self.folder.join(REQUIREMENTS);
            fs::write(&list, requirement(fetch))
                .map_err(|error| InstallError::at(&list, &error))?;
        }
        let child = self.spawner.spawn(self.plan(fetch)).await.map_err(failed)?;
        let exit = self.watch(&child, fetch, tell).await?;
        if exit.is_success() {
            return Ok(());
        }
        Err(refusal(fetch, &exit))
    }

    async fn watch(
        &self,
        child: &Child,
        fetch: &Fetch,
        tell: impl Fn(u64),
    ) -> Result<std::sync::Arc<Exit>, InstallError> {
        let failed = |error| InstallError::of_program(&fetch.name, &fetch.version, &error);
        let mut looks = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                exit = child.wait() => return exit.map_err(failed),
                () = self.stop.cancelled() => {
                    // Nothing of it may still be writing when its folder is used again.
                    child.cancel().await.map_err(failed)?;
                    return Err(InstallError::Stopped);
                }
                _ = looks.tick() => tell(largest(self.folder).min(fetch.bytes)),
            }
        }
    }

    fn plan(&self, fetch: &Fetch) -> Plan {
        let walls = Walls::Unsandboxed { reason: REASON };
        let mut plan = Plan::new(command(fetch, self.folder), self.folder.to_owned(), walls);
        plan.deadline = Some(DEADLINE);
        let named = PASSED.iter().filter_map(|name| {
            let value = self.env.os(name)?;
            Some((OsString::from(name), value.to_owned()))
        });
        let prefixed = PASSED_PREFIXES
            .iter()
            .flat_map(|prefix| self.env.beginning_with(prefix));
        let prefixed = prefixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        plan.env = named.chain(prefixed).collect();
        // On the disk whose room was looked at, where it can be seen growing.
        plan.env.push(("TMPDIR".into(), self.folder.into()));
        plan
    }
}

/// The command that fetches it into `folder`, which is also where it runs.
pub(crate) fn command(fetch: &Fetch, folder: &Path) -> Vec<OsString> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    match &fetch.by {
        Fetcher::Pip { python } => {
            let mut argv = vec![python.clone().into_os_string()];
            argv.extend(words(&[
                ISOLATED,
                "-m",
                "pip",
                "download",
                "--no-deps",
                "--require-hashes",
                "--only-binary=:all:",
                "--disable-pip-version-check",
                "--no-input",
                "--progress-bar=off",
                "-r",
                REQUIREMENTS,
                "-d",
            ]));
            argv.push(folder.into());
            argv
        }
        Fetcher::Npm { npm } => {
            let mut argv = vec![npm.clone().into_os_string()];
            argv.extend(words(&[
                "pack",
                &format!("{}@{}", fetch.name, fetch.version),
                "--ignore-scripts",
                "--no-update-notifier",
                "--loglevel=error",
                "--pack-destination",
            ]));
            argv.push(folder.into());
            argv
        }
    }
}

/// The line of pip's list: this version, and only with this checksum.
pub(crate) fn requirement(fetch: &Fetch) -> String {
    format!(
        "{}=={} --hash=sha256:{}\n",
        fetch.name, fetch.version, fetch.sha256
    )
}

/// What a client that failed means, in our words first and then in its own.
fn refusal(fetch: &Fetch, exit: &Exit) -> InstallError {
    let said = format!("{}\n{}", exit.stdout.text(), exit.stderr.text());
    if said.contains("No space left on device") || said.contains("ENOSPC") {
        return InstallError::Full;
    }
    let client = match fetch.by {
        Fetcher::Pip { .. } => "pip",
        Fetcher::Npm { .. } => "npm",
    };
    if said.contains("DO NOT MATCH THE HASHES") || said.contains("EINTEGRITY") {
        return InstallError::Wrong {
            file: fetch.file.clone(),
            what: format!("{client} says that its checksum differs"),
        };
    }
    let ours = if exit.cause == Cause::Deadline {
        format!(
            "{client} took longer than {} hours",
            DEADLINE.as_secs() / 3_600
        )
    } else {
        format!(
            "{client} could not get it; see whether this machine reaches its packages, then install it again"
        )
    };
    let theirs = last_words(&said);
    let why = if theirs.is_empty() {
        format!("{ours}.")
    } else {
        format!("{ours}. It said: {theirs}")
    };
    InstallError::Fetch {
        name: fetch.name.clone(),
        version: fetch.version.clone(),
        why,
    }
}

/// The last lines that say something.
fn last_words(said: &str) -> String {
    let mut lines: Vec<&str> = said.lines().map(str::trim).collect();
    lines.retain(|line| !line.is_empty() && !line.starts_with("[notice]"));
    let from = lines.len().saturating_sub(LINES_MAX);
    let text = lines[from..].join(" / ");
    let letters = text.chars().count();
    text.chars()
        .skip(letters.saturating_sub(WORDS_MAX))
        .collect()
}

/// The size of the largest thing that is being written: clients write a copy for their cache
/// beside the file itself, which must not count twice.
fn largest(folder: &Path) -> u64 {
    fn walk(folder: &Path, depth: usize) -> u64 {
        let Ok(entries) = fs::read_dir(folder) else {
            return 0;
        };
        let entries = entries.filter_map(Result::ok);
        let theirs = entries.filter(|entry| entry.file_name() != REQUIREMENTS);
        let sizes = theirs.map(|entry| {
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_folder && depth > 0 {
                walk(&entry.path(), depth - 1)
            } else {
                measure(&entry.path(), 0)
            }
        });
        sizes.max().unwrap_or(0)
    }
    walk(folder, 4)
}

#[cfg(test)]
#[path = "fetch_tests.rs"]
mod tests;
