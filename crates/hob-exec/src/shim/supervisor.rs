//! The life of one run: take the order, start the program, watch, end everything, report.
//!
//! Invariant: whatever happens after the start, `end` runs, and nothing is reported as ended while
//! a descendant lives.

use super::bound_files::Watch;
use super::cage::Cage;
use super::census::Census;
use super::placeholder::Placeholders;
use super::start::{self, Pipes, Started};
use super::{after_run, sys, tree};
use crate::error::ExecError;
use crate::level::Bound;
use crate::order::{
    self, COMMAND_CANCEL, COMMAND_KILL, Cause, Ended, Ending, Order, Report, Usage,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::Signal;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const WATCH_PRIORITY: i32 = -20;
const WATCH_DISK: Duration = Duration::from_millis(200);
/// How often the tree is looked at while it is given time to end.
const GRACE_STEP: Duration = Duration::from_millis(15);
/// The most that bubblewrap says about its sandbox.
const STATUS_BYTES_MAX: u64 = 64 * 1024;

pub(super) fn run() -> io::Result<()> {
    sys::close_on_exec()?;
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let mut control = UnixStream::from(control);
    crate::descent::mark_this_process()?;
    rustix::process::setsid()?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    let signals = sys::signals()?;
    let pipes = receive_pipes(&control)?;
    let order: Order = order::read(&mut control)?;
    let ending = match Keeper::begin(order, pipes, control.try_clone()?, signals) {
        Ok(keeper) => keeper.keep(),
        Err(error) => Report::Failed(error),
    };
    order::write(&mut control, &ending)
}

/// The first byte of the control socket carries the child's descriptors.
fn receive_pipes(control: &UnixStream) -> io::Result<Pipes> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(control, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut found: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = message {
            found.extend(descriptors);
        }
    }
    let network = (found.len() == 4).then(|| found.pop()).flatten();
    let [stdin, stdout, stderr] =
        <[OwnedFd; 3]>::try_from(found).map_err(|_| io::Error::other("no descriptors"))?;
    Ok(Pipes {
        stdin,
        stdout,
        stderr,
        network,
    })
}

struct Keeper {
    order: Order,
    control: UnixStream,
    signals: OwnedFd,
    started: Started,
    cage: Option<Cage>,
    placeholders: Placeholders,
    deadline: Option<Instant>,
    ended: Option<Ended>,
    usage: Usage,
    /// Whether the disks had room when the run began.
    had_room: bool,
    /// The daemon wants the end without the time of grace.
    impatient: bool,
    /// Counts processes where the kernel does not.
    census: Option<Census>,
    /// Watches the scripts that a person approved.
    scripts: Option<Watch>,
}

impl Keeper {
    fn begin(
        mut order: Order,
        pipes: Pipes,
        mut control: UnixStream,
        signals: OwnedFd,
    ) -> Result<Keeper, ExecError> {
        let failed = |error: io::Error| ExecError::Start(error.to_string());
        let deadline = order
            .deadline_ms
            .map(|after| Instant::now() + Duration::from_millis(after));
        let placeholders = match &mut order.policy {
            Some(policy) => Placeholders::make(policy).map_err(failed)?,
            None => Placeholders::default(),
        };
        let scripts = order.policy.as_ref().map(Watch::begin).transpose();
        let scripts = match scripts {
            Ok(scripts) => scripts.flatten(),
            Err(error) => {
                placeholders.remove();
                return Err(failed(error));
            }
        };
        if order.processes == Bound::Watched {
            // Whoever counts must not wait in line with those it counts; only root is above
            // `RLIMIT_NPROC`, and root may do this.
            let _ = rustix::process::setpriority_process(None, WATCH_PRIORITY);
        }
        let counted = order.processes == Bound::Cgroup;
        let cage = Cage::make(counted.then_some(order.limits.processes));
        let policy = order.policy.as_ref();
        let started = start::start(&order, policy, cage.as_ref(), scripts.as_ref(), pipes);
        let started = match started {
            Ok(started) => started,
            Err(error) => {
                placeholders.remove();
                if let Some(cage) = cage {
                    cage.remove();
                }
                return Err(error);
            }
        };
        // A daemon that is gone is noticed in the loop.
        let _ = order::write(&mut control, &Report::Started { pid: started.pid });
        let watched = order.processes == Bound::Watched;
        let census = watched.then(|| Census::new(order.limits.processes, Instant::now()));
        let mut keeper = Keeper {
            order,
            control,
            signals,
            started,
            cage,
            placeholders,
            deadline,
            ended: None,
            usage: Usage::default(),
            had_room: false,
            impatient: false,
            census,
            scripts,
        };
        keeper.had_room = keeper.has_room();
        keeper.open_gate();
        Ok(keeper)
    }

