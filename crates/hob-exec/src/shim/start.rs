//! How the first process of a run is started, at each level.
//!
//! Invariant: between the fork and the program stands every wall of the level; if one fails, the
//! program never runs and the failure has a sentence.

use super::bound_files::Watch;
use super::{
    bound_files, bubblewrap, cage, cage::Cage, landlock, limits, namespace, own_network, read_only,
    seccomp, sys,
};
use crate::error::ExecError;
use crate::level::{Bound, Level};
use crate::order::Order;
use crate::plan::{NetworkAccess, Policy};
use crate::programs::{find_in, is_program};
use rustix::fd::OwnedFd;
use rustix::fs::MemfdFlags;
use rustix::io::FdFlags;
use rustix::process::Signal;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Said when a script is not the approved one any more.
const REPLACED: &str = "its script was replaced after it was approved; nothing was run";
/// What a sentence about a failed start may be.
const TROUBLE_BYTES_MAX: u64 = 4096;
/// A program's files are made as a person's are; the daemon's own are private.
const UMASK: u32 = 0o022;

/// The child's three descriptors, and where the listening socket of a network of its own goes.
pub(super) struct Pipes {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) network: Option<OwnedFd>,
}

/// A started run.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: i32,
    /// What bubblewrap says about its sandbox.
    pub(super) status: Option<File>,
    /// A byte in it lets the program begin, once its sandbox stands.
    pub(super) gate: Option<File>,
}

/// Starts the program. `policy` is the order's own, with placeholders in it.
pub(super) fn start(
    order: &Order,
    policy: Option<&Policy>,
    cage: Option<&Cage>,
    scripts: Option<&Watch>,
    mut pipes: Pipes,
) -> Result<Started, ExecError> {
    let failed = |error: io::Error| ExecError::Start(error.to_string());
    if order.processes == Bound::Cgroup && !cage.is_some_and(|cage| cage.counts) {
        return Err(ExecError::Start(
            "a control group for its processes cannot be made".to_owned(),
        ));
    }
    let program = find(order)?;
    let network = pipes.network.take();
    if order.has_proxy() != network.is_some() {
        return Err(ExecError::Start(
            "its network was not handed over as ordered".to_owned(),
        ));
    }
    let (hears, tells) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_or_else(
        |error| Err(failed(error.into())),
        |(hears, tells)| Ok((File::from(hears), File::from(tells))),
    )?;
    let mut run = match (order.level, policy) {
        (Level::Bubblewrap, Some(policy)) => in_bubblewrap(order, policy, &program, network),
        (Level::Landlock, Some(policy)) => in_landlock(order, policy, scripts, &program, network),
        (Level::None, None) => Ok(Run::bare(order, &program)),
        _ => Err(io::Error::other("the order contradicts itself")),
    }
    .map_err(failed)?;
    run.prepare(order, cage, tells).map_err(failed)?;
    let mut command = run.command;
    let stdin = match policy {
        Some(_) => read_only::without_metadata_rights(pipes.stdin),
        None => pipes.stdin,
    };
    command.stdin(Stdio::from(stdin));
    command.stdout(Stdio::from(pipes.stdout));
    command.stderr(Stdio::from(pipes.stderr));
    let spawned = command.spawn();
    // With it go this process's ends of the child's pipes, and its end of the complaint pipe.
    drop(command);
    match spawned {
        Ok(child) => Ok(Started {
            pid: i32::try_from(child.id()).unwrap_or(i32::MAX),
            status: run.status,
            gate: run.gate,
        }),
        Err(error) => {
            let mut trouble = String::new();
            let _ = hears.take(TROUBLE_BYTES_MAX).read_to_string(&mut trouble);
            let trouble = if trouble.is_empty() {
                error.to_string()
            } else {
                trouble
            };
            Err(ExecError::Start(trouble))
        }
    }
}

/// What a level contributes: the command, and what happens in the new process before it.
struct Run {
    command: Command,
    /// Descriptors that the command itself (bubblewrap) reads.
    handed: Vec<OwnedFd>,
    walls: Box<dyn FnMut() -> io::Result<()> + Send + Sync>,
    status: Option<File>,
    gate: Option<File>,
}

impl Run {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where a child's program is started"
    )]
    fn of(program: &Path, order: &Order) -> Run {
        let mut command = Command::new(program);
        command.env_clear();
        command.envs(order.env.iter().map(|(name, value)| (name, value)));
        Run {
            command,
            handed: Vec::new(),
            walls: Box::new(|| Ok(())),
            status: None,
            gate: None,
        }
    }

    fn bare(order: &Order, program: &Path) -> Run {
        let mut run = Run::of(program, order);
        run.command.args(order.argv.iter().skip(1));
        let cwd = order.cwd.clone();
        run.walls = Box::new(move || Ok(rustix::process::chdir(&cwd)?));
        run
    }

    /// What is the same at every level.
    fn prepare(&mut self, order: &Order, cage: Option<&Cage>, mut tells: File) -> io::Result<()> {
        let mut doors = cage.map(Cage::doors).transpose()?.unwrap_or_default();
        let bounds = order.limits;
        let processes = limits::processes(order.processes, &bounds);
        let handed = std::mem::take(&mut self.handed);
        let mut walls = std::mem::replace(&mut self.walls, Box::new(|| Ok(())));
        sys::before_exec(&mut self.command, move || {
            let mut raise = || -> io::Result<()> {
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                cage::enter(&mut doors)?;
                for descriptor in &handed {
                    rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
                }
                rustix::process::umask(rustix::fs::Mode::from_raw_mode(UMASK));
                limits::apply(&bounds, processes)?;
                walls()
            };
            raise().inspect_err(|error| {
                let _ = write!(tells, "{error}");
            })
        });
        Ok(())
    }
}

