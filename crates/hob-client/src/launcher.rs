//! Starting the daemon of a home: detached, saying so, waiting until it answers.
//!
//! Invariants: nothing is started under `HOB_AUTOSTART=0`; losing the race to another starter is
//! as good as winning it, because the home's lock lets only one daemon live; nothing that began before
//! a `hob down` starts a daemon after it; the daemon inherits no descriptor and no terminal.

use crate::error::ClientError;
use crate::link::Link;
use crate::target::Target;
use hob_kit::home::Home;
use hob_kit::last_down;
use hob_kit::world::World;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// How long a new daemon may take until it answers; recovering a large log takes a while.
const READY_WAIT: Duration = Duration::from_mins(1);
/// Between two looks at whether it answers: short at first, since a start takes milliseconds.
const FIRST_LOOK: Duration = Duration::from_millis(2);
const LOOK_MAX: Duration = Duration::from_millis(50);
/// Starts tried while other commands hold the home for a moment.
const STARTS_MAX: u32 = 5;
/// What is shown of the output of a daemon that failed to start.
const OUTPUT_TAIL_BYTES: u64 = 2_048;
/// The flag by which a daemon knows that it must detach itself.
pub const DETACHED_FLAG: &str = "--detached";
/// The flag that tells it which `hob down` was the last one when its start began.
const LAST_DOWN_FLAG: &str = "--last-down";
/// The reason of a start that came to nothing because of a later `hob down`.
pub const OVERTAKEN: &str = "'hob down' was run after this start began. To start it, run: hob up";

/// How to start a home's daemon; cheap to clone.
#[derive(Clone)]
pub struct Launch {
    executable: PathBuf,
    home: Home,
    /// Whether `HOB_AUTOSTART` leaves it to us.
    allowed: bool,
    /// The mark of the last `hob down` when this began: it starts nothing after a later one.
    last_down: String,
    say: Arc<dyn Fn(&str) + Send + Sync>,
}

impl Launch {
    /// Starts `executable daemon`. `say` gets the one line that tells the person.
    pub fn new(
        world: &World,
        executable: PathBuf,
        say: impl Fn(&str) + Send + Sync + 'static,
    ) -> Self {
        Launch {
            executable,
            home: world.home.clone(),
            last_down: last_down::read(&world.home),
            allowed: world.env.text("HOB_AUTOSTART") != Some("0"),
            say: Arc::new(say),
        }
    }

    /// The same for a command that began when this was the mark of the last `hob down`.
    #[must_use]
    pub fn began_after(mut self, last_down: String) -> Self {
        self.last_down = last_down;
        self
    }

    /// Whether `HOB_AUTOSTART` leaves starting to us.
    pub fn is_allowed(&self) -> bool {
        self.allowed
    }

    /// Makes sure that the home's daemon answers, starting it unless that is forbidden.
    pub async fn ensure(&self) -> Result<(), ClientError> {
        match Link::open(&Target::home(&self.home)).await {
            Ok(_) => Ok(()),
            Err(absent @ ClientError::NotRunning { .. }) if !self.allowed => Err(absent),
            Err(ClientError::NotRunning { .. }) => self.start().await,
            Err(other) => Err(other),
        }
    }

