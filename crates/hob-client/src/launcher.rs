//! [`DaemonLauncher`]: starts the daemon of a home, detached, and waits until it answers.
//!
//! Invariants: nothing is started under `HOB_AUTOSTART=0`. Losing the race to another starter is
//! fine, because the home's lock admits only one daemon. A command that began before a `hob down`
//! starts no daemon after it. The daemon inherits no descriptor and no terminal.

use crate::connection::DaemonConnection;
use crate::error::ClientError;
use crate::target::DaemonTarget;
use hob_kit::home::Home;
use hob_kit::host_environment::HostEnvironment;
use hob_kit::last_down;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// The time limit for a new daemon to answer. Recovering a large log takes a while.
const READY_TIMEOUT: Duration = Duration::from_mins(1);
/// The first interval between two connection attempts. It is short, since a start takes
/// milliseconds. It doubles up to [`POLL_INTERVAL_MAX`].
const FIRST_POLL: Duration = Duration::from_millis(2);
const POLL_INTERVAL_MAX: Duration = Duration::from_millis(50);
/// Start attempts while other commands briefly hold the home's lock.
const STARTS_MAX: u32 = 5;
/// The shown part of the output of a daemon that failed to start.
const OUTPUT_TAIL_BYTES: u64 = 2_048;
/// The flag that tells a daemon to detach itself.
pub const DETACHED_FLAG: &str = "--detached";
/// The flag with the mark of the last `hob down` before this start.
const LAST_DOWN_FLAG: &str = "--last-down";
/// The error of a start that was cancelled by a later `hob down`.
pub const OVERTAKEN: &str = "'hob down' was run after this start began. To start it, run: hob up";

/// Starts the daemon of a home; cheap to clone.
#[derive(Clone)]
pub struct DaemonLauncher {
    executable: PathBuf,
    home: Home,
    /// False under `HOB_AUTOSTART=0`.
    allowed: bool,
    /// The mark of the last `hob down` when this command began. After a later one, nothing is
    /// started.
    last_down: String,
    notify: Arc<dyn Fn(&str) + Send + Sync>,
}

impl DaemonLauncher {
    /// Creates a launcher that runs `executable daemon`. `notify` gets a line for the user before a
    /// start.
    pub fn new(
        world: &HostEnvironment,
        executable: PathBuf,
        notify: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        DaemonLauncher {
            executable,
            home: world.home.clone(),
            last_down: last_down::read(&world.home),
            allowed: world.env.text("HOB_AUTOSTART") != Some("0"),
            notify: Arc::new(notify),
        }
    }

    /// Sets the mark of the last `hob down` to an earlier value, read when the command began.
    #[must_use]
    pub fn with_last_down(mut self, last_down: String) -> Self {
        self.last_down = last_down;
        self
    }

    /// Returns false under `HOB_AUTOSTART=0`.
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Makes sure that the home's daemon answers. Starts it if that is allowed.
    pub async fn ensure(&self) -> Result<(), ClientError> {
        match DaemonConnection::open(&DaemonTarget::home(&self.home)).await {
            Ok(_) => Ok(()),
            Err(absent @ ClientError::NotRunning { .. }) if !self.allowed => Err(absent),
            Err(ClientError::NotRunning { .. }) => self.start().await,
            Err(other) => Err(other),
        }
    }

    /// Starts a daemon and waits until this or another daemon of the home answers.
    pub async fn start(&self) -> Result<(), ClientError> {
        let failed = |reason: String| ClientError::NotStarted { reason };
        self.home
            .ensure()
            .map_err(|error| failed(error.to_string()))?;
        let output_path = self.home.logs().join("daemon.out");
        let output = open_output(&output_path).map_err(|error| {
            failed(format!(
                "{} cannot be written: {error}",
                output_path.display()
            ))
        })?;
        // The file is appended to; an error shows only what this start adds.
        let output_from = output.metadata().map_or(0, |found| found.len());
        let home = self.home.root().display();
        (self.notify)(&format!("Starting the hob daemon for {home}."));
        for _ in 0..STARTS_MAX {
            // Checked before every attempt, because `hob down` may run while this waits.
            if self.is_overtaken() {
                return Err(failed(OVERTAKEN.to_owned()));
            }
            let mut child = spawn(&self.executable, &self.last_down, &output).map_err(|error| {
                failed(format!(
                    "{} cannot be run: {error}.",
                    self.executable.display()
                ))
            })?;
            match self.wait_until_ready(&mut child).await {
                StartOutcome::Ready => return Ok(()),
                StartOutcome::Failed(_) if self.is_overtaken() => {
                    return Err(failed(OVERTAKEN.to_owned()));
                }
                StartOutcome::Failed(reason) => {
                    return Err(failed(format!(
                        "{reason} {}",
                        tail(&output_path, output_from)
                    )));
                }
                StartOutcome::LockedOut => {}
            }
        }
        Err(failed(
            "other commands hold the home again and again. Try it once more.".to_owned(),
        ))
    }

