//! The processes under test: a daemon in a home of its own, the bare relay, and the scripted
//! model server that both sides of a comparison ask.

use crate::peer::BusPeer;
use anyhow::{Context, Result, bail};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// The kernel's unit of processor time.
const TICK: Duration = Duration::from_millis(10);

/// A process that prints its address on its first lines. Dropping it ends the process.
#[derive(Debug)]
pub(crate) struct ServerProcess {
    child: Child,
    pub(crate) address: String,
}

impl ServerProcess {
    fn start(command: &mut Command, prefix: &str) -> Result<Self> {
        let (mut process, mut said) = ServerProcess::start_saying(command, &[prefix])?;
        process.address = said.pop().unwrap_or_default();
        Ok(process)
    }

    /// Starts the process and reads lines until each prefix was seen. Returns the rest of those lines.
    fn start_saying(command: &mut Command, beginnings: &[&str]) -> Result<(Self, Vec<String>)> {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("start {command:?}"))?;
        let stdout = child.stdout.take().context("its standard output")?;
        let process = ServerProcess {
            child,
            address: String::new(),
        };
        let mut lines = BufReader::new(stdout).lines();
        let mut said = Vec::new();
        for beginning in beginnings {
            loop {
                let Some(line) = lines.next().transpose()? else {
                    bail!("{command:?} never said {beginning:?}");
                };
                if let Some(end) = line.trim().strip_prefix(beginning) {
                    said.push(end.to_owned());
                    break;
                }
            }
        }
        Ok((process, said))
    }

    /// Processor time so far.
    pub(crate) fn processor(&self) -> Result<Duration> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        // The name before them may hold anything but ends with the last bracket.
        let fields = stat.rsplit_once(')').context("a name in /proc")?.1;
        let mut fields = fields.split_ascii_whitespace().skip(11);
        let mut ticks = || -> Result<u64> { Ok(fields.next().context("ticks")?.parse()?) };
        Ok(TICK * u32::try_from(ticks()? + ticks()?)?)
    }

    /// Memory of this process and the `hob shim`s below it, shared pages by halves, in megabytes.
    pub(crate) fn memory_with_shims_mb(&self) -> Result<f64> {
        let me = self.child.id();
        let mut kib = proportional_kib(me)?;
        for task in std::fs::read_dir(format!("/proc/{me}/task"))? {
            let children = std::fs::read_to_string(task?.path().join("children"))?;
            for child in children.split_ascii_whitespace() {
                kib += proportional_kib(child.parse()?)?;
            }
        }
        Ok(kib / 1_024.0)
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

impl Drop for ServerProcess {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A home directory whose daemon can be started repeatedly.
#[derive(Debug)]
pub(crate) struct BenchHome {
    dir: TempDir,
}

impl BenchHome {
    pub(crate) fn new() -> Result<Self> {
        Ok(BenchHome {
            dir: TempDir::new()?,
        })
    }

    /// A home whose daemon asks a scripted model by default.
    pub(crate) fn asking(sim: &SimProcess, settings: &str) -> Result<Self> {
        let home = BenchHome::new()?;
        home.point_at(sim, settings)?;
        Ok(home)
    }

    /// Writes the config anew, for the next start.
    pub(crate) fn point_at(&self, sim: &SimProcess, settings: &str) -> Result<()> {
        let config = format!(
            "{settings}[model]\ndefault = [\"sim/sim-small\"]\n\
             [models.sim]\nkind = \"openai\"\nurl = \"http://{}/v1\"\n",
            sim.process.address
        );
        let path = self.path().join("config.toml");
        std::fs::write(&path, config).with_context(|| path.display().to_string())
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the program under test is started here"
    )]
    pub(crate) fn start(&self) -> Result<ServerProcess> {
        let mut command = Command::new(sibling_binary("hob")?);
        command
            .args(["daemon", "--listen", "127.0.0.1:0"])
            .env("HOB_HOME", self.path())
            .env("HOB_AUTOSTART", "0");
        ServerProcess::start(&mut command, "HOB_LISTEN_ADDR=")
    }

    /// A client of the daemon of this home.
    pub(crate) async fn connect(&self, daemon: &ServerProcess) -> Result<BusPeer> {
        let url = format!("ws://{}/ws", daemon.address);
        BusPeer::connect(&url, Some(&self.token()?)).await
    }

    pub(crate) fn token(&self) -> Result<String> {
        let text = std::fs::read_to_string(self.path().join("owner.token"))?;
        Ok(text.trim().to_owned())
    }
}

/// The scripted model server in a process of its own.
#[derive(Debug)]
pub(crate) struct SimProcess {
    pub(crate) process: ServerProcess,
    /// The moment from which its stamps count, in microseconds since 1970.
    pub(crate) stamps_begin_us: u64,
}

impl SimProcess {
    #[expect(
        clippy::disallowed_methods,
        reason = "the scripted server is a process like any provider's"
    )]
    pub(crate) fn start(options: &[&str]) -> Result<Self> {
        let mut command = Command::new(sibling_binary("hob-sim")?);
        let beginnings = ["OpenaiChat: http://", "Stamps: "];
        let (mut process, said) = ServerProcess::start_saying(command.args(options), &beginnings)?;
        let [url, begin] = said.as_slice() else {
            bail!("the scripted server said {said:?}");
        };
        url.trim_end_matches("/v1").clone_into(&mut process.address);
        Ok(SimProcess {
            process,
            stamps_begin_us: begin.parse()?,
        })
    }
}

/// This program in another role, in a process of its own as hob is; it says where it listens.
#[expect(
    clippy::disallowed_methods,
    reason = "the yardstick is a process like what it measures"
)]
pub(crate) fn start_role(role: &str) -> Result<ServerProcess> {
    let mut command = Command::new(std::env::current_exe()?);
    ServerProcess::start(command.arg(role), "LISTENS=")
}

/// The bare program that answers on a socket, in a process of its own.
#[expect(
    clippy::disallowed_methods,
    reason = "the yardstick is a process like what it measures"
)]
pub(crate) fn start_answerer(socket: &Path, answer: &Path) -> Result<ServerProcess> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("answerer").args([socket, answer]);
    ServerProcess::start(&mut command, "ANSWERER=")
}

fn proportional_kib(pid: u32) -> Result<f64> {
    let sums = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).context(
        "the daemon's memory is closed to other processes of its user: run this as root",
    )?;
    let line = sums.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kib.context("Pss in /proc")?.parse()?)
}

fn sibling_binary(name: &str) -> Result<PathBuf> {
    let path = std::env::current_exe()?.with_file_name(name);
    if !path.exists() {
        bail!(
            "{} is missing; run `cargo xtask bench`, which builds it",
            path.display()
        );
    }
    Ok(path)
}
