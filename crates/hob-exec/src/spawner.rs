//! Starts children and owns those that run in the background.
//!
//! Invariants: the machine is probed once; each child has one watcher task that ends with it; when
//! the daemon stops, every child is cancelled.

use crate::child::Child;
use crate::child_watcher::{ChildPipes, ChildWatcher, OutputPumps, read_report};
use crate::error::ExecError;
use crate::output::pump::{OutputBuffers, OutputFile};
use crate::peer::ListenerAccess;
use crate::private_network::PendingListener;
use crate::sandbox_level::{SandboxLevel, SandboxSupport};
use crate::shim_protocol::{self, ShimReport, ShimRequest};
use crate::spawn_plan::{OutputMode, SandboxMode, SpawnPlan, StdinSource};
use crate::{environment, plan_paths, shim};
use hob_kit::host_environment::EnvVars;
use hob_kit::tasks::TaskGroup;
use rustix::fd::OwnedFd;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, IoSlice};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::process::Stdio;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;
use tokio::io::AsyncWriteExt;
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::sync::{OnceCell, watch};

/// Background processes at once, including finished ones that nobody has removed yet.
pub const BACKGROUND_MAX: usize = 64;
const COMMAND_CHARS_MAX: usize = 512;

/// The parts of a [`Spawner`].
#[derive(Clone, Debug)]
pub struct SpawnerParts {
    /// The program that is the shim, and its arguments; [`own_shim`] in hob itself.
    pub shim: Vec<OsString>,
    /// The environment from which children inherit variables.
    pub env: EnvVars,
    pub tasks: TaskGroup,
    /// The sandbox support of this machine, if it is known already.
    pub sandbox_support: Option<SandboxSupport>,
}

/// The command line that starts this program as a shim.
pub fn own_shim() -> Vec<OsString> {
    // The link names the running file, so an upgrade on disk cannot pair the daemon with a shim of
    // another version.
    vec!["/proc/self/exe".into(), shim::SUBCOMMAND.into()]
}

/// Starts processes; cheap to clone.
#[derive(Clone, Debug)]
pub struct Spawner(Arc<SpawnerInner>);

#[derive(Debug)]
struct SpawnerInner {
    parts: SpawnerParts,
    sandbox_support: OnceCell<SandboxSupport>,
    // A std mutex: held to look up or change the table, never over an await.
    background: Mutex<BackgroundTable>,
    listener_access: ListenerAccess,
}

#[derive(Debug, Default)]
struct BackgroundTable {
    last: u64,
    children: BTreeMap<u64, Arc<Child>>,
}

/// The id of a background process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId(pub u64);

impl Spawner {
    pub fn new(parts: SpawnerParts) -> Spawner {
        let facts = OnceCell::new_with(parts.sandbox_support.clone());
        Spawner(Arc::new(SpawnerInner {
            parts,
            sandbox_support: facts,
            background: Mutex::default(),
            listener_access: ListenerAccess::default(),
        }))
    }

    /// The table of listeners that services started here may connect to.
    pub fn listener_access(&self) -> ListenerAccess {
        self.0.listener_access.clone()
    }

    /// The sandbox support of this machine; probed at the first call.
    pub async fn sandbox_support(&self) -> Result<&SandboxSupport, ExecError> {
        let parts = &self.0.parts;
        let probe = || probe(&parts.shim, &parts.env);
        self.0.sandbox_support.get_or_try_init(probe).await
    }

