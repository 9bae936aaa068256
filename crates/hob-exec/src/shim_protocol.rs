//! What the daemon and the shim say to each other over the control socket: one order in (its
//! first byte carries the child's three descriptors, and where a private network is reported), single-byte commands after it, reports out.
//! Each order and report is JSON behind its length.
//!
//! Invariant: the end of the socket means that the other side is gone.

use crate::error::ExecError;
use crate::level::{Bound, Level};
use crate::plan::{Limits, NetworkAccess, Policy};
use crate::shim::LeftBehind;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::path::PathBuf;

/// The longest order: as much as the kernel takes for arguments and environment, and room around.
pub(crate) const MESSAGE_BYTES_MAX: u32 = 16 * 1024 * 1024;

/// Ends the run.
pub(crate) const COMMAND_CANCEL: u8 = b'C';
/// Ends the run without the time of grace, or cuts that time short.
pub(crate) const COMMAND_KILL: u8 = b'K';

/// Everything the shim needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Order {
    pub(crate) argv: Vec<OsString>,
    pub(crate) cwd: OsString,
    pub(crate) env: Vec<(OsString, OsString)>,
    pub(crate) level: Level,
    /// None: no sandbox.
    pub(crate) policy: Option<Policy>,
    pub(crate) bubblewrap: Option<PathBuf>,
    pub(crate) processes: Bound,
    pub(crate) limits: Limits,
    pub(crate) deadline_ms: Option<u64>,
    pub(crate) grace_ms: u64,
}

impl Order {
    /// Whether the child has a network of its own that leads to the proxy.
    pub(crate) fn has_proxy(&self) -> bool {
        let policy = self.policy.as_ref();
        policy.is_some_and(|policy| policy.network == NetworkAccess::Proxy)
    }
}

/// What the shim says.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Started { pid: i32 },
    Failed(ExecError),
    Ended(Ending),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Ending {
    pub(crate) ended: Ended,
    pub(crate) cause: Cause,
    pub(crate) usage: Usage,
    pub(crate) left_behind: LeftBehind,
}

/// How the first process of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Ended {
    /// It said so. Under bubblewrap 128 + n also means that signal n killed it.
    Code(i32),
    Signal(i32),
}

impl Ended {
    /// One number as shells give it: a signal n is 128 + n.
    pub fn code(self) -> i32 {
        match self {
            Ended::Code(code) => code,
            Ended::Signal(signal) => 128 + signal,
        }
    }
}

/// Why it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Cause {
    /// By itself.
    Itself,
    Cancelled,
    Deadline,
    /// It had more processes than it may ([`Bound::Watched`]).
    Processes,
    /// A disk it writes to was nearly full.
    Disk,
    /// A script that a person approved was replaced while it ran.
    Replaced,
}

/// What the run used, of all its processes that were waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub cpu_user_ms: u64,
    pub cpu_system_ms: u64,
    /// The largest resident size of any one process.
    pub peak_bytes: u64,
}

pub(crate) fn encode<T: Serialize>(message: &T) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(message)?;
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

/// Reads one message; the shim's side, which may block.
pub(crate) fn read<T: DeserializeOwned>(from: &mut impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length);
    if length > MESSAGE_BYTES_MAX {
        return Err(io::Error::other("the message is too long"));
    }
    let mut body = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut body)?;
    decode(&body)
}

/// Writes one message; the shim's side, which may block.
pub(crate) fn write<T: Serialize>(to: &mut impl Write, message: &T) -> io::Result<()> {
    to.write_all(&encode(message)?)
}

#[cfg(test)]
#[path = "order_tests.rs"]
mod tests;
