//! `hob shim probe`: finds the sandbox support of this machine by running a program at each level.
//! Prints [`SandboxSupport`] as JSON.

use super::start::{self, ChildDescriptors};
use super::{cgroup, cgroup::RunCgroup, sys};
use crate::programs::find_in_path;
use crate::sandbox_level::{LANDLOCK_ABI_MIN, ProcessLimiter, SandboxLevel, SandboxSupport};
use crate::shim_protocol::{ShimRequest, WaitStatus};
use crate::spawn_plan::{ResourceLimits, SandboxPolicy};
use rustix::fd::OwnedFd;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The time limit of a trial. A sandbox takes milliseconds; a loaded machine may take longer.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(10);
const TRIAL_STEP: Duration = Duration::from_millis(1);
const SAID_BYTES_MAX: u64 = 4096;

/// Probes this machine; `path` is the `PATH` to search for programs.
pub(super) fn run(path: Option<&OsStr>) -> io::Result<()> {
    sys::close_on_exec()?;
    let path = path.unwrap_or_default();
    let support = probe_support(path);
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &support)?;
    out.flush()
}

fn probe_support(path: &OsStr) -> SandboxSupport {
    cgroup::remove_stale();
    let (bubblewrap, bubblewrap_problem) = match probe_bubblewrap(path) {
        Ok(program) => (Some(program), None),
        Err(problem) => (None, Some(problem)),
    };
    let abi = sys::landlock_abi();
    let mut support = SandboxSupport {
        bubblewrap,
        bubblewrap_problem,
        landlock_abi: abi,
        namespaces: false,
        processes: probe_process_limiter(),
    };
    if abi >= LANDLOCK_ABI_MIN {
        support.namespaces = try_level(SandboxLevel::Landlock, None).is_ok();
    }
    support
}

fn probe_bubblewrap(path: &OsStr) -> Result<PathBuf, String> {
    let program = find_in_path(path, "bwrap").ok_or_else(|| "it is not installed.".to_owned())?;
    match try_level(SandboxLevel::Bubblewrap, Some(&program)) {
        Ok(()) => Ok(program),
        Err(error_output) => Err(format!(
            "{} is installed and does not work here: {}",
            program.display(),
            error_output.trim()
        )),
    }
}

fn probe_process_limiter() -> ProcessLimiter {
    let cgroup = RunCgroup::create(Some(ResourceLimits::default().processes));
    let limits_processes = cgroup
        .as_ref()
        .is_some_and(|cgroup| cgroup.limits_processes);
    if let Some(cgroup) = cgroup {
        cgroup.remove();
    }
    match (limits_processes, rustix::process::getuid().is_root()) {
        (true, _) => ProcessLimiter::Cgroup,
        // The kernel does not apply `RLIMIT_NPROC` to root.
        (false, true) => ProcessLimiter::Watched,
        (false, false) => ProcessLimiter::Rlimit,
    }
}

/// Runs a program that does nothing in the full sandbox of a level.
fn try_level(level: SandboxLevel, bubblewrap: Option<&Path>) -> Result<(), String> {
    // NixOS has `true` only in the last of these folders.
    let path = OsString::from("/usr/bin:/bin:/run/current-system/sw/bin");
    let request = ShimRequest {
        argv: vec![OsString::from("true")],
        cwd: OsString::from("/"),
        env: vec![(OsString::from("PATH"), path)],
        level,
        policy: Some(SandboxPolicy::workspace(&[], None, Vec::new())),
        bubblewrap: bubblewrap.map(Path::to_owned),
        // This limiter needs nothing at the start, so the trial depends on the sandbox alone.
        processes: ProcessLimiter::Watched,
        limits: ResourceLimits::default(),
        deadline_ms: None,
        grace_ms: 0,
    };
    let to_text = |error: io::Error| error.to_string();
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| to_text(error.into()))?;
    let null = || {
        let file = File::options().read(true).write(true).open("/dev/null");
        file.map(OwnedFd::from).map_err(to_text)
    };
    let descriptors = ChildDescriptors {
        stdin: null()?,
        stdout: null()?,
        stderr: writer,
        network: None,
    };
    let started = start::start(&request, request.policy.as_ref(), None, None, descriptors);
    let started = started.map_err(|error| error.to_string())?;
    let status = wait_for_exit(started.pid);
    if status == Some(WaitStatus::Code(0)) {
        return Ok(());
    }
    let mut complaint = String::new();
    // After a timeout an unkillable process may hold the pipe open, and a read would wait for it.
    if status.is_some() {
        let _ = File::from(reader)
            .take(SAID_BYTES_MAX)
            .read_to_string(&mut complaint);
    }
    Err(complaint)
}

/// Waits for the exit; none if the process had to be killed.
fn wait_for_exit(pid: i32) -> Option<WaitStatus> {
    let until = Instant::now() + TRIAL_TIME_MAX;
    while Instant::now() < until {
        match sys::reap() {
            Some(reaped) if reaped.pid == pid => return Some(reaped.status),
            Some(_) => {}
            None => std::thread::sleep(TRIAL_STEP),
        }
    }
    super::tree::kill_all(|| while sys::reap().is_some() {});
    None
}