    /// Starts a daemon and waits until one answers, be it this or another's.
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
        let output_from = output.metadata().map_or(0, |found| found.len());
        let home = self.home.root().display();
        (self.say)(&format!("Starting the hob daemon for {home}."));
        for _ in 0..STARTS_MAX {
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
                Outcome::Ready => return Ok(()),
                Outcome::Failed(_) if self.is_overtaken() => {
                    return Err(failed(OVERTAKEN.to_owned()));
                }
                Outcome::Failed(reason) => {
                    return Err(failed(format!(
                        "{reason} {}",
                        tail(&output_path, output_from)
                    )));
                }
                Outcome::LockedOut => {}
            }
        }
        Err(failed(
            "other commands hold the home again and again. Try it once more.".to_owned(),
        ))
    }

    /// Whether a `hob down` came after this began.
    fn is_overtaken(&self) -> bool {
        last_down::read(&self.home) != self.last_down
    }

    async fn wait_until_ready(&self, child: &mut Child) -> Outcome {
        let target = Target::home(&self.home);
        let deadline = Instant::now() + READY_WAIT;
        let mut look = FIRST_LOOK;
        let mut ended = None;
        let mut was_held = false;
        loop {
            match Link::open(&target).await {
                Ok(_) => return Outcome::Ready,
                Err(error) if error.is_absence() => {}
                Err(error) => return Outcome::Failed(error.to_string()),
            }
            if ended.is_none()
                && let Ok(Some(status)) = child.try_wait()
            {
                ended = Some(status);
            }
            let is_held = hob_kit::lock::holder(&self.home).is_some();
            match ended {
                // Ours found the home taken. Whoever held it was no daemon, or a failing one.
                Some(_) if was_held && !is_held => return Outcome::LockedOut,
                Some(status) if !is_held => {
                    return Outcome::Failed(format!("it ended with {status}."));
                }
                // It may have lost the race; the winner answers soon.
                Some(_) => was_held = true,
                None => {}
            }
            if Instant::now() >= deadline {
                let seconds = READY_WAIT.as_secs();
                return Outcome::Failed(format!("no answer within {seconds} s."));
            }
            tokio::time::sleep(look).await;
            look = (look * 2).min(LOOK_MAX);
        }
    }
}

/// What became of a started daemon.
enum Outcome {
    /// A daemon answers, ours or another's.
    Ready,
    /// The home was held by someone who is gone now, such as `hob token` without a daemon.
    LockedOut,
    Failed(String),
}

impl std::fmt::Debug for Launch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Launch({})", self.executable.display())
    }
}

/// Makes sure that the daemon of this world's home answers, starting the current executable's
/// `daemon` if it must and may. `say` gets the one line that tells the person.
pub async fn ensure_daemon(
    world: &World,
    say: impl Fn(&str) + Send + Sync + 'static,
) -> Result<(), ClientError> {
    let executable = std::env::current_exe().map_err(|error| ClientError::NotStarted {
        reason: format!("hob does not know where its own program is: {error}"),
    })?;
    Launch::new(world, executable, say).ensure().await
}

/// What a detached daemon does first, while it is still alone in its process: leaves the terminal
/// it was started from and its directory, and closes what it inherited beyond stdio, so that neither
/// a closing terminal nor a waiting pipe depends on it. Paths have been made absolute by then.
pub fn detach() {
    // Fails only for a group leader, which a child started by `Launch` is not.
    let _ = rustix::process::setsid();
    // A daemon that lives for months must not keep the starter's directory from being unmounted.
    let _ = std::env::set_current_dir("/");
    let Ok(entries) = std::fs::read_dir("/dev/fd") else {
        return;
    };
    // Collected first: the listing itself holds a descriptor, which is gone afterwards.
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
    reason = "only the raw call can close what another program left open; nothing in this process owns it yet"
)]
fn close(descriptor: i32) {
    use std::os::fd::BorrowedFd;
    // SAFETY: `detach` runs before anything else of this process opened a descriptor. One that is
    // not open any more (the directory listing's own) is told apart by `fcntl` first.
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
        .mode(0o600)
        .open(path)
}

#[expect(
    clippy::disallowed_methods,
    reason = "starting the daemon is the one process this crate may start"
)]
fn spawn(executable: &Path, last_down: &str, output: &File) -> io::Result<Child> {
    Command::new(executable)
        .args(["daemon", DETACHED_FLAG, LAST_DOWN_FLAG, last_down])
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?)
        .spawn()
}

/// The last lines that the daemon wrote before it failed.
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
    // The daemon's own mark of an error; this is part of a sentence now.
    let text = text.strip_prefix("error: ").unwrap_or(text);
    format!("It said: {text}")
}