    /// Starts a child. An error means that nothing ran. If bubblewrap fails to set up the sandbox,
    /// [`Child::wait`] returns [`ExecError::Start`] later.
    pub async fn spawn(&self, plan: SpawnPlan) -> Result<Child, ExecError> {
        let plan = resolve_paths(plan).await?;
        let request = self.build_request(&plan).await?;
        let level = request.level;
        let failed = |error: io::Error| ExecError::Start(error.to_string());
        let file = create_output_file(&plan).await.map_err(failed)?;
        let pipes = ChildPipes::create(
            plan.stdin == StdinSource::Empty && plan.output_mode != OutputMode::Pipes,
        );
        let mut pipes = pipes.map_err(failed)?;
        let pending = request.has_proxy().then(PendingListener::new);
        let mut pending = pending.transpose().map_err(failed)?;
        let theirs = pending.as_mut().and_then(PendingListener::take_theirs);
        let (ours, shim) = self
            .start_shim(&mut pipes, theirs.as_ref())
            .map_err(failed)?;
        // End of file on the pair must mean that the child has closed its end, so ours goes now.
        drop(theirs);
        // Registered before the request is sent: the program may connect right after its start.
        let access = plan.listener_service.clone().and_then(|service| {
            let pid = i32::try_from(shim.id()?).ok()?;
            self.0.listener_access.register(pid, service)
        });
        // A second handle: the watcher reads reports while `Child` sends commands without waiting.
        let mut control =
            UnixStream::from_std(ours.try_clone().map_err(failed)?).map_err(failed)?;
        let bytes = shim_protocol::encode(&request).map_err(failed)?;
        control.write_all(&bytes).await.map_err(failed)?;
        let started_at = Instant::now();
        let pid = match read_report(&mut control).await {
            Some(ShimReport::Started { pid }) => pid,
            Some(ShimReport::Failed(error)) => return Err(error),
            Some(ShimReport::Ended(_)) | None => return Err(ExecError::Lost),
        };
        let buffers = Arc::new(OutputBuffers::new(plan.limits.kept_output_bytes, file));
        let (tell, outcome) = watch::channel(None);
        let mut child = Child {
            pid,
            level,
            command: display_command(&plan.argv),
            started_at,
            control: ours,
            stdin: tokio::sync::Mutex::new(pipes.stdin.take()),
            pieces: tokio::sync::Mutex::new(None),
            stdout: std::sync::Mutex::new(None),
            listener: std::sync::Mutex::new(None),
            buffers: Arc::clone(&buffers),
            outcome,
        };
        let pumps = OutputPumps::start(pipes, plan.output_mode, plan.mask.as_ref(), &mut child);
        let watcher = ChildWatcher {
            control,
            shim,
            level,
            started_at,
            buffers,
            tasks: self.0.parts.tasks.clone(),
            _access: access,
        };
        // Not dropped at a stop: the watcher itself ends the child and waits for its last report.
        self.0.parts.tasks.spawn("exec", watcher.watch(pumps, tell));
        self.feed_stdin(plan, &child);
        // The watcher already runs, because a sandbox that fails is noticed through it.
        if let Some(pending) = pending {
            let listener = pending.receive(&child).await?;
            child.listener = std::sync::Mutex::new(Some(listener));
        }
        Ok(child)
    }

    /// The tasks that end with the daemon.
    pub fn tasks(&self) -> &TaskGroup {
        &self.0.parts.tasks
    }

    /// Keeps a child running in the background and returns its id.
    pub fn keep_in_background(&self, child: Child) -> Result<ProcessId, ExecError> {
        let mut background = self.background();
        let running = background.children.len();
        if running >= BACKGROUND_MAX {
            return Err(ExecError::TooMany { running });
        }
        background.last += 1;
        let id = background.last;
        background.children.insert(id, Arc::new(child));
        Ok(ProcessId(id))
    }

    pub fn process(&self, id: ProcessId) -> Option<Arc<Child>> {
        self.background().children.get(&id.0).cloned()
    }

    pub fn processes(&self) -> Vec<(ProcessId, Arc<Child>)> {
        let background = self.background();
        let all = background.children.iter();
        all.map(|(id, child)| (ProcessId(*id), Arc::clone(child)))
            .collect()
    }

    /// Removes a background process from the table and cancels it if it still runs.
    pub fn forget(&self, id: ProcessId) -> Option<Arc<Child>> {
        let child = self.background().children.remove(&id.0)?;
        // Others may hold the child, so removing it from the table does not drop it.
        child.request_cancel();
        Some(child)
    }

