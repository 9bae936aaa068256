//! Finds the process at the other end of a local connection and decides if it may connect without a
//! token.
//!
//! - `process`: one process by its handle in `/proc`, safe against pid reuse
//! - [`access`]: which services may connect to which listener
//! - `holders`: every process that holds a socket; `credentials`: the process that opened a unix
//!   socket
//!
//! Invariants: a peer is admitted only if its process was found and read completely; every process
//! that holds the socket must pass; a process below a shim passes only as a service whose
//! description names the listener; an unreadable process is refused with a reason. Linux only.

pub mod access;
mod credentials;
mod holders;
mod process;

pub use access::ListenerAccess;

use crate::descent;
use process::{NamespaceIds, ProcessHandle};
use rustix::fd::AsFd;
use std::fmt;

/// Decides if the process behind a connection may use a listener.
#[derive(Clone, Debug)]
pub struct PeerGuard {
    access: ListenerAccess,
    own_process: OwnProcess,
}

/// The treatment of the daemon's own process as a peer. Its HTTP clients connect to addresses that
/// a model, a service description or a proxied command chooses, so a daemon refuses itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnProcess {
    #[default]
    Refused,
    /// For tests that run the listener and its client in one process.
    Admitted,
}

/// The reason why a peer was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PeerRefusal {
    /// No readable process holds the socket. `unreadable` counts the processes whose open files
    /// cannot be read.
    NotFound {
        unreadable: usize,
    },
    /// The daemon itself.
    OwnProcess,
    OtherUser {
        pid: i32,
    },
    OtherNamespace {
        pid: i32,
        which: &'static str,
    },
    /// It runs below a shim and is no service with this listener.
    BelowShim {
        pid: i32,
        service: Option<String>,
    },
    /// A property of the process could not be read.
    Unreadable {
        pid: i32,
        what: &'static str,
    },
    /// This daemon cannot mark its children.
    NoMark,
}

impl PeerGuard {
    pub fn new(access: ListenerAccess, own_process: OwnProcess) -> PeerGuard {
        PeerGuard {
            access,
            own_process,
        }
    }

    /// Checks every process that holds the socket with this inode.
    pub fn check_socket(&self, inode: u64, listener: &str) -> Result<(), PeerRefusal> {
        let found = holders::find_holders(inode);
        if found.processes.is_empty() {
            let unreadable = found.unreadable;
            return Err(PeerRefusal::NotFound { unreadable });
        }
        let inspection = self.begin_inspection()?;
        found
            .processes
            .iter()
            .try_for_each(|process| inspection.check(process, listener))
    }

    /// Checks the process that connected to a unix socket.
    pub fn check_unix(&self, stream: impl AsFd, listener: &str) -> Result<(), PeerRefusal> {
        let process = credentials::connected_process(stream.as_fd());
        let process = process.ok_or(PeerRefusal::NotFound { unreadable: 0 })?;
        self.begin_inspection()?.check(&process, listener)
    }

    fn begin_inspection(&self) -> Result<PeerInspection<'_>, PeerRefusal> {
        let limit = descent::own_limit();
        if !limit.can_mark() {
            return Err(PeerRefusal::NoMark);
        }
        let unreadable = |what| PeerRefusal::Unreadable {
            pid: own_pid(),
            what,
        };
        let own = ProcessHandle::open(own_pid()).ok_or_else(|| unreadable("/proc"))?;
        Ok(PeerInspection {
            guard: self,
            limit,
            namespaces: own.namespaces().map_err(unreadable)?,
        })
    }
}

/// A guard together with the daemon's own properties, against which a peer is compared.
struct PeerInspection<'g> {
    guard: &'g PeerGuard,
    limit: descent::LocksLimit,
    namespaces: NamespaceIds,
}

impl PeerInspection<'_> {
    fn check(&self, process: &ProcessHandle, listener: &str) -> Result<(), PeerRefusal> {
        let pid = process.pid;
        if pid == own_pid() {
            return match self.guard.own_process {
                OwnProcess::Admitted => Ok(()),
                OwnProcess::Refused => Err(PeerRefusal::OwnProcess),
            };
        }
        let unreadable = |what| PeerRefusal::Unreadable { pid, what };
        let user = rustix::process::geteuid().as_raw();
        // All four ids: a set-user-id program keeps the user's real id and another effective one.
        if process.users().map_err(unreadable)? != [user; 4] {
            return Err(PeerRefusal::OtherUser { pid });
        }
        // A container may map its users to ours, so the user id alone proves nothing.
        let namespaces = process.namespaces().map_err(unreadable)?;
        if let Some(which) = namespaces.first_difference(&self.namespaces) {
            return Err(PeerRefusal::OtherNamespace { pid, which });
        }
        let limit = process.locks_limit().map_err(unreadable)?;
        if !limit.is_marked(self.limit) {
            return Ok(());
        }
        let service = self.guard.access.service_above(process, own_pid());
        match service {
            Some(service) if service.may_use(listener) => Ok(()),
            other => Err(PeerRefusal::BelowShim {
                pid,
                service: other.map(|service| service.name),
            }),
        }
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

impl fmt::Display for PeerRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PeerRefusal::NotFound { unreadable: 0 } => {
                f.write_str("no process was found that holds the connection")
            }
            PeerRefusal::NotFound { unreadable } => write!(
                f,
                "no process was found that holds the connection; the open files of {unreadable} processes cannot be read (hidepid, or programs that forbid it)"
            ),
            PeerRefusal::OwnProcess => f.write_str("it came from hob itself"),
            PeerRefusal::OtherUser { pid } => {
                write!(f, "process {pid} runs as another user, or has changed its user")
            }
            PeerRefusal::OtherNamespace { pid, which } => {
                write!(f, "process {pid} runs in another {which} namespace than hob")
            }
            PeerRefusal::BelowShim { pid, service: None } => write!(
                f,
                "process {pid} was started by hob for a command or a service (its limit of file locks, `ulimit -Hx`, is below hob's)"
            ),
            PeerRefusal::BelowShim {
                pid,
                service: Some(service),
            } => write!(
                f,
                "process {pid} belongs to the service '{service}', whose file services/{service}.toml does not name this listener in 'listen'"
            ),
            PeerRefusal::Unreadable { pid, what } => {
                write!(f, "{what} of process {pid} cannot be read")
            }
            PeerRefusal::NoMark => f.write_str(
                "hob was started with a limit of 0 file locks (`ulimit -Hx`), so it cannot tell its own commands from other programs; start it without that limit",
            ),
        }
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
