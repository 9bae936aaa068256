//! The plan of one process: what to run, in which sandbox, within which limits.
//!
//! Invariant: a plan is complete. No other state of the daemon (environment, working folder,
//! descriptors, umask) reaches the child.

use crate::home_view::home_view;
use crate::peer::access::ListeningService;
use crate::protected_paths::{PersonHome, home_entries_inside};
use hob_kit::mask::SecretMask;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A process to start.
#[derive(Clone, Debug)]
pub struct SpawnPlan {
    /// The program and its arguments; no shell in between.
    pub argv: Vec<OsString>,
    /// An absolute folder.
    pub cwd: PathBuf,
    /// Variables beside those of [`crate::environment`]; later ones win.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: StdinSource,
    pub output_mode: OutputMode,
    pub sandbox: SandboxMode,
    pub limits: ResourceLimits,
    /// Time after which the shim ends the run, even if the daemon hangs. None: no limit.
    pub deadline: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// The file that receives the output, up to `limits.file_output_bytes`; an existing file is
    /// truncated.
    pub output_file: Option<PathBuf>,
    /// Removes known secrets from the output before anything is kept, written or passed on. None:
    /// the output goes only to the log or the caller's own pipes.
    pub mask: Option<SecretMask>,
    /// The service that runs here, if it may connect to opt-in listeners of the gateway. Commands
    /// never may.
    pub listener_service: Option<ListeningService>,
}

impl SpawnPlan {
    /// A plan with ordinary limits, empty input and kept output.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf, walls: SandboxMode) -> SpawnPlan {
        SpawnPlan {
            argv,
            cwd,
            env: Vec::new(),
            stdin: StdinSource::Empty,
            output_mode: OutputMode::Kept,
            sandbox: walls,
            limits: ResourceLimits::default(),
            deadline: None,
            grace: GRACE,
            output_file: None,
            mask: None,
            listener_service: None,
        }
    }
}

/// Usual time between SIGTERM and SIGKILL: with it, cancelling takes less than a second.
pub const GRACE: Duration = Duration::from_millis(300);

/// The input of a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StdinSource {
    /// `/dev/null`.
    Empty,
    /// Fixed bytes, then end of file.
    Bytes(Vec<u8>),
    /// Everything that [`crate::Child::write_stdin`] sends, until it is closed.
    Open,
}

/// The delivery of a child's output while it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputMode {
    /// No delivery; head and tail are kept.
    Kept,
    /// Each chunk is delivered in order; a slow receiver slows the child down.
    Chunks,
    /// Whole lines are delivered. When the receiver is full they are dropped and counted, because a
    /// service must not stall on its log.
    Lines,
    /// Stdin and stdout go to the caller's own pipes (a protocol over stdio); stderr is kept.
    Pipes,
}

/// The sandbox of a child, or none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SandboxMode {
    Policy(SandboxPolicy),
    /// No sandbox: for services that a user installed or described. The reason goes to the log.
    Unsandboxed {
        reason: &'static str,
    },
}

/// The network of a sandboxed child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// No network.
    #[default]
    Off,
    /// A network namespace with only a loopback. Its one exit is a listening socket on that
    /// loopback, on which the daemon accepts ([`crate::Child::take_listener`]).
    Proxy,
    /// The network of this machine, including every service that listens on it.
    Host,
}

/// The accesses of a sandboxed child. Everything not granted here is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxPolicy {
    /// Trees that may be read, and whose programs may be run.
    pub read: Vec<PathBuf>,
    /// Trees that may be changed.
    pub write: Vec<PathBuf>,
    /// Read-only paths inside `write`. A path that does not exist cannot be created.
    pub protected: Vec<PathBuf>,
    /// Files that keep these bytes during the run, even if they change outside of it.
    #[serde(default)]
    pub bound_files: Vec<BoundFile>,
    /// Trees and files that cannot be seen: at least hob's home and sockets.
    pub hidden: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// Access to unix sockets, in the file system and abstract: Docker, SSH agent, desktop.
    pub unix_sockets: bool,
}

/// A file whose bytes a user approved. A run sees exactly these bytes at its path, read-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFile {
    /// The canonical path.
    pub path: PathBuf,
    /// The absolute path in the command's spelling; it may contain symbolic links.
    pub named: PathBuf,
    pub bytes: Vec<u8>,
    /// Its permission bits.
    pub mode: u32,
    /// True if the command opens it right at its start. Any other file is watched during the whole
    /// run.
    pub opens_at_start: bool,
}

impl SandboxPolicy {
    /// The policy of a workspace: the system read-only, the roots writable, `hidden` not visible,
    /// no network. `.git` in each root is protected. A root that contains the user's home folder is
    /// read-only except for the entries of [`home_view`]. In a root below the home folder, files
    /// that other programs run by themselves are protected.
    pub fn workspace(
        roots: &[PathBuf],
        home: Option<&Path>,
        hidden: Vec<PathBuf>,
    ) -> SandboxPolicy {
        let home = home.map(PersonHome::new);
        let mut policy = SandboxPolicy {
            read: vec![PathBuf::from("/")],
            write: Vec::new(),
            protected: Vec::new(),
            bound_files: Vec::new(),
            hidden,
            network: NetworkAccess::Off,
            unix_sockets: false,
        };
        for root in roots {
            policy.add_root(root, home.as_ref());
        }
        policy
    }

    fn add_root(&mut self, root: &Path, home: Option<&PersonHome>) {
        if let Some(view) = home.and_then(|home| home_view(root, home)) {
            // Without this grant the run's own `/tmp` would cover a root that lies in there.
            self.read.push(root.to_owned());
            self.write.extend(view.writable);
            return;
        }
        self.write.push(root.to_owned());
        self.protected.push(root.join(".git"));
        if let Some(home) = home {
            self.protected
                .extend(home_entries_inside(home.path(), root));
        }
    }
}

/// The limits of one run. Memory and file size are per process, as the kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceLimits {
    /// Processes and threads at once; [`crate::sandbox_level::ProcessLimiter`] enforces it.
    pub processes: u64,
    /// The largest file.
    pub file_bytes: u64,
    /// The size of `/tmp` and of `/dev/shm` of the run.
    pub tmp_bytes: u64,
    pub open_files: u64,
    /// Processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
    /// The run ends when the free space of a disk it may write to falls below this.
    pub disk_free_bytes: u64,
    /// Bytes of head and tail that are kept of stdout, and of stderr.
    pub kept_output_bytes: usize,
    /// The maximum size of `output_file`.
    pub file_output_bytes: u64,
}

const MIB: u64 = 1024 * 1024;

impl Default for ResourceLimits {
    fn default() -> Self {
        ResourceLimits {
            processes: 512,
            file_bytes: 4096 * MIB,
            tmp_bytes: 512 * MIB,
            open_files: 4096,
            cpu_seconds: None,
            memory_bytes: None,
            disk_free_bytes: 256 * MIB,
            kept_output_bytes: 64 * 1024,
            file_output_bytes: 64 * MIB,
        }
    }
}

#[cfg(test)]
#[path = "spawn_plan_tests.rs"]
mod tests;
