//! Supervises one run: reads the request, starts the program, waits, ends all processes, reports.
//!
//! Invariant: after the start, `end_run` always runs, and no end is reported while a descendant
//! lives.

use super::bound_files::BoundFileWatch;
use super::cgroup::RunCgroup;
use super::placeholder::PlaceholderSet;
use super::start::{self, ChildDescriptors, StartedRun};
use super::task_counter::TaskCounter;
use super::{after_run, sys, tree};
use crate::error::ExecError;
use crate::sandbox_level::ProcessLimiter;
use crate::shim_protocol::{
    self, COMMAND_CANCEL, COMMAND_KILL, ExitCause, ExitReport, ResourceUsage, ShimReport,
    ShimRequest, WaitStatus,
};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::fd::OwnedFd;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags};
use rustix::process::Signal;
use std::io::{self, IoSliceMut, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const COUNTING_PRIORITY: i32 = -20;
const DISK_CHECK_INTERVAL: Duration = Duration::from_millis(200);
/// The interval of checks during the grace period.
const GRACE_STEP: Duration = Duration::from_millis(15);
/// The longest status output of bubblewrap.
const STATUS_BYTES_MAX: u64 = 64 * 1024;

pub(super) fn run() -> io::Result<()> {
    // Before anything is started: a descriptor that leaked from the daemon must not reach a
    // program.
    sys::close_on_exec()?;
    let control = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let mut control = UnixStream::from(control);
    // Before the first fork, so that every descendant inherits the mark.
    crate::descent::mark_this_process()?;
    // Without a controlling terminal a run gets no Ctrl-C of the daemon's and cannot type into it.
    rustix::process::setsid()?;
    // Orphaned descendants become children of this process, so none can escape by a double fork.
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // Blocked before the program starts, so that no SIGCHLD is lost.
    let signals = sys::open_signalfd()?;
    let descriptors = receive_descriptors(&control)?;
    let request: ShimRequest = shim_protocol::read_message(&mut control)?;
    let report = match RunSupervisor::start(request, descriptors, control.try_clone()?, signals) {
        Ok(supervisor) => supervisor.supervise(),
        Err(error) => ShimReport::Failed(error),
    };
    shim_protocol::write_message(&mut control, &report)
}

/// Receives the child's descriptors with the first byte of the control socket.
fn receive_descriptors(control: &UnixStream) -> io::Result<ChildDescriptors> {
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0_u8; 1];
    let mut parts = [IoSliceMut::new(&mut byte)];
    rustix::net::recvmsg(control, &mut parts, &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let mut found: Vec<OwnedFd> = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(received) = message {
            found.extend(received);
        }
    }
    let network = (found.len() == 4).then(|| found.pop()).flatten();
    let [stdin, stdout, stderr] =
        <[OwnedFd; 3]>::try_from(found).map_err(|_| io::Error::other("no descriptors"))?;
    Ok(ChildDescriptors {
        stdin,
        stdout,
        stderr,
        network,
    })
}

struct RunSupervisor {
    request: ShimRequest,
    control: UnixStream,
    signals: OwnedFd,
    started: StartedRun,
    cgroup: Option<RunCgroup>,
    placeholders: PlaceholderSet,
    deadline: Option<Instant>,
    status: Option<WaitStatus>,
    usage: ResourceUsage,
    /// True if the disks had room at the start of the run.
    disks_had_room: bool,
    /// True if the daemon asked for an end without grace period.
    skip_grace: bool,
    /// Counts processes where the kernel does not limit them.
    task_counter: Option<TaskCounter>,
    /// Watches the scripts that a user approved.
    script_watch: Option<BoundFileWatch>,
}

