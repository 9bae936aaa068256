//! The processes under test: a daemon in a home of its own, and the bare relay.

use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// A process that says on its first line where it listens, ended when dropped.
#[derive(Debug)]
pub(crate) struct Process {
    child: Child,
    pub(crate) address: String,
}

impl Process {
    fn start(command: &mut Command, prefix: &str) -> Result<Self> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let stdout = child.stdout.take().context("its standard output")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        let Some(address) = line.trim().strip_prefix(prefix).map(str::to_owned) else {
            let _ = child.kill();
            bail!("{command:?} said {line:?} instead of its address");
        };
        Ok(Process { child, address })
    }

    /// Resident memory now, in megabytes.
    pub(crate) fn memory_mb(&self) -> Result<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib: f64 = line
            .and_then(|line| line.trim().strip_suffix(" kB"))
            .context("VmRSS in /proc")?
            .parse()?;
        Ok(kib / 1_024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home with a daemon that can be started again and again.
#[derive(Debug)]
pub(crate) struct Home {
    dir: TempDir,
}

impl Home {
    pub(crate) fn new() -> Result<Self> {
        Ok(Home {
            dir: TempDir::new()?,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program under test is started here"
    )]
    pub(crate) fn start(&self) -> Result<Process> {
        let mut command = Command::new(beside("hob")?);
        command
            .args(["daemon", "--listen", "127.0.0.1:0"])
            .env("HOB_HOME", self.path())
            .env("HOB_AUTOSTART", "0");
        Process::start(&mut command, "HOB_LISTEN_ADDR=")
    }

    pub(crate) fn token(&self) -> Result<String> {
        let text = std::fs::read_to_string(self.path().join("owner.token"))?;
        Ok(text.trim().to_owned())
    }
}

/// The bare relay in a process of its own, as hob is.
#[expect(
    clippy::disallowed_methods,
    reason = "the yardstick is a process like what it measures"
)]
pub(crate) fn start_relay() -> Result<Process> {
    let mut command = Command::new(std::env::current_exe()?);
    Process::start(command.arg("relay"), "RELAY_ADDR=")
}

fn beside(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!(
            "{} is missing; run `cargo xtask bench`, which builds it",
            path.display()
        );
    }
    Ok(path)
}
