//! The task that watches one child until nothing of it lives, and the ends of its pipes.

use crate::child::{Child, Exit, Outcome};
use crate::error::ExecError;
use crate::level::Level;
use crate::order::{self, Ending, MESSAGE_BYTES_MAX, Report};
use crate::output::pump::{Basin, Drain, pump};
use crate::output::{Piece, Source};
use crate::peer::access::AccessEntry;
use crate::plan::Feed;
use crate::shim::LeftBehind;
use hob_kit::mask::Mask;
use hob_kit::tasks::Tasks;
use rustix::fd::OwnedFd;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

/// Pieces that wait for their taker.
const PIECES_MAX: usize = 16;
/// Lines that wait for their taker; a service prints them in bursts.
const LINES_MAX: usize = 1024;

/// The daemon's ends of a child's pipes, and the child's until they are handed over.
pub(crate) struct Pipes {
    pub(crate) stdin: Option<pipe::Sender>,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
    /// In the order of their numbers.
    pub(crate) theirs: Option<[OwnedFd; 3]>,
}

impl Pipes {
    pub(crate) fn make(empty_stdin: bool) -> io::Result<Pipes> {
        let (stdin_reads, stdin_writes) = make_pipe()?;
        let (stdout_reads, stdout_writes) = make_pipe()?;
        let (stderr_reads, stderr_writes) = make_pipe()?;
        let (stdin, stdin_reads) = if empty_stdin {
            (None, OwnedFd::from(std::fs::File::open("/dev/null")?))
        } else {
            let stdin = pipe::Sender::from_owned_fd(stdin_writes)?;
            (Some(stdin), stdin_reads)
        };
        Ok(Pipes {
            stdin,
            stdout: pipe::Receiver::from_owned_fd(stdout_reads)?,
            stderr: pipe::Receiver::from_owned_fd(stderr_reads)?,
            theirs: Some([stdin_reads, stdout_writes, stderr_writes]),
        })
    }
}

fn make_pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?)
}

/// What empties the pipes; ends when they do.
pub(crate) struct Pumps {
    work: Pin<Box<dyn Future<Output = ()> + Send>>,
    gone: watch::Sender<bool>,
}

impl Pumps {
    pub(crate) fn begin(pipes: Pipes, feed: Feed, mask: Option<&Mask>, child: &mut Child) -> Pumps {
        let (gone, is_gone) = watch::channel(false);
        let room = if feed == Feed::Lines {
            LINES_MAX
        } else {
            PIECES_MAX
        };
        let taker: Option<mpsc::Sender<Piece>> = match feed {
            Feed::Kept | Feed::Pipes => None,
            Feed::Chunks | Feed::Lines => {
                let (gives, takes) = mpsc::channel(room);
                *child.pieces.get_mut() = Some(takes);
                Some(gives)
            }
        };
        let drain = |source| Drain {
            source,
            feed,
            mask: mask.map(Mask::stream),
            taker: taker.clone(),
            gone: is_gone.clone(),
        };
        let stderr = pump(
            pipes.stderr,
            Arc::clone(&child.basin),
            drain(Source::Stderr),
        );
        let work: Pin<Box<dyn Future<Output = ()> + Send>> = if feed == Feed::Pipes {
            if let Ok(stdout) = child.stdout.get_mut() {
                *stdout = Some(pipes.stdout);
            }
            Box::pin(stderr)
        } else {
            let stdout = pump(
                pipes.stdout,
                Arc::clone(&child.basin),
                drain(Source::Stdout),
            );
            Box::pin(async move {
                tokio::join!(stdout, stderr);
            })
        };
        Pumps { work, gone }
    }
}

/// Everything that belongs to one running child.
pub(crate) struct Watcher {
    pub(crate) control: UnixStream,
    pub(crate) shim: tokio::process::Child,
    pub(crate) level: Level,
    pub(crate) begun: Instant,
    pub(crate) basin: Arc<Basin>,
    pub(crate) tasks: Tasks,
    /// Taken away with the watcher.
    pub(crate) _access: Option<AccessEntry>,
}

impl Watcher {
    pub(crate) async fn watch(mut self, pumps: Pumps, tell: watch::Sender<Outcome>) {
        let Pumps { work, gone } = pumps;
        let end = async {
            let found = self.ending().await;
            let duration = self.begun.elapsed();
            gone.send_replace(true);
            // The shim ends right after its last word.
            let _ = self.shim.wait().await;
            (found, duration)
        };
        let ((found, duration), ()) = tokio::join!(end, work);
        let stdout = self.basin.look(Source::Stdout, |keep| keep.kept());
        let stderr = self.basin.look(Source::Stderr, |keep| keep.kept());
        let outcome = match found {
            Some(Report::Ended(Ending {
                ended,
                cause,
                usage,
                left_behind,
            })) => Ok(Arc::new(Exit {
                ended,
                cause,
                level: self.level,
                usage,
                duration,
                stdout,
                stderr,
                output_file: self.basin.close_file().await,
                dropped_lines: self.basin.dropped_lines.load(Ordering::Relaxed),
                left_behind: logged(left_behind),
            })),
            Some(Report::Failed(ExecError::Start(said))) => {
                // What bubblewrap had to say is the reason.
                Err(ExecError::Start(format!(
                    "{said}: {}",
                    stderr.text().trim()
                )))
            }
            Some(Report::Failed(error)) => Err(error),
            Some(Report::Started { .. }) | None => Err(ExecError::Lost),
        };
        tell.send_replace(Some(outcome));
    }

    /// The shim's last word. When the house stops, the shim is told to end first.
    async fn ending(&mut self) -> Option<Report> {
        let tasks = self.tasks.clone();
        let mut report = Box::pin(report(&mut self.control));
        tokio::select! {
            found = &mut report => return found,
            () = tasks.stopping() => {}
        }
        drop(report);
        // Closing our half is the order to end; its answer still comes.
        let _ = tokio::io::AsyncWriteExt::shutdown(&mut self.control).await;
        self::report(&mut self.control).await
    }
}

/// Says in the log what a person should know of.
fn logged(left: LeftBehind) -> LeftBehind {
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

/// One report; none when the shim is gone or speaks nonsense.
pub(crate) async fn report(control: &mut UnixStream) -> Option<Report> {
    let length = control.read_u32_le().await.ok()?;
    if length > MESSAGE_BYTES_MAX {
        return None;
    }
    let mut body = vec![0; usize::try_from(length).ok()?];
    control.read_exact(&mut body).await.ok()?;
    order::decode(&body).ok()
}
