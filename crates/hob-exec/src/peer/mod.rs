//! Which process is at the other end of a local connection, and whether it may connect without a
//! token.
//!
//! - `process`: one process by its handle in `/proc`, read in a way that a reused pid cannot fool
//! - [`access`]: which services may connect to which listener
//! - `holders`: every process that holds a socket; `credentials`: who opened a unix socket
//!
//! Invariants: a peer is admitted only when its process was found and read whole; every process
//! that holds the socket must pass; a process below a shim passes only as a service whose
//! description names the listener; what cannot be read is refused with a reason. Linux only.

pub mod access;
mod credentials;
mod holders;
mod process;

pub use access::ListenerAccess;

use crate::descent;
use process::{Namespaces, Process};
use rustix::fd::AsFd;
use std::fmt;

/// Decides whether the process behind a connection may use a listener.
#[derive(Clone, Debug)]
pub struct PeerGuard {
    access: ListenerAccess,
    own_process: OwnProcess,
}

/// Whether the daemon's own process may be the peer. Its HTTP clients go where a model, a service's
/// description or a proxied command sends them, so a daemon refuses itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OwnProcess {
    #[default]
    Refused,
    /// For tests that run the listener and its client in one process.
    Admitted,
}

/// Why a peer was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refused {
    /// No process that can be read holds the socket. `unreadable` counts those of which the kernel
    /// does not say what they hold.
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
    /// Below a shim, and no service that was given this listener.
    BelowShim {
        pid: i32,
        service: Option<String>,
    },
    /// Something of it could not be read.
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
    pub fn check_socket(&self, inode: u64, listener: &str) -> Result<(), Refused> {
        let found = holders::of_socket(inode);
        if found.processes.is_empty() {
            let unreadable = found.unreadable;
            return Err(Refused::NotFound { unreadable });
        }
        let judge = self.judge()?;
        found
            .processes
            .iter()
            .try_for_each(|process| judge.check(process, listener))
    }

    /// Checks the process that connected to a unix socket.
    pub fn check_unix(&self, stream: impl AsFd, listener: &str) -> Result<(), Refused> {
        let process = credentials::connected(stream.as_fd());
        let process = process.ok_or(Refused::NotFound { unreadable: 0 })?;
        self.judge()?.check(&process, listener)
    }

    fn judge(&self) -> Result<Judge<'_>, Refused> {
        let limit = descent::own_limit();
        if !limit.can_mark() {
            return Err(Refused::NoMark);
        }
        let unreadable = |what| Refused::Unreadable {
            pid: own_pid(),
            what,
        };
        let own = Process::open(own_pid()).ok_or_else(|| unreadable("/proc"))?;
        Ok(Judge {
            guard: self,
            limit,
            namespaces: own.namespaces().map_err(unreadable)?,
        })
    }
}

/// The guard with what it compares against.
struct Judge<'g> {
    guard: &'g PeerGuard,
    limit: descent::LocksLimit,
    namespaces: Namespaces,
}

impl Judge<'_> {
    fn check(&self, process: &Process, listener: &str) -> Result<(), Refused> {
        let pid = process.pid;
        if pid == own_pid() {
            return match self.guard.own_process {
                OwnProcess::Admitted => Ok(()),
                OwnProcess::Refused => Err(Refused::OwnProcess),
            };
        }
        let unreadable = |what| Refused::Unreadable { pid, what };
        let user = rustix::process::geteuid().as_raw();
        if process.users().map_err(unreadable)? != [user; 4] {
            return Err(Refused::OtherUser { pid });
        }
        let namespaces = process.namespaces().map_err(unreadable)?;
        if let Some(which) = namespaces.differ(&self.namespaces) {
            return Err(Refused::OtherNamespace { pid, which });
        }
        let limit = process.locks_limit().map_err(unreadable)?;
        if !limit.is_marked(self.limit) {
            return Ok(());
        }
        let service = self.guard.access.service_above(process, own_pid());
        match service {
            Some(service) if service.may_use(listener) => Ok(()),
            other => Err(Refused::BelowShim {
                pid,
                service: other.map(|service| service.name),
            }),
        }
    }
}

fn own_pid() -> i32 {
    rustix::process::getpid().as_raw_nonzero().get()
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refused::NotFound { unreadable: 0 } => {
                f.write_str("no process was found that holds the connection")
            }
            Refused::NotFound { unreadable } => write!(
                f,
                "no process was found that holds the connection; the open files of {unreadable} processes cannot be read (hidepid, or programs that forbid it)"
            ),
            Refused::OwnProcess => f.write_str("it came from hob itself"),
            Refused::OtherUser { pid } => {
                write!(f, "process {pid} runs as another user, or has changed its user")
            }
            Refused::OtherNamespace { pid, which } => {
                write!(f, "process {pid} lives in another {which} namespace than hob")
            }
            Refused::BelowShim { pid, service: None } => write!(
                f,
                "process {pid} was started by hob for a command or a service (its limit of file locks, `ulimit -Hx`, is below hob's)"
            ),
            Refused::BelowShim {
                pid,
                service: Some(service),
            } => write!(
                f,
                "process {pid} belongs to the service '{service}', whose file services/{service}.toml does not name this listener in 'listen'"
            ),
            Refused::Unreadable { pid, what } => {
                write!(f, "{what} of process {pid} cannot be read")
            }
            Refused::NoMark => f.write_str(
                "hob was started with a limit of 0 file locks (`ulimit -Hx`), so it cannot tell its own commands from other programs; start it without that limit",
            ),
        }
    }
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
