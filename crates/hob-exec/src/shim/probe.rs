//! `hob shim probe`: what this machine can enforce, each level by really running a program in it.
//! Prints [`Facts`] as JSON.

use super::start::{self, Pipes};
use super::{cage, cage::Cage, sys};
use crate::level::{Bound, Facts, LANDLOCK_ABI_MIN, Level};
use crate::order::{Ended, Order};
use crate::plan::{Limits, Policy};
use crate::programs::find_in;
use rustix::fd::OwnedFd;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Enough for a machine under load; a sandbox takes some milliseconds.
const TRIAL_TIME_MAX: Duration = Duration::from_secs(10);
const TRIAL_STEP: Duration = Duration::from_millis(1);
const SAID_BYTES_MAX: u64 = 4096;

/// `path` is where programs are looked for.
pub(super) fn run(path: Option<&OsStr>) -> io::Result<()> {
    sys::close_on_exec()?;
    let path = path.unwrap_or_default();
    let facts = facts(path);
    let mut out = io::stdout().lock();
    serde_json::to_writer(&mut out, &facts)?;
    out.flush()
}

fn facts(path: &OsStr) -> Facts {
    cage::sweep();
    let (bubblewrap, bubblewrap_problem) = match bubblewrap(path) {
        Ok(program) => (Some(program), None),
        Err(problem) => (None, Some(problem)),
    };
    let abi = sys::landlock_abi();
    let mut facts = Facts {
        bubblewrap,
        bubblewrap_problem,
        landlock_abi: abi,
        namespaces: false,
        processes: bound(),
    };
    if abi >= LANDLOCK_ABI_MIN {
        facts.namespaces = trial(Level::Landlock, None).is_ok();
    }
    facts
}

fn bubblewrap(path: &OsStr) -> Result<PathBuf, String> {
    let program = find_in(path, "bwrap").ok_or_else(|| "it is not installed.".to_owned())?;
    match trial(Level::Bubblewrap, Some(&program)) {
        Ok(()) => Ok(program),
        Err(said) => Err(format!(
            "{} is installed and does not work here: {}",
            program.display(),
            said.trim()
        )),
    }
}

fn bound() -> Bound {
    let cage = Cage::make(Some(Limits::default().processes));
    let counts = cage.as_ref().is_some_and(|cage| cage.counts);
    if let Some(cage) = cage {
        cage.remove();
    }
    match (counts, rustix::process::getuid().is_root()) {
        (true, _) => Bound::Cgroup,
        (false, true) => Bound::Watched,
        (false, false) => Bound::Rlimit,
    }
}

/// Runs a program that does nothing behind all walls of a level.
fn trial(level: Level, bubblewrap: Option<&Path>) -> Result<(), String> {
    let path = OsString::from("/usr/bin:/bin:/run/current-system/sw/bin");
    let order = Order {
        argv: vec![OsString::from("true")],
        cwd: OsString::from("/"),
        env: vec![(OsString::from("PATH"), path)],
        level,
        policy: Some(Policy::workspace(&[], None, Vec::new())),
        bubblewrap: bubblewrap.map(Path::to_owned),
        processes: Bound::Watched,
        limits: Limits::default(),
        deadline_ms: None,
        grace_ms: 0,
    };
    let said = |error: io::Error| error.to_string();
    let (hears, tells) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
        .map_err(|error| said(error.into()))?;
    let null = || {
        let file = File::options().read(true).write(true).open("/dev/null");
        file.map(OwnedFd::from).map_err(said)
    };
    let pipes = Pipes {
        stdin: null()?,
        stdout: null()?,
        stderr: tells,
        network: None,
    };
    let started = start::start(&order, order.policy.as_ref(), None, None, pipes);
    let started = started.map_err(|error| error.to_string())?;
    let outcome = outcome(started.pid);
    if outcome == Some(Ended::Code(0)) {
        return Ok(());
    }
    let mut complaint = String::new();
    if outcome.is_some() {
        let _ = File::from(hears)
            .take(SAID_BYTES_MAX)
            .read_to_string(&mut complaint);
    }
    Err(complaint)
}

/// How it ended; none when it had to be killed.
fn outcome(pid: i32) -> Option<Ended> {
    let until = Instant::now() + TRIAL_TIME_MAX;
    while Instant::now() < until {
        match sys::reap() {
            Some(reaped) if reaped.pid == pid => return Some(reaped.ended),
            Some(_) => {}
            None => std::thread::sleep(TRIAL_STEP),
        }
    }
    super::tree::end_now(|| while sys::reap().is_some() {});
    None
}
