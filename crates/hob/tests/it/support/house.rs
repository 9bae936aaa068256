//! A home of its own with a daemon in it, as a person would start one. The real home is never
//! touched: `HOB_HOME` and `HOME` are a temporary directory and nothing starts by itself.
//!
//! Invariant: when a [`House`] is dropped its daemon is dead and its home is gone; if the test
//! failed, what the daemon wrote to stderr is shown first.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, sync_channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const START_DEADLINE: Duration = Duration::from_secs(30);
const ANSWER_DEADLINE: Duration = Duration::from_mins(2);
const STDOUT_LINES_MAX: usize = 1_024;

/// How a house is to be started.
#[derive(Default)]
pub(crate) struct HouseBuilder {
    env: Vec<(String, String)>,
    args: Vec<String>,
    config: Option<String>,
}

impl HouseBuilder {
    /// Sets a variable of the daemon's environment.
    pub(crate) fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds an argument after `hob daemon`.
    pub(crate) fn arg(mut self, arg: &str) -> Self {
        self.args.push(arg.to_owned());
        self
    }

    /// The text of `config.toml`.
    pub(crate) fn config(mut self, text: &str) -> Self {
        self.config = Some(text.to_owned());
        self
    }

    /// A home with its config written and no daemon in it.
    pub(crate) fn build(self) -> House {
        let home = tempfile::tempdir().expect("a temporary directory can be made");
        if let Some(text) = &self.config {
            fs::write(home.path().join("config.toml"), text).expect("config.toml is writable");
        }
        House {
            home,
            work: tempfile::tempdir().expect("a temporary directory can be made"),
            plan: self,
            daemon: None,
        }
    }

    /// Builds the home and starts its daemon.
    pub(crate) fn start(self) -> House {
        let mut house = self.build();
        house.start_daemon();
        house
    }
}

/// A home, and the daemon that lives in it while one is started.
pub(crate) struct House {
    home: TempDir,
    work: TempDir,
    plan: HouseBuilder,
    daemon: Option<Daemon>,
}

struct Daemon {
    child: Child,
    stdout: Receiver<String>,
    address: String,
}

/// What a finished command left.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Stdout of a command that must have succeeded.
    pub(crate) fn success(self) -> String {
        assert_eq!(self.code, Some(0), "command failed: {self:?}");
        self.stdout
    }
}

impl House {
    pub(crate) fn builder() -> HouseBuilder {
        HouseBuilder::default()
    }

    /// A house with every default, on a port of its own.
    pub(crate) fn start() -> House {
        House::builder().start()
    }

    pub(crate) fn home(&self) -> &Path {
        self.home.path()
    }

    /// A folder to work in, outside hob's own.
    pub(crate) fn work(&self) -> &Path {
        self.work.path()
    }