    fn background(&self) -> MutexGuard<'_, BackgroundTable> {
        let background = self.0.background.lock();
        background.unwrap_or_else(PoisonError::into_inner)
    }

    async fn build_request(&self, plan: &SpawnPlan) -> Result<ShimRequest, ExecError> {
        let facts = self.sandbox_support().await?;
        let (level, policy) = match &plan.sandbox {
            SandboxMode::Policy(policy) => (facts.require_level()?, Some(policy.clone())),
            SandboxMode::Unsandboxed { reason } => {
                tracing::info!(
                    reason,
                    command = display_command(&plan.argv),
                    "started unsandboxed"
                );
                (SandboxLevel::None, None)
            }
        };
        let milliseconds = |time: std::time::Duration| time.as_millis().try_into().ok();
        let mut request = ShimRequest {
            argv: plan.argv.clone(),
            cwd: plan.cwd.clone().into_os_string(),
            env: environment::child_variables(&self.0.parts.env, &plan.env),
            level,
            policy,
            bubblewrap: facts.bubblewrap.clone(),
            processes: facts.processes,
            limits: plan.limits,
            deadline_ms: plan.deadline.and_then(milliseconds),
            grace_ms: milliseconds(plan.grace).unwrap_or(0),
        };
        if request.has_proxy() {
            environment::set_proxy_variables(&mut request.env);
        }
        Ok(request)
    }

    /// Starts the shim and sends it the child's descriptors. The shim sends the listening socket of
    /// a private network to `network`.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the daemon starts a process"
    )]
    fn start_shim(
        &self,
        pipes: &mut ChildPipes,
        network: Option<&OwnedFd>,
    ) -> io::Result<(StdUnixStream, tokio::process::Child)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let (program, arguments) = split_command(&self.0.parts.shim)?;
        let shim = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
            // The shim's stdin is its control socket.
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        let theirs = pipes.theirs.take();
        let theirs = theirs.ok_or_else(|| io::Error::other("the pipes are given away"))?;
        let borrowed: Vec<_> = theirs.iter().chain(network).map(AsFd::as_fd).collect();
        let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        ancillary.push(SendAncillaryMessage::ScmRights(&borrowed));
        // Descriptors travel only with at least one byte of data.
        let bytes = [IoSlice::new(&[0])];
        rustix::net::sendmsg(&ours, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
        ours.set_nonblocking(true)?;
        Ok((ours, shim))
    }

    /// Writes the plan's input in a separate task, so that a child that never reads does not block
    /// its own start.
    fn feed_stdin(&self, plan: SpawnPlan, child: &Child) {
        let StdinSource::Bytes(bytes) = plan.stdin else {
            return;
        };
        // Nobody else has the child yet, so the lock is free.
        let stdin = child.stdin.try_lock().ok().and_then(|mut held| held.take());
        if let Some(mut stdin) = stdin {
            self.0
                .parts
                .tasks
                .spawn_until_stop("exec stdin", async move {
                    // A child may end, or close its input, without reading everything.
                    let _ = stdin.write_all(&bytes).await;
                });
        }
    }
}

/// Asks a shim for the sandbox support of this machine.
#[expect(
    clippy::disallowed_methods,
    reason = "the shim is asked before any child is started"
)]
pub async fn probe(shim: &[OsString], env: &EnvVars) -> Result<SandboxSupport, ExecError> {
    let failed = |error: io::Error| ExecError::Start(error.to_string());
    let (program, arguments) = split_command(shim).map_err(failed)?;
    let output = Command::new(program)
        .args(arguments)
        .arg(shim::PROBE)
        // The probe has an empty environment, so the search path is an argument.
        .arg(env.os("PATH").unwrap_or_default())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(failed)?;
    shim_protocol::decode(&output.stdout).map_err(failed)
}

/// Resolves the plan's paths on a thread that may block.
async fn resolve_paths(mut plan: SpawnPlan) -> Result<SpawnPlan, ExecError> {
    let work = move || plan_paths::resolve_plan(&mut plan).map(|()| plan);
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ExecError::Start(error.to_string())))
}

async fn create_output_file(plan: &SpawnPlan) -> io::Result<Option<OutputFile>> {
    let Some(path) = &plan.output_file else {
        return Ok(None);
    };
    Ok(Some(OutputFile {
        file: tokio::fs::File::create(path).await?,
        room_bytes: plan.limits.file_output_bytes,
        written_bytes: 0,
        is_truncated: false,
    }))
}

fn display_command(argv: &[OsString]) -> String {
    let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ").chars().take(COMMAND_CHARS_MAX).collect()
}

fn split_command(shim: &[OsString]) -> io::Result<(&OsString, &[OsString])> {
    let found = shim.split_first();
    found.ok_or_else(|| io::Error::other("no program is named as the shim"))
}
