//! Starts the first process of a run, at each sandbox level.
//!
//! Invariant: between fork and exec every restriction of the level is applied. If one fails, the
//! program never runs and the error says why.

use super::bound_files::BoundFileWatch;
use super::{
    bound_files, bubblewrap, cgroup, cgroup::RunCgroup, landlock, limits, namespace, own_network,
    read_only, seccomp, sys,
};
use crate::error::ExecError;
use crate::programs::{find_in_path, is_executable};
use crate::sandbox_level::{ProcessLimiter, SandboxLevel};
use crate::shim_protocol::ShimRequest;
use crate::spawn_plan::{NetworkAccess, SandboxPolicy};
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

/// The error of a script that is no longer the approved one.
const REPLACED: &str = "its script was replaced after it was approved; nothing was run";
/// The longest error message of a failed start.
const FAILURE_BYTES_MAX: u64 = 4096;
/// The umask of a program, as usual for a user; the daemon's own files are private.
const UMASK: u32 = 0o022;

/// The child's three descriptors, and the channel for the listening socket of its own network.
pub(super) struct ChildDescriptors {
    pub(super) stdin: OwnedFd,
    pub(super) stdout: OwnedFd,
    pub(super) stderr: OwnedFd,
    pub(super) network: Option<OwnedFd>,
}

/// A started run.
#[derive(Debug)]
pub(super) struct StartedRun {
    pub(super) pid: i32,
    /// Bubblewrap's status reports.
    pub(super) bubblewrap_status: Option<File>,
    /// A byte written here lets the program start in its finished sandbox.
    pub(super) gate: Option<File>,
}

/// Starts the program. `policy` is the request's own, after placeholders were added.
pub(super) fn start(
    request: &ShimRequest,
    policy: Option<&SandboxPolicy>,
    cgroup: Option<&RunCgroup>,
    script_watch: Option<&BoundFileWatch>,
    mut descriptors: ChildDescriptors,
) -> Result<StartedRun, ExecError> {
    let failed = |error: io::Error| ExecError::Start(error.to_string());
    // The daemon chose this limiter because the probe found it; without it nothing bounds the run.
    if request.processes == ProcessLimiter::Cgroup
        && !cgroup.is_some_and(|cgroup| cgroup.limits_processes)
    {
        return Err(ExecError::Start(
            "a control group for its processes cannot be made".to_owned(),
        ));
    }
    let program = find_program_file(request)?;
    let network = descriptors.network.take();
    if request.has_proxy() != network.is_some() {
        return Err(ExecError::Start(
            "its network was not handed over as ordered".to_owned(),
        ));
    }
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).map_or_else(
        |error| Err(failed(error.into())),
        |(reader, writer)| Ok((File::from(reader), File::from(writer))),
    )?;
    let mut run = match (request.level, policy) {
        (SandboxLevel::Bubblewrap, Some(policy)) => {
            in_bubblewrap(request, policy, &program, network)
        }
        (SandboxLevel::Landlock, Some(policy)) => {
            in_landlock(request, policy, script_watch, &program, network)
        }
        (SandboxLevel::None, None) => Ok(RunCommand::unsandboxed(request, &program)),
        _ => Err(io::Error::other("the order contradicts itself")),
    }
    .map_err(failed)?;
    run.set_up_child(request, cgroup, writer).map_err(failed)?;
    let mut command = run.command;
    let stdin = match policy {
        Some(_) => read_only::without_metadata_rights(descriptors.stdin),
        None => descriptors.stdin,
    };
    command.stdin(Stdio::from(stdin));
    command.stdout(Stdio::from(descriptors.stdout));
    command.stderr(Stdio::from(descriptors.stderr));
    let spawned = command.spawn();
    // This closes the shim's copies of the child's pipes, so that the daemon sees end of file when
    // the child is gone, and the shim's copy of the error pipe, which is read below.
    drop(command);
    match spawned {
        Ok(child) => Ok(StartedRun {
            pid: i32::try_from(child.id()).unwrap_or(i32::MAX),
            bubblewrap_status: run.status,
            gate: run.gate,
        }),
        Err(error) => {
            // The child's message names the step that failed; the system's error alone would not.
            let mut failure = String::new();
            let _ = reader.take(FAILURE_BYTES_MAX).read_to_string(&mut failure);
            let failure = if failure.is_empty() {
                error.to_string()
            } else {
                failure
            };
            Err(ExecError::Start(failure))
        }
    }
}