    /// Runs a line of shell in the folder to work in, with `hob` on its path.
    pub(crate) fn shell(&self, line: &str) -> Finished {
        let mut command = self.command_of("sh", &["-c", line]);
        command.current_dir(self.work()).env("PATH", hob_path());
        let output = command.stdin(Stdio::null()).output().expect("sh(1) runs");
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `127.0.0.1:PORT` as the daemon printed it.
    pub(crate) fn address(&self) -> &str {
        &self.running().address
    }

    /// Sends a request with a body of JSON and leaves the answer to be read. Version 1.0, so that
    /// a stream comes as it is and ends with its connection.
    pub(crate) fn post(&self, path: &str, token: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.address()).expect("the daemon listens");
        stream
            .set_read_timeout(Some(ANSWER_DEADLINE))
            .expect("a socket");
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.0\r\nHost: {}\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address(),
            body.len()
        );
        stream.write_all(request.as_bytes()).expect("it is taken");
        stream
    }

    pub(crate) fn pid(&self) -> u32 {
        self.running().child.id()
    }

    /// The owner's token.
    pub(crate) fn token(&self) -> String {
        let text = fs::read_to_string(self.home().join("owner.token"));
        text.expect("owner.token exists").trim().to_owned()
    }

    /// `run/daemon.json`.
    pub(crate) fn state(&self) -> Value {
        let text = fs::read_to_string(self.home().join("run/daemon.json"));
        serde_json::from_str(&text.expect("run/daemon.json exists")).expect("it is JSON")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        let state = self.state();
        PathBuf::from(
            state["socket"]
                .as_str()
                .expect("the state names the socket"),
        )
    }

    /// Lines on the daemon's stdout that were not read yet.
    pub(crate) fn stdout_lines(&self) -> Vec<String> {
        self.running().stdout.try_iter().collect()
    }

    /// Starts the daemon and waits for its first line.
    pub(crate) fn start_daemon(&mut self) {
        assert!(self.daemon.is_none(), "one daemon at a time");
        let mut command = self.command(&["daemon"]);
        // Unless the test asks for an address of its own, a free port keeps tests apart.
        let listens = self.plan.args.iter().any(|arg| arg.starts_with("--listen"));
        let told = self
            .plan
            .env
            .iter()
            .any(|(name, _)| name.contains("LISTEN_ADDR"));
        if !listens && !told {
            command.args(["--listen", "127.0.0.1:0"]);
        }
        let stderr = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(self.stderr_file())
            .expect("the stderr file opens");
        let mut child = command
            .args(&self.plan.args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("the hob binary starts");
        let stdout = lines_of(&mut child);
        let Ok(first) = stdout.recv_timeout(START_DEADLINE) else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the daemon printed no first line:\n{}", self.stderr());
        };
        let address = first.strip_prefix("HOB_LISTEN_ADDR=");
        let address = address.unwrap_or_else(|| panic!("unexpected first line: {first:?}"));
        self.daemon = Some(Daemon {
            address: address.to_owned(),
            child,
            stdout,
        });
    }

    /// Kills the daemon as a power switch would.
    pub(crate) fn kill(&mut self) {
        let mut daemon = self.daemon.take().expect("a daemon runs");
        daemon.child.kill().expect("the daemon can be killed");
        daemon.child.wait().expect("the daemon can be waited for");
    }

    /// Sends SIGTERM without waiting.
    pub(crate) fn signal_terminate(&self) {
        let status = spawn_outside("kill")
            .arg("-TERM")
            .arg(self.pid().to_string())
            .status();
        assert!(status.expect("kill(1) runs").success());
    }

    /// Waits until the daemon has ended by itself; fails after `within`.
    pub(crate) fn wait_exit(&mut self, within: Duration) -> ExitStatus {
        let mut daemon = self.daemon.take().expect("a daemon runs");
        let started = Instant::now();
        loop {
            if let Some(status) = daemon
                .child
                .try_wait()
                .expect("the daemon can be waited for")
            {
                return status;
            }
            if started.elapsed() > within {
                let _ = daemon.child.kill();
                let _ = daemon.child.wait();
                panic!("the daemon still ran after {within:?}");
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// SIGTERM, and the exit it leads to.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.signal_terminate();
        self.wait_exit(Duration::from_secs(10))
    }

    /// Runs `hob ARGS` in this home and waits for its end.
    pub(crate) fn hob(&self, args: &[&str]) -> Finished {
        self.hob_with_input(args, "")
    }

    /// Runs `hob ARGS` with `input` on stdin.
    pub(crate) fn hob_with_input(&self, args: &[&str], input: &str) -> Finished {
        let mut child = self
            .command(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the hob binary starts");
        let mut stdin = child.stdin.take().expect("stdin is piped");
        // A command that does not read its stdin may close it first.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().expect("hob ends");
        Finished {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("stdout is UTF-8"),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `hob ARGS` in this home, not started yet; nothing of the tester's environment but the path.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        self.command_of(env!("CARGO_BIN_EXE_hob"), args)
    }

    /// Another program in the same surroundings.
    pub(crate) fn command_of(&self, program: &str, args: &[&str]) -> Command {
        let mut command = spawn_outside(program);
        command
            .env_clear()
            .env("PATH", "/usr/local/bin:/usr/bin:/bin")
            .env("HOME", self.home())
            .env("HOB_HOME", self.home())
            .env("HOB_AUTOSTART", "0")
            .envs(self.plan.env.iter().map(|(name, value)| (name, value)))
            .args(args);
        command
    }

    /// What the daemon wrote to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        fs::read_to_string(self.stderr_file()).unwrap_or_default()
    }

    fn stderr_file(&self) -> PathBuf {
        self.home().join("test-stderr.txt")
    }

    fn running(&self) -> &Daemon {
        self.daemon.as_ref().expect("a daemon runs")
    }
}

impl Drop for House {
    fn drop(&mut self) {
        if let Some(daemon) = &mut self.daemon {
            let _ = daemon.child.kill();
            let _ = daemon.child.wait();
        }
        // The terminals of a home outlive its daemon; this server is of this home alone.
        let socket = self.home().join("run/tmux.sock");
        if socket.exists() {
            let socket = socket.display().to_string();
            let mut end = self.command_of("tmux", &["-S", &socket, "kill-server"]);
            let _ = end.output();
        }
        if std::thread::panicking() {
            eprintln!("--- the daemon's stderr ---\n{}", self.stderr());
        }
    }
}

/// A path on which the built `hob` comes first.
pub(crate) fn hob_path() -> String {
    let hob = Path::new(env!("CARGO_BIN_EXE_hob"));
    let folder = hob.parent().expect("it lies in a folder").display();
    format!("{folder}:/usr/local/bin:/usr/bin:/bin")
}

/// Tries `condition` until it holds; fails after half a minute saying `what` was awaited.
pub(crate) fn wait_until(what: &str, mut condition: impl FnMut() -> bool) {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < START_DEADLINE, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test stands outside every room and starts the product as a person would"
)]
fn spawn_outside(program: &str) -> Command {
    Command::new(program)
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let stdout = child.stdout.take().expect("stdout is piped");
    let (sender, receiver) = sync_channel(STDOUT_LINES_MAX);
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                break;
            }
        }
    });
    receiver
}