    /// Lets the program begin, unless its script was replaced: then it is ended behind the gate.
    fn open_gate(&mut self) {
        let Some(watch) = &mut self.scripts else {
            return;
        };
        if watch.wait_until_quiet()
            && let Some(mut gate) = self.started.gate.take()
        {
            // A sandbox that failed to stand does not read it.
            let _ = gate.write_all(b"\n");
        }
    }

    fn keep(mut self) -> Report {
        let cause = self.watch();
        self.end(cause);
        let failure = self.bubblewrap_failure(cause);
        if let Some(cage) = &self.cage {
            cage.remove();
        }
        let left_behind = self.order.policy.as_ref().map(after_run::inspect);
        self.placeholders.remove();
        if let Some(failure) = failure {
            return Report::Failed(failure);
        }
        Report::Ended(Ending {
            left_behind: left_behind.unwrap_or_default(),
            // What could not be waited for was killed.
            ended: self.ended.unwrap_or(Ended::Signal(libc::SIGKILL)),
            cause,
            usage: self.usage,
        })
    }

    /// Waits until there is a reason to end.
    fn watch(&mut self) -> Cause {
        let mut disk_due = Instant::now() + WATCH_DISK;
        loop {
            let asked = sys::drain_signals(&self.signals);
            self.reap();
            if self.scripts.as_mut().is_some_and(Watch::is_replaced) {
                return Cause::Replaced;
            }
            if self.ended.is_some() {
                return Cause::Itself;
            }
            if asked {
                return Cause::Cancelled;
            }
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| deadline <= now) {
                return Cause::Deadline;
            }
            if self.census.as_mut().is_some_and(|it| it.exceeds(now)) {
                return Cause::Processes;
            }
            if self.had_room && disk_due <= now {
                disk_due = now + WATCH_DISK;
                if !self.has_room() {
                    return Cause::Disk;
                }
            }
            let due = [
                self.deadline.map(|deadline| deadline - now),
                self.census.as_ref().map(|census| census.pause(now)),
                self.had_room
                    .then(|| disk_due.saturating_duration_since(now)),
            ];
            if self.wait(due.into_iter().flatten().min()) {
                return Cause::Cancelled;
            }
        }
    }

    /// Waits for a signal, a command or the time; true when the daemon wants the end or is gone.
    fn wait(&mut self, at_most: Option<Duration>) -> bool {
        let timeout = at_most.and_then(|time| Timespec::try_from(time).ok());
        let mut waits = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.control, PollFlags::IN),
        ];
        let watch = self.scripts.as_ref().filter(|watch| !watch.is_over());
        let watch = watch.map(Watch::descriptor);
        if let Some(watch) = &watch {
            waits.push(PollFd::new(watch, PollFlags::IN));
        }
        if rustix::event::poll(&mut waits, timeout.as_ref()).is_err() {
            return false;
        }
        if waits[1].revents().is_empty() {
            return false;
        }
        let mut command = [0];
        match self.control.read(&mut command) {
            Ok(0) => true,
            Ok(_) => {
                self.impatient |= command[0] == COMMAND_KILL;
                self.impatient || command[0] == COMMAND_CANCEL
            }
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Ends every descendant: politely for the time of grace, then at once.
    fn end(&mut self, cause: Cause) {
        let polite = !matches!(cause, Cause::Processes | Cause::Replaced);
        if cause == Cause::Replaced {
            // At once: it may be about to read what nobody approved.
            tree::signal(&[self.started.pid], Signal::KILL);
        }
        let until = Instant::now() + Duration::from_millis(self.order.grace_ms);
        if polite {
            let spared = self.is_bubblewrapped().then_some(self.started.pid);
            let mut told = tree::descendants();
            // Bubblewrap takes all it holds with it; what it holds is told first.
            told.retain(|pid| Some(*pid) != spared);
            tree::signal(&told, Signal::TERM);
            while Instant::now() < until && !self.is_hurried() {
                sys::drain_signals(&self.signals);
                self.reap();
                if tree::descendants().is_empty() {
                    break;
                }
                let timeout = Timespec::try_from(GRACE_STEP).ok();
                let mut waits = [PollFd::new(&self.signals, PollFlags::IN)];
                let _ = rustix::event::poll(&mut waits, timeout.as_ref());
            }
        }
        if self.is_bubblewrapped() {
            // Its namespace of processes goes with it, all at once.
            tree::signal(&[self.started.pid], Signal::KILL);
        }
        if let Some(cage) = &self.cage {
            cage.kill();
        }
        tree::end_now(|| {
            while let Some(reaped) = sys::reap() {
                note(&reaped, self.started.pid, &mut self.ended, &mut self.usage);
            }
        });
        self.reap();
    }

    /// Whether the daemon has cut the time of grace short. One that is gone has not.
    fn is_hurried(&mut self) -> bool {
        let mut command = [0];
        let flags = RecvFlags::DONTWAIT;
        let read = rustix::net::recv(&self.control, &mut command[..], flags);
        self.impatient |= matches!(read, Ok((1, _))) && command[0] == COMMAND_KILL;
        self.impatient
    }

    fn reap(&mut self) {
        while let Some(reaped) = sys::reap() {
            note(&reaped, self.started.pid, &mut self.ended, &mut self.usage);
        }
    }

    fn is_bubblewrapped(&self) -> bool {
        self.started.status.is_some()
    }

    /// Whether every disk the run may write to has room.
    fn has_room(&self) -> bool {
        let Some(policy) = &self.order.policy else {
            return false;
        };
        let limits = &self.order.limits;
        let roomy = |root: &PathBuf| {
            rustix::fs::statvfs(root).is_ok_and(|found| {
                found.f_bavail.saturating_mul(found.f_frsize) >= limits.disk_free_bytes
            })
        };
        policy.write.iter().all(roomy)
    }

    /// Bubblewrap says how the program ended only if its sandbox stood.
    fn bubblewrap_failure(&mut self, cause: Cause) -> Option<ExecError> {
        let status = self.started.status.as_mut()?;
        let mut said = String::new();
        let _ = status.take(STATUS_BYTES_MAX).read_to_string(&mut said);
        let failed = cause == Cause::Itself
            && matches!(self.ended, Some(Ended::Code(_)))
            && !said.contains("\"exit-code\"");
        failed.then(|| ExecError::Start("bubblewrap could not set up the sandbox".to_owned()))
    }
}

fn note(reaped: &sys::Reaped, main: i32, ended: &mut Option<Ended>, usage: &mut Usage) {
    if reaped.pid == main {
        *ended = Some(reaped.ended);
    }
    usage.cpu_user_ms += reaped.usage.cpu_user_ms;
    usage.cpu_system_ms += reaped.usage.cpu_system_ms;
    usage.peak_bytes = usage.peak_bytes.max(reaped.usage.peak_bytes);
}