    /// Returns true if a `hob down` ran after this command began.
    fn is_overtaken(&self) -> bool {
        last_down::read(&self.home) != self.last_down
    }

    async fn wait_until_ready(&self, child: &mut Child) -> StartOutcome {
        let target = DaemonTarget::home(&self.home);
        let deadline = Instant::now() + READY_TIMEOUT;
        let mut poll_interval = FIRST_POLL;
        let mut ended = None;
        let mut was_held = false;
        loop {
            match DaemonConnection::open(&target).await {
                Ok(_) => return StartOutcome::Ready,
                Err(error) if error.is_daemon_absent() => {}
                Err(error) => return StartOutcome::Failed(error.to_string()),
            }
            if ended.is_none()
                && let Ok(Some(status)) = child.try_wait()
            {
                ended = Some(status);
            }
            let is_held = hob_kit::home_lock::holder_pid(&self.home).is_some();
            match ended {
                // Our daemon found the lock held. The holder was no daemon, or a failing one.
                Some(_) if was_held && !is_held => return StartOutcome::LockedOut,
                Some(status) if !is_held => {
                    return StartOutcome::Failed(format!("it ended with {status}."));
                }
                // Our daemon may have lost the race; the winner answers soon.
                Some(_) => was_held = true,
                None => {}
            }
            if Instant::now() >= deadline {
                let seconds = READY_TIMEOUT.as_secs();
                return StartOutcome::Failed(format!("no answer within {seconds} s."));
            }
            tokio::time::sleep(poll_interval).await;
            poll_interval = (poll_interval * 2).min(POLL_INTERVAL_MAX);
        }
    }
}

/// The outcome of a start.
enum StartOutcome {
    /// A daemon answers, ours or another one.
    Ready,
    /// Another process held the home's lock and has ended, such as `hob token` without a daemon.
    LockedOut,
    Failed(String),
}

impl std::fmt::Debug for DaemonLauncher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DaemonLauncher({})", self.executable.display())
    }
}

/// Makes sure that the daemon of the home answers. Starts `daemon` of the current executable if
/// needed and allowed. `notify` gets a line for the user before a start.
pub async fn ensure_daemon(
    world: &HostEnvironment,
    notify: impl Fn(&str) + Send + Sync + 'static,
) -> Result<(), ClientError> {
    let executable = std::env::current_exe().map_err(|error| ClientError::NotStarted {
        reason: format!("hob does not know where its own program is: {error}"),
    })?;
    DaemonLauncher::new(world, executable, notify)
        .ensure()
        .await
}

/// Detaches the daemon from its starter: leaves the terminal session and the directory, and closes
/// inherited descriptors except stdio, so that no terminal or pipe waits for it. Runs first in the
/// process, while it has one thread. Paths are already absolute.
pub fn detach() {
    // Fails only for a group leader, which a child started by `DaemonLauncher` is not.
    let _ = rustix::process::setsid();
    // A long-running daemon must not prevent the starter's directory from being unmounted.
    let _ = std::env::set_current_dir("/");
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    // Collect first: the listing itself has a descriptor, which is closed afterwards.
    let inherited: Vec<i32> = entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|descriptor| *descriptor > 2)
        .collect();
    for descriptor in inherited {
        close(descriptor);
    }
}

#[expect(
    unsafe_code,
    reason = "inherited descriptors have no owner in this process; only the raw call can close them"
)]
fn close(descriptor: i32) {
    use std::os::fd::BorrowedFd;
    // SAFETY: `detach` runs before anything else in this process opens a descriptor. `fcntl`
    // filters out one that is no longer open (the directory listing's own).
    unsafe {
        let open = rustix::io::fcntl_getfd(BorrowedFd::borrow_raw(descriptor)).is_ok();
        if open {
            rustix::io::close(descriptor);
        }
    }
}

fn open_output(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .create(true)
        .append(true)
        // Errors may contain private paths; only the owner may read them.
        .mode(0o600)
        .open(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "starting the daemon is the one process this crate may start"
)]
fn spawn(executable: &Path, last_down: &str, output: &File) -> io::Result<Child> {
    // A file and no pipe, because the daemon outlives this process.
    Command::new(executable)
        .args(["daemon", DETACHED_FLAG, LAST_DOWN_FLAG, last_down])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
}

/// Returns the last output of a daemon that failed, as a sentence.
fn tail(path: &Path, from: u64) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(path)?;
        let end = file.metadata()?.len();
        file.seek(SeekFrom::Start(
            from.max(end.saturating_sub(OUTPUT_TAIL_BYTES)),
        ))?;
        let mut text = Vec::new();
        file.read_to_end(&mut text)?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let text = read().unwrap_or_default();
    let text = text.trim();
    if text.is_empty() {
        return format!("Its output is in {}.", path.display());
    }
    // Strip the daemon's prefix, since the text becomes part of a sentence.
    let text = text.strip_prefix("error: ").unwrap_or(text);
    format!("It said: {text}")
}
