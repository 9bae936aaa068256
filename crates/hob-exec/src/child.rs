//! A running child, and how it ended.
//!
//! Invariant: a child that is dropped is cancelled; it is over only when nothing of its tree lives.

use crate::error::ExecError;
use crate::level::Level;
use crate::order::{COMMAND_CANCEL, COMMAND_KILL, Cause, Ended, Usage};
use crate::output::pump::Basin;
use crate::output::{Kept, Piece, Since, Source};
use crate::shim::LeftBehind;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{Mutex, mpsc, watch};

/// How a run ended, once nothing of it lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exit {
    pub ended: Ended,
    pub cause: Cause,
    /// The walls it ran behind.
    pub level: Level,
    pub usage: Usage,
    pub duration: Duration,
    pub stdout: Kept,
    pub stderr: Kept,
    /// The length of the plan's output file, and whether it lacks something.
    pub output_file: Option<(u64, bool)>,
    /// Lines nobody had room for ([`crate::Feed::Lines`]).
    pub dropped_lines: u64,
    /// What it left behind that would run by itself.
    pub left_behind: LeftBehind,
}

impl Exit {
    pub fn is_success(&self) -> bool {
        self.cause == Cause::Itself && self.ended == Ended::Code(0)
    }
}

pub(crate) type Outcome = Option<Result<Arc<Exit>, ExecError>>;

/// A running child. Dropping it cancels it; a background process lies in its
/// [`crate::Spawner`] instead.
#[derive(Debug)]
pub struct Child {
    pub(crate) pid: i32,
    pub(crate) level: Level,
    pub(crate) command: String,
    pub(crate) begun: Instant,
    pub(crate) control: std::os::unix::net::UnixStream,
    pub(crate) stdin: Mutex<Option<pipe::Sender>>,
    pub(crate) pieces: Mutex<Option<mpsc::Receiver<Piece>>>,
    pub(crate) stdout: std::sync::Mutex<Option<pipe::Receiver>>,
    pub(crate) listener: std::sync::Mutex<Option<std::net::TcpListener>>,
    pub(crate) basin: Arc<Basin>,
    pub(crate) outcome: watch::Receiver<Outcome>,
}

impl Child {
    /// The first process, as this machine numbers it; bubblewrap's own under bubblewrap.
    pub fn pid(&self) -> i32 {
        self.pid
    }

    pub fn level(&self) -> Level {
        self.level
    }

    /// The program and its arguments, for people.
    pub fn command(&self) -> &str {
        &self.command
    }

    pub fn age(&self) -> Duration {
        self.begun.elapsed()
    }

    pub fn is_running(&self) -> bool {
        self.outcome.borrow().is_none()
    }

    /// The next piece of output; none after the last one, or when the plan's feed gives none.
    /// With [`crate::Feed::Chunks`] take all pieces before waiting: untaken ones hold the child up.
    pub async fn next(&self) -> Option<Piece> {
        self.pieces.lock().await.as_mut()?.recv().await
    }

    /// The head and tail of a stream so far.
    pub fn so_far(&self, source: Source) -> Kept {
        self.basin.look(source, |keep| keep.kept())
    }

    /// What a stream printed from byte `from` on.
    pub fn since(&self, source: Source, from: u64) -> Since {
        self.basin.look(source, |keep| keep.since(from))
    }

    /// Lines dropped so far because nobody had room.
    pub fn dropped_lines(&self) -> u64 {
        self.basin.dropped_lines.load(Ordering::Relaxed)
    }

    /// Writes all of it, as fast as the child reads.
    pub async fn write_stdin(&self, bytes: &[u8]) -> Result<(), ExecError> {
        let mut stdin = self.stdin.lock().await;
        let pipe = stdin.as_mut().ok_or(ExecError::StdinClosed)?;
        if pipe.write_all(bytes).await.is_err() {
            *stdin = None;
            return Err(ExecError::StdinClosed);
        }
        Ok(())
    }

    /// The child reads the end of its input.
    pub async fn close_stdin(&self) {
        *self.stdin.lock().await = None;
    }

    /// The child's stdin and stdout themselves, once, with [`crate::Feed::Pipes`].
    pub async fn take_pipes(&self) -> Option<(pipe::Sender, pipe::Receiver)> {
        let stdout = {
            // A std mutex, held to take one value.
            let mut held = self.stdout.lock();
            held.as_mut().ok()?.take()?
        };
        Some((self.stdin.lock().await.take()?, stdout))
    }

    /// The socket that listens on the loopback of the child's own network, once
    /// ([`crate::NetworkAccess::Proxy`]). Whoever accepts on it is the child's only way out.
    pub fn take_listener(&self) -> Option<std::net::TcpListener> {
        // A std mutex, held to take one value.
        self.listener.lock().ok()?.take()
    }

    /// Resolves when the child is over; holds nothing of the child itself.
    pub fn ended(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut outcome = self.outcome.clone();
        async move {
            // An error means that nobody watches any more, which is an end too.
            let _ = outcome.wait_for(Option::is_some).await;
        }
    }

    /// Waits for the end.
    pub async fn wait(&self) -> Result<Arc<Exit>, ExecError> {
        let mut outcome = self.outcome.clone();
        let found = outcome.wait_for(Option::is_some).await;
        match found.as_deref() {
            Ok(Some(outcome)) => outcome.clone(),
            _ => Err(ExecError::Lost),
        }
    }

    /// Ends the whole tree and waits for it: SIGTERM, the plan's grace, SIGKILL.
    pub async fn cancel(&self) -> Result<Arc<Exit>, ExecError> {
        self.tell_to_end();
        self.wait().await
    }

    /// Ends the whole tree without waiting.
    pub fn tell_to_end(&self) {
        self.tell(COMMAND_CANCEL);
    }

    /// Ends the whole tree without waiting, and without the time of grace or the rest of it.
    pub fn kill(&self) {
        self.tell(COMMAND_KILL);
    }

    fn tell(&self, command: u8) {
        // One byte always fits; if the shim is gone there is nothing to tell.
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
            self.tell_to_end();
        }
    }
}
