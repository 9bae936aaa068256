//! What to run, behind which walls, within which limits.
//!
//! Invariant: a plan says everything; nothing of the daemon's own state (environment, folder,
//! descriptors, umask) reaches the child beside it.

use crate::home_view::home_view;
use crate::peer::access::ListeningService;
use crate::protected_paths::{PersonHome, of_home_inside};
use hob_kit::mask::Mask;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One process to start.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The program and its arguments; no shell between.
    pub argv: Vec<OsString>,
    /// An absolute folder.
    pub cwd: PathBuf,
    /// Beside what [`crate::environment`] lets through; later ones win.
    pub env: Vec<(OsString, OsString)>,
    pub stdin: Stdin,
    pub feed: Feed,
    pub walls: Walls,
    pub limits: Limits,
    /// The shim ends the run then, whatever the daemon is doing. None: only by cancelling.
    pub deadline: Option<Duration>,
    /// Time between SIGTERM and SIGKILL.
    pub grace: Duration,
    /// Where the whole output goes, up to `limits.file_output_bytes`; the file is made anew.
    pub output_file: Option<PathBuf>,
    /// Takes known secrets out of the output before anything is kept, written or handed on. None:
    /// the output goes to nobody but the log or the caller's own pipes.
    pub mask: Option<Mask>,
    /// A service that may connect to opt-in listeners of the gateway; commands never may.
    pub listening: Option<ListeningService>,
}

impl Plan {
    /// A plan with ordinary limits, empty input and kept output.
    pub fn new(argv: Vec<OsString>, cwd: PathBuf, walls: Walls) -> Plan {
        Plan {
            argv,
            cwd,
            env: Vec::new(),
            stdin: Stdin::Empty,
            feed: Feed::Kept,
            walls,
            limits: Limits::default(),
            deadline: None,
            grace: GRACE,
            output_file: None,
            mask: None,
            listening: None,
        }
    }
}

/// Usual time between SIGTERM and SIGKILL: with it, cancelling takes less than a second.
pub const GRACE: Duration = Duration::from_millis(300);

/// What the child reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stdin {
    /// `/dev/null`.
    Empty,
    /// These bytes, then the end.
    Bytes(Vec<u8>),
    /// What [`crate::Child::write_stdin`] sends, until it is closed.
    Open,
}

/// What happens with the child's output as it comes, beside being kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    /// Nothing: head and tail are kept.
    Kept,
    /// Each chunk is handed out in order; a slow taker slows the child down.
    Chunks,
    /// Whole lines are handed out; those a slow taker has no room for are dropped and counted,
    /// because a service must not stall on its log.
    Lines,
    /// Stdin and stdout are the caller's own pipes (a protocol over stdio); stderr is kept.
    Pipes,
}

/// The walls around a child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Walls {
    Policy(Policy),
    /// No sandbox: for services a person installed or wrote down. The reason goes to the log.
    Unsandboxed {
        reason: &'static str,
    },
}

/// Which network a sandboxed child has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NetworkAccess {
    /// None.
    #[default]
    Off,
    /// A network namespace that has only a loopback. Its one exit is a listening socket on that
    /// loopback, which the daemon accepts on ([`crate::Child::take_listener`]).
    Proxy,
    /// The network of this machine, with every service that listens on it.
    Host,
}

/// What a sandboxed child may touch. Whatever is not granted here is refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// Trees that may be read, and programs in them run.
    pub read: Vec<PathBuf>,
    /// Trees that may be changed.
    pub write: Vec<PathBuf>,
    /// Paths inside `write` that stay as they are, whether they exist or not.
    pub protected: Vec<PathBuf>,
    /// Files that have these bytes for the run, whatever happens to the files outside of it.
    #[serde(default)]
    pub bound_files: Vec<BoundFile>,
    /// Trees and files nothing of which can be seen: hob's home and sockets at least.
    pub hidden: Vec<PathBuf>,
    pub network: NetworkAccess,
    /// Sockets in the file system and abstract ones: Docker's, the SSH agent's, the desktop's.
    pub unix_sockets: bool,
}

/// A file whose bytes a person approved: a run sees these bytes at its path, read-only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoundFile {
    /// Where it really lies.
    pub path: PathBuf,
    /// How the command names it, absolute; links may be on the way.
    pub named: PathBuf,
    pub bytes: Vec<u8>,
    /// Its permission bits.
    pub mode: u32,
    /// Whether the command opens it first of all; any other is watched as long as the run lasts.
    pub opens_at_start: bool,
}

impl Policy {
    /// The whole system read-only, these roots writable, `hidden` unseen, no network. `.git` in
    /// each root is protected. A root that holds the person's home folder is read-only except for
    /// what [`home_view`] leaves writable; in a root below the home folder what starts by itself
    /// there is protected.
    pub fn workspace(roots: &[PathBuf], home: Option<&Path>, hidden: Vec<PathBuf>) -> Policy {
        let home = home.map(PersonHome::new);
        let mut policy = Policy {
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
            // Shown as a whole also where a run has a folder of its own, such as `/tmp`.
            self.read.push(root.to_owned());
            self.write.extend(view.writable);
            return;
        }
        self.write.push(root.to_owned());
        self.protected.push(root.join(".git"));
        if let Some(home) = home {
            self.protected.extend(of_home_inside(home.path(), root));
        }
    }
}

/// Bounds of one run. Memory and file size are per process, as the kernel counts them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Processes and threads at once; see [`crate::level::Bound`] for what holds it.
    pub processes: u64,
    /// The largest file.
    pub file_bytes: u64,
    /// What `/tmp` and `/dev/shm` of the run hold, each.
    pub tmp_bytes: u64,
    pub open_files: u64,
    /// Processor time of one process.
    pub cpu_seconds: Option<u64>,
    /// Address space of one process.
    pub memory_bytes: Option<u64>,
    /// The run is ended when a disk it may write to has less than this free, and had more.
    pub disk_free_bytes: u64,
    /// Head and tail kept of each of stdout and stderr.
    pub kept_output_bytes: usize,
    /// The most that `output_file` holds.
    pub file_output_bytes: u64,
}

const MIB: u64 = 1024 * 1024;

impl Default for Limits {
    fn default() -> Self {
        Limits {
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
#[path = "plan_tests.rs"]
mod tests;