/// The command of a level, and the work in the forked child before it.
struct RunCommand {
    command: Command,
    /// Descriptors that the command itself (bubblewrap) reads.
    inherited: Vec<OwnedFd>,
    enter_sandbox: Box<dyn FnMut() -> io::Result<()> + Send + Sync>,
    status: Option<File>,
    gate: Option<File>,
}

impl RunCommand {
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where a child's program is started"
    )]
    fn new(program: &Path, request: &ShimRequest) -> RunCommand {
        let mut command = Command::new(program);
        // The request has the whole environment. The shim's own must not reach a program.
        command.env_clear();
        command.envs(request.env.iter().map(|(name, value)| (name, value)));
        RunCommand {
            command,
            inherited: Vec::new(),
            enter_sandbox: Box::new(|| Ok(())),
            status: None,
            gate: None,
        }
    }

    fn unsandboxed(request: &ShimRequest, program: &Path) -> RunCommand {
        let mut run = RunCommand::new(program, request);
        run.command.args(request.argv.iter().skip(1));
        let cwd = request.cwd.clone();
        run.enter_sandbox = Box::new(move || Ok(rustix::process::chdir(&cwd)?));
        run
    }

    /// Adds the set-up that is the same at every level.
    fn set_up_child(
        &mut self,
        request: &ShimRequest,
        cgroup: Option<&RunCgroup>,
        mut writer: File,
    ) -> io::Result<()> {
        let mut procs_files = cgroup
            .map(RunCgroup::open_procs_files)
            .transpose()?
            .unwrap_or_default();
        let resource_limits = request.limits;
        let processes = limits::process_rlimit(request.processes, &resource_limits);
        let inherited = std::mem::take(&mut self.inherited);
        let mut walls = std::mem::replace(&mut self.enter_sandbox, Box::new(|| Ok(())));
        sys::before_exec(&mut self.command, move || {
            let mut prepare = || -> io::Result<()> {
                // The program must not survive a shim that is killed.
                rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
                // Before the sandbox and any further fork, so that no process of the run is outside
                // its cgroup.
                cgroup::enter(&mut procs_files)?;
                // Only here, in the child: the shim's own descriptors stay close-on-exec.
                for descriptor in &inherited {
                    rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
                }
                rustix::process::umask(rustix::fs::Mode::from_raw_mode(UMASK));
                limits::apply(&resource_limits, processes)?;
                walls()
            };
            prepare().inspect_err(|error| {
                let _ = write!(writer, "{error}");
            })
        });
        Ok(())
    }
}