fn in_bubblewrap(
    order: &Order,
    policy: &Policy,
    program: &Path,
    network: Option<OwnedFd>,
) -> io::Result<Run> {
    let bubblewrap = order.bubblewrap.as_deref();
    let bubblewrap = bubblewrap.ok_or_else(|| io::Error::other("bubblewrap is not named"))?;
    let mut run = Run::of(bubblewrap, order);
    let mut arguments = Vec::new();
    for argument in bubblewrap::arguments(order, policy) {
        arguments.extend(argument.as_bytes());
        arguments.push(0);
    }
    let (bound, contents) = bound_files::for_bubblewrap(policy)?;
    for argument in bound {
        arguments.extend(argument.as_bytes());
        arguments.push(0);
    }
    run.handed.extend(contents);
    let arguments = memory(&arguments)?;
    run.command.arg("--args").arg(number(&arguments));
    run.handed.push(arguments);
    // Unless the host's is granted, the sandbox has a network of its own that leads nowhere, or to
    // the proxy alone.
    let sockets = seccomp::Sockets {
        internet: true,
        unix: policy.unix_sockets,
    };
    for filter in seccomp::programs(sockets)? {
        let filter = memory(&seccomp::bytes(&filter))?;
        run.command.arg("--add-seccomp-fd").arg(number(&filter));
        run.handed.push(filter);
    }
    let (hears, tells) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    run.command.arg("--json-status-fd").arg(number(&tells));
    run.handed.push(tells);
    run.status = Some(File::from(hears));
    if !policy.bound_files.is_empty() {
        let (waits, opens) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        run.command.arg("--block-fd").arg(number(&waits));
        run.handed.push(waits);
        run.gate = Some(File::from(opens));
    }
    run.walls = Box::new(read_only::lock_devices);
    run.command.arg("--");
    if let Some(network) = network {
        let inside = own_network::before_program(network)?;
        run.command.args(inside.arguments);
        run.handed.extend(inside.handed);
    }
    run.command.arg(program);
    run.command.args(order.argv.iter().skip(1));
    Ok(run)
}

fn in_landlock(
    order: &Order,
    policy: &Policy,
    scripts: Option<&Watch>,
    program: &Path,
    network: Option<OwnedFd>,
) -> io::Result<Run> {
    let mut run = Run::of(program, order);
    run.command.args(order.argv.iter().skip(1));
    let scratch = namespace::scratch();
    let filters = seccomp::programs(seccomp::Sockets {
        internet: policy.network != NetworkAccess::Off,
        unix: policy.unix_sockets,
    })?;
    let (order, policy) = (order.clone(), policy.clone());
    let mut scripts = scripts.map(Watch::for_child).transpose()?;
    run.walls = Box::new(move || {
        namespace::enter()?;
        namespace::furnish(&policy, &order.limits)?;
        bound_files::mount(&policy)?;
        if let Some(network) = &network {
            own_network::enter(network)?;
        }
        if scripts
            .as_mut()
            .is_some_and(|watch| !watch.wait_until_quiet())
        {
            return Err(io::Error::other(REPLACED));
        }
        rustix::process::chdir(&order.cwd)?;
        drop_capabilities()?;
        rustix::thread::set_no_new_privs(true)?;
        landlock::restrict(&policy, &scratch)?;
        let load = |filter| seccompiler::apply_filter(filter).map_err(io::Error::other);
        filters.iter().try_for_each(|filter| load(filter))
    });
    Ok(run)
}

/// Takes from this process what root, in the user namespace or outside, would keep over the start
/// of a program.
fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::capability_is_in_bounding_set(capability) {
            Ok(true) => match rustix::thread::remove_capability_from_bounding_set(capability) {
                // Somebody without the right to drop it has nothing to drop either: not being
                // root, and with no new privileges, no program gives it back.
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            },
            Ok(false) => {}
            // The kernel knows no capability of this number.
            Err(_) => break,
        }
    }
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}

/// The program's file, as a shell would find it.
fn find(order: &Order) -> Result<PathBuf, ExecError> {
    let missing = |name: &OsStr| ExecError::NotFound(name.to_string_lossy().into_owned());
    let name = order.argv.first().ok_or_else(|| missing(OsStr::new("")))?;
    let cwd = Path::new(&order.cwd);
    if name.as_bytes().contains(&b'/') {
        let program = cwd.join(name);
        return if is_program(&program) {
            Ok(program)
        } else {
            Err(missing(name))
        };
    }
    let path = order.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, value)| value.as_os_str());
    find_in(path, name).ok_or_else(|| missing(name))
}

fn memory(content: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = rustix::fs::memfd_create("hob", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(descriptor);
    file.write_all(content)?;
    file.rewind()?;
    Ok(OwnedFd::from(file))
}

fn number(descriptor: &OwnedFd) -> OsString {
    descriptor.as_raw_fd().to_string().into()
}
