//! A daemon on a temporary home, made to be mistreated: killed, starved, watched, started over.
//! Invariant: whatever happens to the test, no process and no mount of it stays behind.

use super::fault_build::binary;
use super::http;
use super::peer::Peer;
use super::process::{Racer, Spoken, end, first_line, pid_of, wait};
use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything that must happen may take on a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_mins(1);

/// A home and the daemon that lives in it, if any.
pub(crate) struct Rig {
    home: PathBuf,
    binary: PathBuf,
    env: Vec<(String, String)>,
    arguments: Vec<String>,
    /// Runs before the daemon's own command line and ends by exec, so that the pid is the daemon's.
    launcher: Vec<String>,
    daemon: Option<Daemon>,
    scratch: TempDir,
}

/// A running daemon.
struct Daemon {
    child: Child,
    port: u16,
    socket: PathBuf,
}

/// How a command, or a daemon that did not stay, ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stderr: String,
}

impl Rig {
    /// A fresh home.
    pub(crate) fn new() -> Rig {
        Rig::below(&std::env::temp_dir())
    }

    /// A fresh home in a folder of this one.
    pub(crate) fn below(folder: &Path) -> Rig {
        let scratch = tempfile::Builder::new()
            .prefix("hob-f")
            .tempdir_in(folder)
            .expect("a temporary folder");
        Rig {
            home: scratch.path().join("home"),
            binary: binary(),
            env: Vec::new(),
            arguments: vec!["--listen".to_owned(), "127.0.0.1:0".to_owned()],
            launcher: Vec::new(),
            daemon: None,
            scratch,
        }
    }

    pub(crate) fn home(&self) -> &Path {
        &self.home
    }

    /// Gives the home a path of this many bytes.
    pub(crate) fn stretch_home(&mut self, bytes: usize) -> &mut Rig {
        let above = self.scratch.path().as_os_str().len() + 1;
        let name = "h".repeat(
            bytes
                .checked_sub(above)
                .expect("a folder that is short enough"),
        );
        self.home = self.scratch.path().join(name);
        self
    }

    /// A folder beside the home that goes away with it.
    pub(crate) fn scratch(&self) -> &Path {
        self.scratch.path()
    }

