//! A running child and its exit.
//!
//! Invariants: dropping a child cancels it; a child has ended only when no process of its tree
//! lives.

use crate::error::ExecError;
use crate::output::pump::OutputBuffers;
use crate::output::{ChildStream, KeptOutput, OutputPiece, OutputSince};
use crate::sandbox_level::SandboxLevel;
use crate::shim::LeftBehind;
use crate::shim_protocol::{COMMAND_CANCEL, COMMAND_KILL, ExitCause, ResourceUsage, WaitStatus};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, mpsc, watch};

/// The exit of a child, known once no process of its tree lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChildExit {
    pub status: WaitStatus,
    pub cause: ExitCause,
    /// The sandbox it ran in.
    pub level: SandboxLevel,
    pub usage: ResourceUsage,
    pub duration: Duration,
    pub stdout: KeptOutput,
    pub stderr: KeptOutput,
    /// The length of the plan's output file, and true if output is missing in it.
    pub output_file: Option<(u64, bool)>,
    /// Lines dropped because the receiver was full ([`crate::OutputMode::Lines`]).
    pub dropped_lines: u64,
    /// New files in the workspace that other programs would run by themselves.
    pub left_behind: LeftBehind,
}

impl ChildExit {
    pub fn is_success(&self) -> bool {
        self.cause == ExitCause::Itself && self.status == WaitStatus::Code(0)
    }
}

pub(crate) type ChildOutcome = Option<Result<Arc<ChildExit>, ExecError>>;

/// A running child. Dropping it cancels it; the [`crate::Spawner`] owns background processes
/// instead.
#[derive(Debug)]
pub struct Child {
    pub(crate) pid: i32,
    pub(crate) level: SandboxLevel,
    pub(crate) command: String,
    pub(crate) started_at: Instant,
    pub(crate) control: std::os::unix::net::UnixStream,
    pub(crate) stdin: Mutex<Option<pipe::Sender>>,
    pub(crate) pieces: Mutex<Option<mpsc::Receiver<OutputPiece>>>,
    pub(crate) stdout: std::sync::Mutex<Option<pipe::Receiver>>,
    pub(crate) listener: std::sync::Mutex<Option<std::net::TcpListener>>,
    pub(crate) buffers: Arc<OutputBuffers>,
    pub(crate) outcome: watch::Receiver<ChildOutcome>,
}

impl Child {
    /// The pid of the first process on this machine. Under bubblewrap it is bubblewrap's own.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn level(&self) -> SandboxLevel {
        self.level
    }

    /// The program and its arguments, for people.
    pub fn command(&self) -> &str {
        &self.command
    }

    pub fn age(&self) -> Duration {
        self.started_at.elapsed()
    }

    pub fn is_running(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    /// Returns the next piece of output; none after the last one, or if the output mode has none.
    /// With [`crate::OutputMode::Chunks`] read all pieces before waiting: unread ones block the
    /// child.
    pub async fn next_output(&self) -> Option<OutputPiece> {
        self.pieces.lock().await.as_mut()?.recv().await
    }

    /// The head and tail of a stream so far.
    pub fn output_so_far(&self, source: ChildStream) -> KeptOutput {
        self.buffers.with_buffer(source, |buffer| buffer.snapshot())
    }

    /// The output of a stream from byte `from` on.
    pub fn output_since(&self, source: ChildStream, from: u64) -> OutputSince {
        self.buffers
            .with_buffer(source, |buffer| buffer.since(from))
    }

    /// Lines dropped so far because the receiver was full.
    pub fn dropped_lines(&self) -> u64 {
        self.buffers.dropped_lines.load(Ordering::Relaxed)
    }

    /// Writes all bytes, as fast as the child reads them.
    pub async fn write_stdin(&self, bytes: &[u8]) -> Result<(), ExecError> {
        let mut stdin = self.stdin.lock().await;
        let pipe = stdin.as_mut().ok_or(ExecError::StdinClosed)?;
        if pipe.write_all(bytes).await.is_err() {
            // A broken pipe stays broken, so later writes fail at once.
            *stdin = None;
            return Err(ExecError::StdinClosed);
        }
        Ok(())
    }

    /// Closes stdin, so that the child reads end of file.
    pub async fn close_stdin(&self) {
        *self.stdin.lock().await = None;
    }

    /// Takes the child's stdin and stdout pipes, once, with [`crate::OutputMode::Pipes`].
    pub async fn take_pipes(&self) -> Option<(pipe::Sender, pipe::Receiver)> {
        let stdout = {
            // A std mutex, held to take one value.
            let mut held = self.stdout.lock();
            held.as_mut().ok()?.take()?
        };
        Some((self.stdin.lock().await.take()?, stdout))
    }

    /// Takes the socket that listens on the loopback of the child's own network, once
    /// ([`crate::NetworkAccess::Proxy`]). Whoever accepts on it is the child's only way out.
    pub fn take_listener(&self) -> Option<std::net::TcpListener> {
        // A std mutex, held to take one value.
        self.listener.lock().ok()?.take()
    }

    /// Resolves when the child has ended. The future does not borrow the child.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut outcome = self.outcome.clone();
        async move {
            // An error means that the watcher task is gone, which is an end too.
            let _ = outcome.wait_for(Option::is_some).await;
        }
    }

    /// Waits until the child has ended.
    pub async fn wait(&self) -> Result<Arc<ChildExit>, ExecError> {
        let mut outcome = self.outcome.clone();
        let found = outcome.wait_for(Option::is_some).await;
        match found.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(ExecError::Lost),
        }
    }

    /// Ends the whole tree and waits for it: SIGTERM, the plan's grace, SIGKILL.
    pub async fn cancel(&self) -> Result<Arc<ChildExit>, ExecError> {
        self.request_cancel();
        self.wait().await
    }

    /// Ends the whole tree without waiting.
    pub fn request_cancel(&self) {
        self.send_command(COMMAND_CANCEL);
    }

    /// Kills the whole tree without waiting, and without (the rest of) the grace period.
    pub fn kill(&self) {
        self.send_command(COMMAND_KILL);
    }

    fn send_command(&self, command: u8) {
        // One byte always fits into the socket. If the shim is gone, nobody is left to command.
        let _ = rustix::net::send(
            &self.control,
            &[command],
            rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT,
        );
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        if self.is_running() {
            self.request_cancel();
        }
    }
}
