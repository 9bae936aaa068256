//! Fault 81: the daemon's memory, which holds keys and the owner's token, as other processes of the
//! same user see it, and as a crash leaves it.

use crate::faults::rig::{PATIENCE, Rig};
use crate::faults::trial::Trial;
use rustix::process::{Signal, getuid};
use serde_json::json;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// An ordinary user whom nobody else is.
const SOMEBODY: u32 = 64_081;
const CANARY: &str = "sk-canary-of-fault-81";
/// What another process of the same user could read keys from.
const OPENED: [&str; 5] = ["mem", "environ", "maps", "auxv", "syscall"];

#[test]
fn f81_memory_of_the_daemon() {
    let trial = Trial::begin(81);
    no_core(&trial);
    if !getuid().is_root() {
        return trial.not_run("only root can start a daemon as an ordinary user");
    }
    let mut rig = Rig::new();
    let as_somebody = become_somebody(&mut rig);
    rig.env("ANTHROPIC_API_KEY", CANARY);
    rig.start();
    let daemon = rig.pid();

    // A process like any other shows what is looked for.
    let mut plain = Plain::start(&as_somebody);
    let readable = OPENED
        .iter()
        .filter(|name| reads(&as_somebody, plain.0.id(), name));
    assert_eq!(readable.count(), OPENED.len(), "the test itself can read");
    plain.end();

    let mut tried = 0;
    for name in OPENED {
        assert!(!reads(&as_somebody, daemon, name), "/proc/PID/{name}");
        tried += 1;
    }
    let listed = run(&as_somebody, &format!("ls /proc/{daemon}/fd/"));
    assert!(!listed, "its open files");
    tried += 1;

    // Its children are as before: a sandboxed command of an ordinary user runs.
    let job = json!({ "name": "walls", "schedule": "webhook", "command": "echo $((40 + 2))" });
    rig.rpc("cron.add", &job);
    rig.rpc("cron.run", &json!({ "id": "walls" }));
    let begun = Instant::now();
    let slot = loop {
        let history = rig.rpc("cron.history", &json!({ "id": "walls" }));
        let slot = history["slots"][0].clone();
        if !matches!(slot["state"].as_str(), Some("due" | "running")) {
            break slot;
        }
        assert!(begun.elapsed() < PATIENCE, "{slot}");
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(slot["state"], "ran", "{slot}");
    let output = slot["output"].as_str().unwrap_or_default();
    assert!(output.contains("42"), "{slot}");
    trial.figure("memory_read", format_args!("0/{tried}"));
}

/// A daemon that crashes leaves no core, where another program does.
fn no_core(trial: &Trial) {
    let folder = tempfile::tempdir().expect("a folder");
    let script = "ulimit -c unlimited; cd \"$0\"; kill -ABRT $$";
    let control = Command::new("sh")
        .args(["-c", script])
        .arg(folder.path())
        .status()
        .expect("a shell");
    let mut rig = Rig::new();
    rig.launcher(&["sh", "-c", "ulimit -c unlimited; exec \"$@\"", "sh"]);
    rig.start();
    rig.signal(Signal::ABORT);
    let status = rig.wait(PATIENCE).expect("it ends");
    assert_eq!(status.signal(), Some(6), "{status}");
    assert!(!status.core_dumped(), "{status}");
    trial.figure("core_of_another_program", control.core_dumped());
    trial.figure("core_of_the_daemon", false);
}

/// Has the daemon run as an ordinary user; gives the words that make another program do so.
fn become_somebody(rig: &mut Rig) -> Vec<String> {
    let mode = |path: &std::path::Path, mode| {
        std::fs::set_permissions(path, Permissions::from_mode(mode)).expect("is ours");
    };
    mode(rig.scratch(), 0o755);
    std::fs::create_dir(rig.home()).expect("a folder");
    mode(rig.home(), 0o700);
    std::os::unix::fs::chown(rig.home(), Some(SOMEBODY), Some(SOMEBODY)).expect("is given away");
    let user = SOMEBODY.to_string();
    let words = [
        "setpriv",
        "--reuid",
        &user,
        "--regid",
        &user,
        "--clear-groups",
    ];
    let words: Vec<String> = words.map(str::to_owned).into();
    let person = rig.home().display().to_string();
    rig.env("HOME", &person);
    rig.launcher(&words.iter().map(String::as_str).collect::<Vec<_>>());
    words
}

/// Whether a program of the same user gets a byte, or at least the file open.
fn reads(as_somebody: &[String], pid: u32, name: &str) -> bool {
    run(as_somebody, &format!("exec 3< /proc/{pid}/{name}"))
}

fn run(as_somebody: &[String], line: &str) -> bool {
    let status = Command::new(&as_somebody[0])
        .args(&as_somebody[1..])
        .args(["sh", "-c", line])
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    status.expect("setpriv runs").success()
}

/// A program without protection.
struct Plain(Child);

impl Plain {
    fn start(as_somebody: &[String]) -> Plain {
        let child = Command::new(&as_somebody[0])
            .args(&as_somebody[1..])
            .args(["sleep", "600"])
            .spawn()
            .expect("it starts");
        // It has become somebody once it is `sleep`.
        let comm = format!("/proc/{}/comm", child.id());
        let begun = Instant::now();
        while std::fs::read_to_string(&comm).unwrap_or_default().trim() != "sleep" {
            assert!(begun.elapsed() < PATIENCE, "it never became a program");
            std::thread::sleep(Duration::from_millis(10));
        }
        Plain(child)
    }

    fn end(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        self.end();
    }
}
