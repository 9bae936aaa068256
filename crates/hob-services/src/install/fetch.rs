//! Downloads one file by name with the user's own package client. The user's configuration of it
//! (mirror, proxy, certificates) applies.
//!
//! Invariant: the downloaded file is used only after its size and checksum were compared.

use super::error::InstallError;
use super::programs::ISOLATED;
use super::recipe::{PackageClient, PackageFetch};
use super::site::measure;
use hob_exec::shim_protocol::ExitCause;
use hob_exec::{Child, ChildExit, SandboxMode, SpawnPlan, Spawner};
use hob_kit::host_environment::EnvVars;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

const DEADLINE: Duration = Duration::from_hours(2);
/// The interval of progress checks.
const LOOK_INTERVAL: Duration = Duration::from_millis(150);
const REASON: &str = "a package client fetches what a person asked to install";
const REQUIREMENTS: &str = "requirements.txt";
/// The longest quote of the client's last output.
const COMPLAINT_CHARS_MAX: usize = 600;
const LINES_MAX: usize = 6;

/// Prefixes of variables that configure a package client.
const PASSED_PREFIXES: &[&str] = &["PIP_", "NPM_CONFIG_", "npm_config_"];
/// Variables for proxies, certificates and configuration that the clients read.
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

/// Runs a package client in a folder.
pub(crate) struct PackageFetcher<'a> {
    pub(crate) spawner: &'a Spawner,
    pub(crate) env: &'a EnvVars,
    /// An empty folder, which then contains the file.
    pub(crate) folder: &'a Path,
    pub(crate) stop: &'a CancellationToken,
}

impl PackageFetcher<'_> {
    /// Downloads one file and reports the received bytes.
    pub(crate) async fn fetch(
        &self,
        fetch: &PackageFetch,
        report_bytes: impl Fn(u64),
    ) -> Result<(), InstallError> {
        let failed = |error| InstallError::of_program(&fetch.name, &fetch.version, &error);
        if let PackageClient::Pip { .. } = fetch.client {
            let list = self.folder.join(REQUIREMENTS);
            fs::write(&list, requirement_line(fetch))
                .map_err(|error| InstallError::at(&list, &error))?;
        }
        let child = self.spawner.spawn(self.plan(fetch)).await.map_err(failed)?;
        let exit = self.watch(&child, fetch, report_bytes).await?;
        if exit.is_success() {
            return Ok(());
        }
        Err(explain_failure(fetch, &exit))
    }

    async fn watch(
        &self,
        child: &Child,
        fetch: &PackageFetch,
        report_bytes: impl Fn(u64),
    ) -> Result<std::sync::Arc<ChildExit>, InstallError> {
        let failed = |error| InstallError::of_program(&fetch.name, &fetch.version, &error);
        let mut checks = tokio::time::interval(LOOK_INTERVAL);
        loop {
            tokio::select! {
                exit = child.wait() => return exit.map_err(failed),
                () = self.stop.cancelled() => {
                    // Waits for the end, because the next attempt uses the same folder.
                    child.cancel().await.map_err(failed)?;
                    return Err(InstallError::Stopped);
                }
                _ = checks.tick() => report_bytes(largest_file_bytes(self.folder).min(fetch.bytes)),
            }
        }
    }

    fn plan(&self, fetch: &PackageFetch) -> SpawnPlan {
        let walls = SandboxMode::Unsandboxed { reason: REASON };
        let mut plan = SpawnPlan::new(command(fetch, self.folder), self.folder.to_owned(), walls);
        plan.deadline = Some(DEADLINE);
        let named = PASSED.iter().filter_map(|name| {
            let value = self.env.os(name)?;
            Some((OsString::from(name), value.to_owned()))
        });
        let prefixed = PASSED_PREFIXES
            .iter()
            .flat_map(|prefix| self.env.with_prefix(prefix));
        let prefixed = prefixed.map(|(name, value)| (name.to_owned(), value.to_owned()));
        plan.env = named.chain(prefixed).collect();
        // The client's temporary files go to the disk whose free space was checked, and there they
        // also show the progress.
        plan.env.push(("TMPDIR".into(), self.folder.into()));
        plan
    }
}

/// The command that downloads a file into `folder`, where it also runs.
pub(crate) fn command(fetch: &PackageFetch, folder: &Path) -> Vec<OsString> {
    let words = |words: &[&str]| words.iter().map(OsString::from).collect::<Vec<_>>();
    match &fetch.client {
        PackageClient::Pip { python } => {
            let mut argv = vec![python.clone().into_os_string()];
            // Exactly the file of the recipe: no dependencies, and no source packages, whose build
            // would run code.
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
        PackageClient::Npm { npm } => {
            let mut argv = vec![npm.clone().into_os_string()];
            argv.extend(words(&[
                "pack",
                &format!("{}@{}", fetch.name, fetch.version),
                // The package is not verified yet, so its scripts must not run.
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

/// The line of pip's requirements file: one version with one checksum.
pub(crate) fn requirement_line(fetch: &PackageFetch) -> String {
    format!(
        "{}=={} --hash=sha256:{}\n",
        fetch.name, fetch.version, fetch.sha256
    )
}

/// Explains the failure of a client, followed by the client's own last lines.
fn explain_failure(fetch: &PackageFetch, exit: &ChildExit) -> InstallError {
    let output = format!("{}\n{}", exit.stdout.text(), exit.stderr.text());
    // The clients report errors only as text, so known phrases are matched.
    if output.contains("No space left on device") || output.contains("ENOSPC") {
        return InstallError::Full;
    }
    let client = match fetch.client {
        PackageClient::Pip { .. } => "pip",
        PackageClient::Npm { .. } => "npm",
    };
    if output.contains("DO NOT MATCH THE HASHES") || output.contains("EINTEGRITY") {
        return InstallError::Wrong {
            file: fetch.file.clone(),
            what: format!("{client} says that its checksum differs"),
        };
    }
    let explanation = if exit.cause == ExitCause::Deadline {
        format!(
            "{client} took longer than {} hours",
            DEADLINE.as_secs() / 3_600
        )
    } else {
        format!(
            "{client} could not download it; check that this machine reaches its package server, then install it again"
        )
    };
    let quoted = last_lines(&output);
    let why = if quoted.is_empty() {
        format!("{explanation}.")
    } else {
        format!("{explanation}. It said: {quoted}")
    };
    InstallError::Fetch {
        name: fetch.name.clone(),
        version: fetch.version.clone(),
        why,
    }
}

/// Returns the last non-empty lines.
fn last_lines(output: &str) -> String {
    let mut lines: Vec<&str> = output.lines().map(str::trim).collect();
    lines.retain(|line| !line.is_empty() && !line.starts_with("[notice]"));
    let from = lines.len().saturating_sub(LINES_MAX);
    let text = lines[from..].join(" / ");
    let letters = text.chars().count();
    text.chars()
        .skip(letters.saturating_sub(COMPLAINT_CHARS_MAX))
        .collect()
}

/// The size of the largest file or folder that is being written. Clients also write a copy for
/// their cache, which must not count twice.
fn largest_file_bytes(folder: &Path) -> u64 {
    fn walk(folder: &Path, depth: usize) -> u64 {
        let Ok(entries) = fs::read_dir(folder) else {
            return 0;
        };
        let entries = entries.filter_map(Result::ok);
        let quoted = entries.filter(|entry| entry.file_name() != REQUIREMENTS);
        let sizes = quoted.map(|entry| {
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