    /// Sets an environment variable of the next start.
    pub(crate) fn env(&mut self, name: &str, value: &str) -> &mut Rig {
        self.env.retain(|(known, _)| known != name);
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn without_env(&mut self, name: &str) -> &mut Rig {
        self.env.retain(|(known, _)| known != name);
        self
    }

    /// The arguments after `hob daemon` for the next start.
    pub(crate) fn arguments(&mut self, arguments: &[&str]) -> &mut Rig {
        self.arguments = arguments.iter().map(|&text| text.to_owned()).collect();
        self
    }

    /// Starts through another program that execs the daemon, such as `env --ignore-signal=XFSZ`.
    pub(crate) fn launcher(&mut self, launcher: &[&str]) -> &mut Rig {
        self.launcher = launcher.iter().map(|&text| text.to_owned()).collect();
        self
    }

    /// Starts the daemon and returns how long it took to be ready.
    pub(crate) fn start(&mut self) -> Duration {
        match self.try_start() {
            Ok(took) => took,
            Err(ended) => panic!(
                "the daemon did not start ({}): {}",
                ended.status, ended.stderr
            ),
        }
    }

    /// Starts the daemon; the error is how it ended instead.
    pub(crate) fn try_start(&mut self) -> Result<Duration, Ended> {
        assert!(self.daemon.is_none(), "one daemon at a time");
        let begun = Instant::now();
        let mut child = self.spawn(&self.scratch.path().join("stderr"));
        match first_line(&mut child) {
            Some(line) => {
                let port = line
                    .trim()
                    .strip_prefix("HOB_LISTEN_ADDR=127.0.0.1:")
                    .and_then(|port| port.parse().ok());
                let Some(port) = port else {
                    end(&mut child);
                    panic!("the first line of stdout is {line:?}");
                };
                let socket = self.state()["socket"].as_str().map(PathBuf::from);
                self.daemon = Some(Daemon {
                    child,
                    port,
                    socket: socket.unwrap_or_else(|| self.home.join("run/hob.sock")),
                });
                Ok(begun.elapsed())
            }
            None => Err(self.ended(child)),
        }
    }

    /// Starts another daemon on the same home beside the first; it must not stay.
    pub(crate) fn start_second(&self) -> Result<(), Ended> {
        let mut child = self.spawn(&self.scratch.path().join("stderr"));
        if first_line(&mut child).is_some() {
            end(&mut child);
            return Ok(());
        }
        Err(self.ended(child))
    }

    /// Starts a daemon that may or may not win the home.
    pub(crate) fn start_racer(&self, number: usize) -> Racer {
        Racer(
            self.spawn(
                &self
                    .scratch
                    .path()
                    .join(format!("stderr of racer {number}")),
            ),
        )
    }

    fn spawn(&self, stderr: &Path) -> Child {
        let mut words = self.launcher.clone();
        words.push(self.binary.display().to_string());
        words.push("daemon".to_owned());
        words.extend(self.arguments.iter().cloned());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        dress(&mut command, &self.home);
        command
            .envs(self.env.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(File::create(stderr).expect("a file for stderr"))
            .process_group(0)
            .spawn()
            .expect("the daemon's program starts")
    }

    /// Runs `hob` with these arguments on this home to its end.
    pub(crate) fn hob(&self, arguments: &[&str]) -> Ended {
        let mut command = Command::new(&self.binary);
        dress(&mut command, &self.home);
        let output = command.args(arguments).stdin(Stdio::null()).output();
        let output = output.expect("hob runs");
        Ended {
            status: output.status,
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// Makes commands of `hob` on this home, also on other threads.
    pub(crate) fn starter(&self) -> impl Fn() -> Command + Send + use<> {
        let (binary, home) = (self.binary.clone(), self.home.clone());
        move || {
            let mut command = Command::new(&binary);
            dress(&mut command, &home);
            command
        }
    }

    /// Starts `hob` with these arguments on this home and lets it go on beside the test.
    pub(crate) fn begin_hob(&self, arguments: &[&str]) -> Spoken {
        let mut command = Command::new(&self.binary);
        dress(&mut command, &self.home);
        Spoken::start(command.args(arguments)).expect("hob starts")
    }

    fn ended(&self, mut child: Child) -> Ended {
        let status = wait(&mut child, PATIENCE).expect("a daemon that closed stdout ends");
        Ended {
            status,
            stderr: self.stderr(),
        }
    }

    pub(crate) fn stderr(&self) -> String {
        std::fs::read_to_string(self.scratch.path().join("stderr")).unwrap_or_default()
    }

    /// `kill -9`, and waits until it is gone.
    pub(crate) fn kill(&mut self) {
        drop(self.daemon.take());
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(pid_of(&self.daemon().child), signal).expect("the daemon lives");
    }

    /// Waits until the daemon ended by itself.
    pub(crate) fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        let daemon = self.daemon.as_mut().expect("a daemon was started");
        let status = wait(&mut daemon.child, within)?;
        self.daemon = None;
        Some(status)
    }

    /// SIGTERM, then waits for a clean end.
    pub(crate) fn stop(&mut self) {
        self.signal(Signal::TERM);
        let status = self.wait(PATIENCE).expect("the daemon ends after SIGTERM");
        assert!(
            status.success(),
            "after SIGTERM: {status}: {}",
            self.stderr()
        );
    }

    /// Whether the daemon still runs.
    pub(crate) fn lives(&mut self) -> bool {
        match &mut self.daemon {
            Some(daemon) => daemon.child.try_wait().is_ok_and(|status| status.is_none()),
            None => false,
        }
    }

    fn daemon(&self) -> &Daemon {
        self.daemon.as_ref().expect("a daemon is running")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.daemon().child.id()
    }

    pub(crate) fn port(&self) -> u16 {
        self.daemon().port
    }

    pub(crate) fn socket(&self) -> &Path {
        &self.daemon().socket
    }

    /// The owner's token.
    pub(crate) fn token(&self) -> String {
        let text = std::fs::read_to_string(self.home.join("owner.token")).expect("an owner token");
        text.trim().to_owned()
    }

    /// What `run/daemon.json` says.
    pub(crate) fn state(&self) -> Value {
        let text =
            std::fs::read_to_string(self.home.join("run/daemon.json")).expect("a state file");
        serde_json::from_str(&text).expect("a state file of JSON")
    }

    /// The port of a listener that was opted into.
    pub(crate) fn listener(&self, surface: &str) -> u16 {
        let status = self.peer().must("daemon.status", &json!({}));
        let listeners = status["listeners"].as_array().into_iter().flatten();
        let mut addresses = listeners
            .filter_map(Value::as_str)
            .filter_map(|line| line.strip_prefix(surface)?.strip_prefix(" 127.0.0.1:"));
        let port = addresses.next().and_then(|port| port.parse().ok());
        port.unwrap_or_else(|| panic!("{surface} is open: {status}"))
    }

    /// An authenticated connection to the unix socket with every scope.
    pub(crate) fn peer(&self) -> Peer {
        Peer::authenticated(self.socket(), &self.token())
            .expect("the daemon takes its owner's token")
    }

    /// Calls a method over HTTP, where the socket cannot be reached: it must answer.
    pub(crate) fn rpc(&self, method: &str, params: &Value) -> Value {
        let bearer = format!("Authorization: Bearer {}", self.token());
        let lines = [bearer.as_str(), "Content-Type: application/json"];
        let path = format!("/api/rpc/{method}");
        let reply = http::post(self.port(), &path, &lines, &params.to_string());
        let reply = reply.expect("an answer");
        assert_eq!(reply.status, 200, "{method}: {reply:?}");
        reply.json()
    }

    /// A figure of `/proc/PID/status` in KiB, such as `VmRSS` or the peak `VmHWM`.
    pub(crate) fn memory_kib(&self, field: &str) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.pid())).expect("a live daemon");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
        let digits = line.and_then(|line| line.split_whitespace().next());
        digits
            .and_then(|digits| digits.parse().ok())
            .expect("a figure in KiB")
    }

