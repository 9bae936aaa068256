//! Starting children, and keeping those that run in the background.
//!
//! Invariants: facts about the machine are found out once; every child is watched by one task that
//! ends with it; when the house stops, every child is told to end.

use crate::child::Child;
use crate::error::ExecError;
use crate::level::{Facts, Level};
use crate::order::{self, Order, Report};
use crate::output::pump::{Basin, OutputFile};
use crate::peer::ListenerAccess;
use crate::plan::{Feed, NetworkAccess, Plan, Stdin, Walls};
use crate::private_network::PendingListener;
use crate::watcher::{Pipes, Pumps, Watcher, report};
use crate::{environment, paths, shim};
use hob_kit::failpoint;
use hob_kit::tasks::Tasks;
use hob_kit::world::Env;
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

/// Processes in the background at once, finished ones whose end nobody has looked at included.
pub const BACKGROUND_MAX: usize = 64;
const COMMAND_CHARS_MAX: usize = 512;

/// What a spawner is made of.
#[derive(Clone, Debug)]
pub struct SpawnerParts {
    /// The program that is the shim, and its arguments; [`own_shim`] in hob itself.
    pub shim: Vec<OsString>,
    /// Where the passed variables come from.
    pub env: Env,
    pub tasks: Tasks,
    /// What the machine can enforce, when it is known already.
    pub facts: Option<Facts>,
}

/// This very program as a shim. It stays the same one when its file is replaced.
pub fn own_shim() -> Vec<OsString> {
    vec!["/proc/self/exe".into(), shim::SUBCOMMAND.into()]
}

/// Starts processes; cheap to clone.
#[derive(Clone, Debug)]
pub struct Spawner(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    parts: SpawnerParts,
    facts: OnceCell<Facts>,
    // A std mutex: held to look up or change the table, never over an await.
    background: Mutex<Background>,
    access: ListenerAccess,
}

#[derive(Debug, Default)]
struct Background {
    last: u64,
    children: BTreeMap<u64, Arc<Child>>,
}

/// A process in the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ProcessId(pub u64);

impl Spawner {
    pub fn new(parts: SpawnerParts) -> Spawner {
        let facts = OnceCell::new_with(parts.facts.clone());
        Spawner(Arc::new(Inner {
            parts,
            facts,
            background: Mutex::default(),
            access: ListenerAccess::default(),
        }))
    }

    /// Which listeners the services started here may connect to.
    pub fn listener_access(&self) -> ListenerAccess {
        self.0.access.clone()
    }

    /// What this machine can enforce; tried out at the first call.
    pub async fn facts(&self) -> Result<&Facts, ExecError> {
        let parts = &self.0.parts;
        let probe = || probe(&parts.shim, &parts.env);
        self.0.facts.get_or_try_init(probe).await
    }

    /// Starts a child. An error means that nothing ran, except [`ExecError::Start`] found later,
    /// by [`Child::wait`], when a sandbox failed to stand.
    pub async fn spawn(&self, plan: Plan) -> Result<Child, ExecError> {
        let plan = settled(plan).await?;
        let order = self.order(&plan).await?;
        let level = order.level;
        let failed = |error: io::Error| ExecError::Start(error.to_string());
        let file = match &plan.output_file {
            Some(path) => Some(OutputFile {
                file: tokio::fs::File::create(path).await.map_err(failed)?,
                room: plan.limits.file_output_bytes,
                written: 0,
                truncated: false,
            }),
            None => None,
        };
        let pipes = Pipes::make(plan.stdin == Stdin::Empty && plan.feed != Feed::Pipes);
        let mut pipes = pipes.map_err(failed)?;
        let pending = order.has_proxy().then(PendingListener::new);
        let mut pending = pending.transpose().map_err(failed)?;
        let theirs = pending.as_mut().and_then(PendingListener::take_theirs);
        let (ours, shim) = self
            .start_shim(&mut pipes, theirs.as_ref())
            .map_err(failed)?;
        // The end of the pair must mean that the child has let go of it.
        drop(theirs);
        // Before the program starts, which may connect at once.
        let access = plan.listening.clone().and_then(|service| {
            let pid = i32::try_from(shim.id()?).ok()?;
            self.0.access.enter(pid, service)
        });
        let mut control =
            UnixStream::from_std(ours.try_clone().map_err(failed)?).map_err(failed)?;
        let bytes = order::encode(&order).map_err(failed)?;
        control.write_all(&bytes).await.map_err(failed)?;
        let begun = Instant::now();
        let pid = match report(&mut control).await {
            Some(Report::Started { pid }) => pid,
            Some(Report::Failed(error)) => return Err(error),
            Some(Report::Ended(_)) | None => return Err(ExecError::Lost),
        };
        let basin = Arc::new(Basin::new(plan.limits.kept_output_bytes, file));
        let (tell, outcome) = watch::channel(None);
        let mut child = Child {
            pid,
            level,
            command: shown(&plan.argv),
            begun,
            control: ours,
            stdin: tokio::sync::Mutex::new(pipes.stdin.take()),
            pieces: tokio::sync::Mutex::new(None),
            stdout: std::sync::Mutex::new(None),
            listener: std::sync::Mutex::new(None),
            basin: Arc::clone(&basin),
            outcome,
        };
        let pumps = Pumps::begin(pipes, plan.feed, plan.mask.as_ref(), &mut child);
        let watcher = Watcher {
            control,
            shim,
            level,
            begun,
            basin,
            tasks: self.0.parts.tasks.clone(),
            _access: access,
        };
        self.0.parts.tasks.spawn("exec", watcher.watch(pumps, tell));
        self.feed_stdin(plan, &child);
        if let Some(pending) = pending {
            let listener = pending.receive(&child).await?;
            child.listener = std::sync::Mutex::new(Some(listener));
        }
        Ok(child)
    }

