//! The task that watches one child until no process of it lives, and the pipes of that child.

use crate::child::{Child, ChildExit, ChildOutcome};
use crate::error::ExecError;
use crate::output::pump::{OutputBuffers, PieceSender, pump};
use crate::output::{ChildStream, OutputPiece};
use crate::peer::access::AccessEntry;
use crate::sandbox_level::SandboxLevel;
use crate::shim::LeftBehind;
use crate::shim_protocol::{self, ExitReport, MESSAGE_BYTES_MAX, ShimReport};
use crate::spawn_plan::OutputMode;
use hob_kit::mask::SecretMask;
use hob_kit::tasks::TaskGroup;
use rustix::fd::OwnedFd;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

/// Chunks that wait for the receiver.
const PIECES_MAX: usize = 16;
/// Lines that wait for the receiver; a service prints them in bursts.
const LINES_MAX: usize = 1024;

/// The daemon's ends of a child's pipes, and the child's ends until they are sent to the shim.
pub(crate) struct ChildPipes {
    pub(crate) stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    /// In the order of their descriptor numbers.
    pub(crate) theirs: Option<[OwnedFd; 3]>,
}

impl ChildPipes {
    pub(crate) fn create(empty_stdin: bool) -> io::Result<ChildPipes> {
        let (stdin_reads, stdin_writes) = create_pipe()?;
        let (stdout_reads, stdout_writes) = create_pipe()?;
        let (stderr_reads, stderr_writes) = create_pipe()?;
        let (stdin, stdin_reads) = if empty_stdin {
            (None, OwnedFd::from(std::fs::File::open("/dev/null")?))
        } else {
            let stdin = pipe::Sender::from_owned_fd(stdin_writes)?;
            (Some(stdin), stdin_reads)
        };
        Ok(ChildPipes {
            stdin,
            stdout: pipe::Receiver::from_owned_fd(stdout_reads)?,
            stderr: pipe::Receiver::from_owned_fd(stderr_reads)?,
            theirs: Some([stdin_reads, stdout_writes, stderr_writes]),
        })
    }
}

fn create_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// The work that empties a child's pipes. It ends when they are closed.
pub(crate) struct OutputPumps {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    gone: watch::Sender<bool>,
}

impl OutputPumps {
    pub(crate) fn start(
        pipes: ChildPipes,
        output_mode: OutputMode,
        mask: Option<&SecretMask>,
        child: &mut Child,
    ) -> OutputPumps {
        let (gone, is_gone) = watch::channel(false);
        let room = if output_mode == OutputMode::Lines {
            LINES_MAX
        } else {
            PIECES_MAX
        };
        let sender: Option<mpsc::Sender<OutputPiece>> = match output_mode {
            OutputMode::Kept | OutputMode::Pipes => None,
            OutputMode::Chunks | OutputMode::Lines => {
                let (sender, receiver) = mpsc::channel(room);
                *child.pieces.get_mut() = Some(receiver);
                Some(sender)
            }
        };
        let piece_sender = |stream| PieceSender {
            stream,
            output_mode,
            mask: mask.map(SecretMask::stream),
            sender: sender.clone(),
            child_gone: is_gone.clone(),
        };
        let stderr = pump(
            pipes.stderr,
            Arc::clone(&child.buffers),
            piece_sender(ChildStream::Stderr),
        );
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = if output_mode == OutputMode::Pipes {
            if let Ok(stdout) = child.stdout.get_mut() {
                *stdout = Some(pipes.stdout);
            }
            Box::pin(stderr)
        } else {
            let stdout = pump(
                pipes.stdout,
                Arc::clone(&child.buffers),
                piece_sender(ChildStream::Stdout),
            );
            Box::pin(async move {
                tokio::join!(stdout, stderr);
            })
        };
        OutputPumps { work, gone }
    }
}

/// Everything that belongs to one running child.
pub(crate) struct ChildWatcher {
    pub(crate) control: UnixStream,
    pub(crate) shim: tokio::process::Child,
    pub(crate) level: SandboxLevel,
    pub(crate) started_at: Instant,
    pub(crate) buffers: Arc<OutputBuffers>,
    pub(crate) tasks: TaskGroup,
    /// Removed from the table when the watcher is dropped.
    pub(crate) _access: Option<AccessEntry>,
}

impl ChildWatcher {
    pub(crate) async fn watch(mut self, pumps: OutputPumps, tell: watch::Sender<ChildOutcome>) {
        let OutputPumps { work, gone } = pumps;
        let end = async {
            let found = self.wait_for_report().await;
            let duration = self.started_at.elapsed();
            // From here on, a receiver that does not read delays the pumps only for a bounded time.
            gone.send_replace(true);
            // The shim exits right after its last report; waiting reaps it.
            let _ = self.shim.wait().await;
            (found, duration)
        };
        // The pipes may hold output when the last report comes, so the outcome waits for both.
        let ((found, duration), ()) = tokio::join!(end, work);
        let stdout = self
            .buffers
            .with_buffer(ChildStream::Stdout, |buffer| buffer.snapshot());
        let stderr = self
            .buffers
            .with_buffer(ChildStream::Stderr, |buffer| buffer.snapshot());
        let outcome = match found {
            Some(ShimReport::Ended(ExitReport {
                ended,
                cause,
                usage,
                left_behind,
            })) => Ok(Arc::new(ChildExit {
                status: ended,
                cause,
                level: self.level,
                usage,
                duration,
                stdout,
                stderr,
                output_file: self.buffers.close_file().await,
                dropped_lines: self.buffers.dropped_lines.load(Ordering::Relaxed),
                left_behind: log_left_behind(left_behind),
            })),
            Some(ShimReport::Failed(ExecError::Start(reason))) => {
                // Bubblewrap prints the reason to stderr.
                Err(ExecError::Start(format!(
                    "{reason}: {}",
                    stderr.text().trim()
                )))
            }
            Some(ShimReport::Failed(error)) => Err(error),
            Some(ShimReport::Started { .. }) | None => Err(ExecError::Lost),
        };
        tell.send_replace(Some(outcome));
    }

    /// Waits for the shim's last report. When the daemon stops, the shim is told to end first.
    async fn wait_for_report(&mut self) -> Option<ShimReport> {
        let tasks = self.tasks.clone();
        let (mut reports, mut orders) = self.control.split();
        let mut report = Box::pin(read_report(&mut reports));
        tokio::select! {
            found = &mut report => return found,
            () = tasks.stopping() => {}
        }
        // Closing our half of the socket tells the shim to end; its report still arrives. The same
        // read goes on, because it may have read a part of the report.
        let _ = tokio::io::AsyncWriteExt::shutdown(&mut orders).await;
        report.await
    }
}

/// Logs each quarantined repository.
fn log_left_behind(left: LeftBehind) -> LeftBehind {
    for found in &left.quarantined {
        let renamed = found.renamed.as_deref().map(std::path::Path::display);
        let renamed = renamed.map(|path| path.to_string());
        tracing::warn!(
            path = %found.path.display(),
            renamed,
            reason = found.reason,
            "a command created a git repository that would run a program"
        );
    }
    left
}

/// Reads one report; none if the shim is gone or the message is malformed.
pub(crate) async fn read_report(control: &mut (impl AsyncRead + Unpin)) -> Option<ShimReport> {
    let length = control.read_u32_le().await.ok()?;
    if length > MESSAGE_BYTES_MAX {
        return None;
    }
    let mut body = vec![0; usize::try_from(length).ok()?];
    control.read_exact(&mut body).await.ok()?;
    shim_protocol::decode(&body).ok()
}