    /// Processor time the daemon has taken, in hundredths of a second.
    pub(crate) fn cpu_ticks(&self) -> u64 {
        let path = format!("/proc/{}/stat", self.pid());
        let text = std::fs::read_to_string(path).expect("the daemon's stat");
        let fields = text.rsplit(')').next().unwrap_or_default();
        let numbers = fields.split_whitespace().skip(11).take(2);
        numbers.filter_map(|field| field.parse::<u64>().ok()).sum()
    }

    /// Makes the peak of resident memory start anew.
    pub(crate) fn reset_peak_memory(&self) {
        let path = format!("/proc/{}/clear_refs", self.pid());
        match std::fs::write(path, "5") {
            // The daemon's memory is closed to an ordinary user: then the peak since its start
            // counts, which is no less.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
            written => written.expect("the peak can be reset"),
        }
    }
}

/// Gives a command this home and nothing else of hob's from the outer environment.
fn dress(command: &mut Command, home: &Path) {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("HOB_") || text.starts_with("PRYX_") {
            command.env_remove(&name);
        }
    }
    command.env("HOB_HOME", home).env("HOB_AUTOSTART", "0");
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            eprintln!("--- the daemon's stderr ---\n{}", self.stderr());
        }
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        end(&mut self.child);
    }
}

/// Waits until `done` says so; panics with `what` when it never does.
pub(crate) fn eventually(what: &str, mut done: impl FnMut() -> bool) -> Duration {
    let begun = Instant::now();
    while !done() {
        assert!(
            begun.elapsed() < PATIENCE,
            "{what}: not within {PATIENCE:?}"
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    begun.elapsed()
}