    /// The tasks that end with the house.
    pub fn tasks(&self) -> &Tasks {
        &self.0.parts.tasks
    }

    /// Leaves a child running under an id.
    pub fn keep(&self, child: Child) -> Result<ProcessId, ExecError> {
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

    /// Forgets a process; one that still runs is told to end.
    pub fn forget(&self, id: ProcessId) -> Option<Arc<Child>> {
        let child = self.background().children.remove(&id.0)?;
        child.tell_to_end();
        Some(child)
    }

    fn background(&self) -> MutexGuard<'_, Background> {
        let background = self.0.background.lock();
        background.unwrap_or_else(PoisonError::into_inner)
    }

    async fn order(&self, plan: &Plan) -> Result<Order, ExecError> {
        let facts = self.facts().await?;
        let (level, policy) = match &plan.walls {
            Walls::Policy(policy) => (facts.choose()?, Some(policy.clone())),
            Walls::Unsandboxed { reason } => {
                tracing::info!(reason, command = shown(&plan.argv), "started unsandboxed");
                (Level::None, None)
            }
        };
        let milliseconds = |time: std::time::Duration| time.as_millis().try_into().ok();
        let mut order = weakened(Order {
            argv: plan.argv.clone(),
            cwd: plan.cwd.clone().into_os_string(),
            env: environment::of_child(&self.0.parts.env, &plan.env),
            level,
            policy,
            bubblewrap: facts.bubblewrap.clone(),
            processes: facts.processes,
            limits: plan.limits,
            deadline_ms: plan.deadline.and_then(milliseconds),
            grace_ms: milliseconds(plan.grace).unwrap_or(0),
        });
        if order.has_proxy() {
            environment::proxied(&mut order.env);
        }
        Ok(order)
    }

    /// Starts the shim and hands it the child's descriptors; `network` is where the listening socket
    /// of a private network is sent.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place where the daemon starts a process"
    )]
    fn start_shim(
        &self,
        pipes: &mut Pipes,
        network: Option<&OwnedFd>,
    ) -> io::Result<(StdUnixStream, tokio::process::Child)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        let (program, arguments) = split(&self.0.parts.shim)?;
        let shim = Command::new(program)
            .args(arguments)
            .env_clear()
            .current_dir("/")
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
        let bytes = [IoSlice::new(&[0])];
        rustix::net::sendmsg(&ours, &bytes, &mut ancillary, SendFlags::NOSIGNAL)?;
        ours.set_nonblocking(true)?;
        Ok((ours, shim))
    }

    /// Writes the plan's input in a task of its own: a child that never reads must not hold up its
    /// start.
    fn feed_stdin(&self, plan: Plan, child: &Child) {
        let Stdin::Bytes(bytes) = plan.stdin else {
            return;
        };
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

/// The order as it is, except where a fault test breaks one wall on purpose.
fn weakened(mut order: Order) -> Order {
    if failpoint::broken(60) {
        order.deadline_ms = None;
    }
    if failpoint::broken(61) {
        order.limits.processes = 4_096;
    }
    if failpoint::broken(62) {
        order.limits.file_bytes = u64::MAX;
    }
    if failpoint::broken(70) {
        (order.level, order.policy) = (Level::None, None);
    }
    if let Some(policy) = &mut order.policy {
        if failpoint::broken(68) {
            policy.network = NetworkAccess::Host;
        }
        policy.hidden.retain(|_| !failpoint::broken(104));
    }
    order
}

/// Asks a shim what this machine can enforce.
#[expect(
    clippy::disallowed_methods,
    reason = "the shim is asked before any child is started"
)]
pub async fn probe(shim: &[OsString], env: &Env) -> Result<Facts, ExecError> {
    let failed = |error: io::Error| ExecError::Start(error.to_string());
    let (program, arguments) = split(shim).map_err(failed)?;
    let output = Command::new(program)
        .args(arguments)
        .arg(shim::PROBE)
        .arg(env.os("PATH").unwrap_or_default())
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(failed)?;
    order::decode(&output.stdout).map_err(failed)
}

/// Looks the plan's paths up on a thread that may wait for a disk.
async fn settled(mut plan: Plan) -> Result<Plan, ExecError> {
    let work = move || paths::settle(&mut plan).map(|()| plan);
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|error| Err(ExecError::Start(error.to_string())))
}

fn shown(argv: &[OsString]) -> String {
    let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ").chars().take(COMMAND_CHARS_MAX).collect()
}

fn split(shim: &[OsString]) -> io::Result<(&OsString, &[OsString])> {
    let found = shim.split_first();
    found.ok_or_else(|| io::Error::other("no program is named as the shim"))
}
