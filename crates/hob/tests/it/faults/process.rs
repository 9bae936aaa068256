//! Processes of a test. Invariant: each is ended with its whole group when its guard is dropped.

use super::rig::PATIENCE;
use rustix::process::{Pid, Signal, kill_process_group};
use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// The first line of a child's stdout; none when it ended or stayed silent.
pub(super) fn first_line(child: &mut Child) -> Option<String> {
    let stdout = child.stdout.take().expect("stdout is a pipe");
    let (sender, receiver) = mpsc::sync_channel(1);
    std::thread::spawn(move || {
        let mut reader = BufReader::new(stdout);
        let mut line = String::new();
        let read = reader.read_line(&mut line).unwrap_or(0);
        let _ = sender.send((read > 0).then_some(line));
        // Keeps the pipe open so that a later word on stdout does not end the daemon.
        let _ = reader.read_to_end(&mut Vec::new());
    });
    if let Ok(line) = receiver.recv_timeout(PATIENCE) {
        return line;
    }
    end(child);
    panic!("the daemon neither printed its address nor ended");
}

pub(super) fn pid_of(child: &Child) -> Pid {
    Pid::from_child(child)
}

/// Kills the child's whole process group and reaps it.
pub(super) fn end(child: &mut Child) {
    let _ = kill_process_group(pid_of(child), Signal::KILL);
    let _ = child.wait();
}

pub(super) fn wait(child: &mut Child, within: Duration) -> Option<ExitStatus> {
    let deadline = Instant::now() + within;
    loop {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        if Instant::now() > deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A daemon started at the same time as others.
pub(crate) struct Racer(pub(super) Child);

impl Racer {
    /// The line with its address; none when it gave way.
    pub(crate) fn address(&mut self) -> Option<String> {
        first_line(&mut self.0)
    }
}

impl Drop for Racer {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}

/// A command whose words are read; ended with its group when dropped.
pub(crate) struct Spoken(Option<Child>);

impl Spoken {
    pub(super) fn start(command: &mut Command) -> std::io::Result<Spoken> {
        let command = command.stdin(Stdio::null()).process_group(0);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
        child.spawn().map(|child| Spoken(Some(child)))
    }

    /// Its exit code, stdout and stderr, once it has ended.
    pub(crate) fn finish(mut self) -> (Option<i32>, String, String) {
        let mut child = self.0.take().expect("it is finished once");
        if wait(&mut child, PATIENCE).is_none() {
            end(&mut child);
        }
        let output = child.wait_with_output().expect("the command ended");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            end(child);
        }
    }
}

/// A program beside the daemon, such as strace or a browser; ended with its group when dropped.
pub(crate) struct Beside(Child);

impl Beside {
    pub(crate) fn start(command: &mut Command) -> std::io::Result<Beside> {
        command.process_group(0).spawn().map(Beside)
    }

    pub(crate) fn wait(&mut self, within: Duration) -> Option<ExitStatus> {
        wait(&mut self.0, within)
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let _ = kill_process_group(pid_of(&self.0), signal);
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        end(&mut self.0);
    }
}
