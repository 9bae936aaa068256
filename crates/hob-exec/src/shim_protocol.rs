//! The protocol between the daemon and the shim over the control socket.
//!
//! In: one byte that carries the child's three descriptors (and, for a private network, the socket
//! that receives its listener), one request, then single-byte commands. Out: reports. A request or
//! report is JSON behind its length (four bytes, little-endian).
//!
//! Invariant: end of file on the socket means that the other side is gone.

use crate::error::ExecError;
use crate::sandbox_level::{ProcessLimiter, SandboxLevel};
use crate::shim::LeftBehind;
use crate::spawn_plan::{NetworkAccess, ResourceLimits, SandboxPolicy};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The longest message. It fits the kernel's limit on arguments and environment, with some room.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// Ends the run: SIGTERM, grace period, SIGKILL.
pub(crate) const COMMAND_CANCEL: u8 = b'C';
/// Ends the run without the grace period, or cuts a running one short.
pub(crate) const COMMAND_KILL: u8 = b'K';

/// The request that starts a run: everything the shim needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ShimRequest {
    pub(crate) argv: Vec<OsString>,
    pub(crate) cwd: OsString,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) level: SandboxLevel,
    /// None: no sandbox.
    pub(crate) policy: Option<SandboxPolicy>,
    pub(crate) bubblewrap: Option<PathBuf>,
    pub(crate) processes: ProcessLimiter,
    pub(crate) limits: ResourceLimits,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) grace_ms: u64,
}

impl ShimRequest {
    /// Returns true if the child gets a network of its own that leads to the proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(|policy| policy.network == NetworkAccess::Proxy)
    }
}

/// A message from the shim.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ShimReport {
    Started { pid: i32 },
    Failed(ExecError),
    Ended(ExitReport),
}

/// The end of a run, as the shim reports it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ExitReport {
    pub(crate) ended: WaitStatus,
    pub(crate) cause: ExitCause,
    pub(crate) usage: ResourceUsage,
    pub(crate) left_behind: LeftBehind,
}

/// The wait status of the first process of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WaitStatus {
    /// Its exit code. Under bubblewrap 128 + n also means that signal n killed it.
    Code(i32),
    Signal(i32),
}

impl WaitStatus {
    /// Returns one number as shells do: signal n is 128 + n.
    pub fn code(self) -> i32 {
        match self {
            WaitStatus::Code(code) => code,
            WaitStatus::Signal(signal) => 128 + signal,
        }
    }
}

/// The reason why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ExitCause {
    /// By itself.
    Itself,
    Cancelled,
    Deadline,
    /// It exceeded its number of processes ([`ProcessLimiter::Watched`]).
    Processes,
    /// A disk it writes to was nearly full.
    Disk,
    /// A script that a person approved was replaced while it ran.
    Replaced,
}

/// Resources used by all processes of a run that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResourceUsage {
    pub cpu_user_ms: u64,
    pub cpu_system_ms: u64,
    /// The largest resident size of any one process.
    pub peak_bytes: u64,
}

pub(crate) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
    // Both sides refuse longer messages, so that a bad length cannot make the reader allocate.
    let length = u32::try_from(body.len())
        .ok()
        .filter(|length| *length <= MESSAGE_BYTES_MAX)
        .ok_or_else(|| io::Error::other("the message is too long"))?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(body);
    Ok(bytes)
}

pub(crate) fn decode<T: DeserializeOwned>(body: &[u8]) -> io::Result<T> {
    Ok(serde_json::from_slice(body)?)
}

/// Reads one message. Blocks; for the shim.
pub(crate) fn read_message<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other("the message is too long"));
    }
    // The buffer grows as bytes arrive, so a wrong length alone allocates nothing.
    let mut body = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut body)?;
    decode(&body)
}

/// Writes one message. Blocks; for the shim.
pub(crate) fn write_message<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    to.write_all(&encode(message)?)
}

#[cfg(test)]
#[path = "shim_protocol_tests.rs"]
mod tests;