impl RunSupervisor {
    fn start(
        mut request: ShimRequest,
        descriptors: ChildDescriptors,
        mut control: UnixStream,
        signals: OwnedFd,
    ) -> Result<RunSupervisor, ExecError> {
        let failed = |error: io::Error| ExecError::Start(error.to_string());
        // Counted from here, because the set-up of the sandbox is part of the run's time.
        let deadline = request
            .deadline_ms
            .map(|after| Instant::now() + Duration::from_millis(after));
        // Placeholders first: the sandbox can mount only over paths that exist.
        let placeholders = match &mut request.policy {
            Some(policy) => PlaceholderSet::create(policy).map_err(failed)?,
            None => PlaceholderSet::default(),
        };
        let policy = request.policy.as_ref();
        let script_watch = match policy.map(BoundFileWatch::start).transpose() {
            Ok(script_watch) => script_watch.flatten(),
            Err(error) => {
                placeholders.remove();
                return Err(failed(error));
            }
        };
        let watched = request.processes == ProcessLimiter::Watched;
        if watched {
            // The counter must not wait in the run queue behind the processes it counts. Only root
            // is counted like this, and root may raise its priority.
            let _ = rustix::process::setpriority_process(None, COUNTING_PRIORITY);
        }
        let counted = request.processes == ProcessLimiter::Cgroup;
        let cgroup = RunCgroup::create(counted.then_some(request.limits.processes));
        let watch = script_watch.as_ref();
        let started = match start::start(&request, policy, cgroup.as_ref(), watch, descriptors) {
            Ok(started) => started,
            Err(error) => {
                placeholders.remove();
                if let Some(cgroup) = cgroup {
                    cgroup.remove();
                }
                return Err(error);
            }
        };
        // If the daemon is gone, the wait loop notices it.
        let _ =
            shim_protocol::write_message(&mut control, &ShimReport::Started { pid: started.pid });
        let task_counter =
            watched.then(|| TaskCounter::new(request.limits.processes, Instant::now()));
        let mut supervisor = RunSupervisor {
            request,
            control,
            signals,
            started,
            cgroup,
            placeholders,
            deadline,
            status: None,
            usage: ResourceUsage::default(),
            disks_had_room: false,
            skip_grace: false,
            task_counter,
            script_watch,
        };
        // A disk that is full already would end every run at once, so it is not watched then.
        supervisor.disks_had_room = supervisor.have_disks_room();
        supervisor.open_gate();
        Ok(supervisor)
    }

    /// Lets the program start. If its script was replaced the gate stays closed, and the run ends.
    fn open_gate(&mut self) {
        let Some(watch) = &mut self.script_watch else {
            return;
        };
        if watch.wait_until_quiet()
            && let Some(mut gate) = self.started.gate.take()
        {
            // If bubblewrap failed, nobody reads it.
            let _ = gate.write_all(b"\n");
        }
    }

    fn supervise(mut self) -> ShimReport {
        let cause = self.wait_for_cause();
        self.end_run(cause);
        let failure = self.bubblewrap_failure(cause);
        if let Some(cgroup) = &self.cgroup {
            cgroup.remove();
        }
        // The inspection needs a still tree, so it follows the end of all processes. Placeholders
        // stay until then: they are protected paths and no leftovers.
        let left_behind = self
            .request
            .policy
            .as_ref()
            .map(after_run::inspect_and_quarantine);
        self.placeholders.remove();
        if let Some(failure) = failure {
            return ShimReport::Failed(failure);
        }
        ShimReport::Ended(ExitReport {
            left_behind: left_behind.unwrap_or_default(),
            // A process that could not be reaped was killed.
            ended: self.status.unwrap_or(WaitStatus::Signal(libc::SIGKILL)),
            cause,
            usage: self.usage,
        })
    }