fn in_bubblewrap(
    request: &ShimRequest,
    policy: &SandboxPolicy,
    program: &Path,
    network: Option<OwnedFd>,
) -> io::Result<RunCommand> {
    let bubblewrap = request.bubblewrap.as_deref();
    let bubblewrap = bubblewrap.ok_or_else(|| io::Error::other("bubblewrap is not named"))?;
    let mut run = RunCommand::new(bubblewrap, request);
    let mut arguments = Vec::new();
    for argument in bubblewrap::arguments(request, policy) {
        arguments.extend(argument.as_bytes());
        arguments.push(0);
    }
    let (bound, contents) = bound_files::bubblewrap_arguments(policy)?;
    for argument in bound {
        arguments.extend(argument.as_bytes());
        arguments.push(0);
    }
    run.inherited.extend(contents);
    // Passed by a descriptor, because the paths of a policy may exceed what a command line holds.
    let arguments = memory_file(&arguments)?;
    run.command.arg("--args").arg(descriptor_number(&arguments));
    run.inherited.push(arguments);
    // Internet sockets are always allowed: unless the host's network is granted, the sandbox has a
    // network namespace that leads nowhere, or only to the proxy.
    let sockets = seccomp::AllowedSockets {
        internet: true,
        unix: policy.unix_sockets,
    };
    for filter in seccomp::filters(sockets)? {
        let filter = memory_file(&seccomp::filter_bytes(&filter))?;
        run.command
            .arg("--add-seccomp-fd")
            .arg(descriptor_number(&filter));
        run.inherited.push(filter);
    }
    let (reader, writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    run.command
        .arg("--json-status-fd")
        .arg(descriptor_number(&writer));
    run.inherited.push(writer);
    run.status = Some(File::from(reader));
    if !policy.bound_files.is_empty() {
        let (gate_reader, gate_writer) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        run.command
            .arg("--block-fd")
            .arg(descriptor_number(&gate_reader));
        run.inherited.push(gate_reader);
        run.gate = Some(File::from(gate_writer));
    }
    run.enter_sandbox = Box::new(read_only::make_devices_read_only);
    run.command.arg("--");
    if let Some(network) = network {
        let prelude = own_network::prelude_command(network)?;
        run.command.args(prelude.arguments);
        run.inherited.extend(prelude.inherited);
    }
    run.command.arg(program);
    run.command.args(request.argv.iter().skip(1));
    Ok(run)
}

fn in_landlock(
    request: &ShimRequest,
    policy: &SandboxPolicy,
    script_watch: Option<&BoundFileWatch>,
    program: &Path,
    network: Option<OwnedFd>,
) -> io::Result<RunCommand> {
    let mut run = RunCommand::new(program, request);
    run.command.args(request.argv.iter().skip(1));
    let scratch = namespace::scratch_folders();
    let filters = seccomp::filters(seccomp::AllowedSockets {
        internet: policy.network != NetworkAccess::Off,
        unix: policy.unix_sockets,
    })?;
    let (request, policy) = (request.clone(), policy.clone());
    let mut script_watch = script_watch.map(BoundFileWatch::for_child).transpose()?;
    run.enter_sandbox = Box::new(move || {
        // The order matters. Mounts need the capabilities of the new user namespace, so they come
        // before these are dropped; Landlock and the filters forbid mounts, so they come last.
        namespace::enter()?;
        namespace::mount_policy(&policy, &request.limits)?;
        bound_files::mount_files(&policy)?;
        if let Some(network) = &network {
            own_network::enter(network)?;
        }
        if script_watch
            .as_mut()
            .is_some_and(|watch| !watch.wait_until_quiet())
        {
            return Err(io::Error::other(REPLACED));
        }
        // After the mounts: the old working folder would still refer to the file system below them.
        rustix::process::chdir(&request.cwd)?;
        drop_capabilities()?;
        // The kernel requires it for Landlock and seccomp without privileges.
        rustix::thread::set_no_new_privs(true)?;
        landlock::restrict(&policy, &scratch)?;
        let load = |filter| seccompiler::apply_filter(filter).map_err(io::Error::other);
        filters.iter().try_for_each(|filter| load(filter))
    });
    Ok(run)
}

/// Drops all capabilities, including those that root, in the user namespace or outside, would
/// regain when it starts a program.
fn drop_capabilities() -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets};
    for bit in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << bit);
        match rustix::thread::capability_is_in_bounding_set(capability) {
            Ok(true) => match rustix::thread::remove_capability_from_bounding_set(capability) {
                // A process without the right to drop it has nothing to drop either: it is not
                // root, and with no new privileges no program gives it a capability.
                Ok(()) | Err(rustix::io::Errno::PERM) => {}
                Err(error) => return Err(error.into()),
            },
            Ok(false) => {}
            // The kernel has no capability of this number.
            Err(_) => break,
        }
    }
    // The call below empties this set as well, so a failure here changes nothing.
    let _ = rustix::thread::clear_ambient_capability_set();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    Ok(rustix::thread::set_capabilities(None, none)?)
}

/// Finds the program's file as a shell would.
fn find_program_file(request: &ShimRequest) -> Result<PathBuf, ExecError> {
    let missing = |name: &OsStr| ExecError::NotFound(name.to_string_lossy().into_owned());
    let name = request
        .argv
        .first()
        .ok_or_else(|| missing(OsStr::new("")))?;
    let cwd = Path::new(&request.cwd);
    if name.as_bytes().contains(&b'/') {
        let program = cwd.join(name);
        return if is_executable(&program) {
            Ok(program)
        } else {
            Err(missing(name))
        };
    }
    // The last of several values counts, as it does in `Command::envs`.
    let path = request.env.iter().rev().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new(""), |(_, value)| value.as_os_str());
    find_in_path(path, name).ok_or_else(|| missing(name))
}

fn memory_file(content: &[u8]) -> io::Result<OwnedFd> {
    let descriptor = rustix::fs::memfd_create("hob", MemfdFlags::CLOEXEC)?;
    let mut file = File::from(descriptor);
    file.write_all(content)?;
    file.rewind()?;
    Ok(OwnedFd::from(file))
}

fn descriptor_number(descriptor: &OwnedFd) -> OsString {
    descriptor.as_raw_fd().to_string().into()
}