    /// Waits until there is a reason to end the run.
    fn wait_for_cause(&mut self) -> ExitCause {
        // Each check asks the file system of every writable root, so there are pauses between them.
        let mut disk_due = Instant::now() + DISK_CHECK_INTERVAL;
        loop {
            // Signals are drained before reaping: a child that ends in between leaves a new signal.
            let is_end_requested = sys::drain_signals(&self.signals);
            self.reap();
            // Checked before the exit: a run of a replaced script must never look successful.
            if self
                .script_watch
                .as_mut()
                .is_some_and(BoundFileWatch::is_replaced)
            {
                return ExitCause::Replaced;
            }
            // An exit wins over a deadline or cancellation of the same moment, because its result
            // is known.
            if self.status.is_some() {
                return ExitCause::Itself;
            }
            if is_end_requested {
                return ExitCause::Cancelled;
            }
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| deadline <= now) {
                return ExitCause::Deadline;
            }
            if self
                .task_counter
                .as_mut()
                .is_some_and(|counter| counter.is_exceeded(now))
            {
                return ExitCause::Processes;
            }
            if self.disks_had_room && disk_due <= now {
                disk_due = now + DISK_CHECK_INTERVAL;
                if !self.have_disks_room() {
                    return ExitCause::Disk;
                }
            }
            // The subtraction cannot underflow: a deadline in the past has returned above.
            let due = [
                self.deadline.map(|deadline| deadline - now),
                self.task_counter.as_ref().map(|counter| counter.pause(now)),
                self.disks_had_room
                    .then(|| disk_due.saturating_duration_since(now)),
            ];
            if self.wait_for_event(due.into_iter().flatten().min()) {
                return ExitCause::Cancelled;
            }
        }
    }

    /// Waits for a signal, a command or the timeout; true if the daemon cancels or is gone.
    fn wait_for_event(&mut self, at_most: Option<Duration>) -> bool {
        let timeout = at_most.and_then(|time| Timespec::try_from(time).ok());
        let mut waits = vec![
            PollFd::new(&self.signals, PollFlags::IN),
            PollFd::new(&self.control, PollFlags::IN),
        ];
        let watch = self.script_watch.as_ref().filter(|watch| !watch.is_over());
        let watch = watch.map(BoundFileWatch::descriptor);
        if let Some(watch) = &watch {
            waits.push(PollFd::new(watch, PollFlags::IN));
        }
        // An error is an interruption; the caller checks everything again.
        if rustix::event::poll(&mut waits, timeout.as_ref()).is_err() {
            return false;
        }
        if waits[1].revents().is_empty() {
            return false;
        }
        let mut command = [0];
        match self.control.read(&mut command) {
            // The end of the control socket means that the daemon is gone.
            Ok(0) => true,
            Ok(_) => {
                self.skip_grace |= command[0] == COMMAND_KILL;
                self.skip_grace || command[0] == COMMAND_CANCEL
            }
            Err(error) => error.kind() != io::ErrorKind::Interrupted,
        }
    }

    /// Ends every descendant: SIGTERM, grace period, SIGKILL.
    fn end_run(&mut self, cause: ExitCause) {
        // A fork bomb would use a grace period to grow.
        let is_graceful = !matches!(cause, ExitCause::Processes | ExitCause::Replaced);
        if cause == ExitCause::Replaced {
            // Killed at once: it may be about to read bytes that nobody approved.
            tree::signal(&[self.started.pid], Signal::KILL);
        }
        let until = Instant::now() + Duration::from_millis(self.request.grace_ms);
        if is_graceful {
            let spared = self.is_bubblewrapped().then_some(self.started.pid);
            let mut targets = tree::descendants();
            // The end of bubblewrap kills everything in its sandbox, so it gets no SIGTERM before
            // the programs inside had their grace period.
            targets.retain(|pid| Some(*pid) != spared);
            tree::signal(&targets, Signal::TERM);
            while Instant::now() < until && !self.is_grace_cut_short() {
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
            // Killing it ends its pid namespace, and so all processes in there at once.
            tree::signal(&[self.started.pid], Signal::KILL);
        }
        if let Some(cgroup) = &self.cgroup {
            cgroup.kill();
        }
        tree::kill_all(|| {
            while let Some(reaped) = sys::reap() {
                record_reaped(&reaped, self.started.pid, &mut self.status, &mut self.usage);
            }
        });
        self.reap();
    }

    /// Returns true if the daemon cut the grace period short. A daemon that is gone did not.
    fn is_grace_cut_short(&mut self) -> bool {
        let mut command = [0];
        let flags = RecvFlags::DONTWAIT;
        let read = rustix::net::recv(&self.control, &mut command[..], flags);
        self.skip_grace |= matches!(read, Ok((1, _))) && command[0] == COMMAND_KILL;
        self.skip_grace
    }

    fn reap(&mut self) {
        while let Some(reaped) = sys::reap() {
            record_reaped(&reaped, self.started.pid, &mut self.status, &mut self.usage);
        }
    }

    fn is_bubblewrapped(&self) -> bool {
        self.started.bubblewrap_status.is_some()
    }

    /// Returns true if every disk that the run may write to has room.
    fn have_disks_room(&self) -> bool {
        let Some(policy) = &self.request.policy else {
            // Without a policy the places that the run writes to are not known.
            return false;
        };
        let limits = &self.request.limits;
        let has_room = |root: &PathBuf| {
            rustix::fs::statvfs(root).is_ok_and(|found| {
                found.f_bavail.saturating_mul(found.f_frsize) >= limits.disk_free_bytes
            })
        };
        policy.write.iter().all(has_room)
    }

    /// Returns an error if bubblewrap could not set up the sandbox: only a sandbox that stood
    /// reports an exit code.
    fn bubblewrap_failure(&mut self, cause: ExitCause) -> Option<ExecError> {
        let status = self.started.bubblewrap_status.as_mut()?;
        let mut report = String::new();
        let _ = status.take(STATUS_BYTES_MAX).read_to_string(&mut report);
        let failed = cause == ExitCause::Itself
            && matches!(self.status, Some(WaitStatus::Code(_)))
            && !report.contains("\"exit-code\"");
        failed.then(|| ExecError::Start("bubblewrap could not set up the sandbox".to_owned()))
    }
}

fn record_reaped(
    reaped: &sys::ReapedProcess,
    main: i32,
    status: &mut Option<WaitStatus>,
    usage: &mut ResourceUsage,
) {
    if reaped.pid == main {
        *status = Some(reaped.status);
    }
    // A process's usage includes the children it waited for, so no process is counted twice.
    usage.cpu_user_ms += reaped.usage.cpu_user_ms;
    usage.cpu_system_ms += reaped.usage.cpu_system_ms;
    usage.peak_bytes = usage.peak_bytes.max(reaped.usage.peak_bytes);
}
