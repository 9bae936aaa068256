//! A terminal of 80 columns with `hob` in it, by `script(1)`: what is typed goes in, what a
//! person would see comes out.

use super::House;
use std::io::{Read, Write};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Tty {
    child: Child,
    keys: ChildStdin,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Tty {
    /// Types `line` into a shell of its own; colours are off.
    pub(crate) fn start(house: &House, line: &str) -> Tty {
        let hob = env!("CARGO_BIN_EXE_hob");
        let shell = format!("stty cols 80 rows 24; exec {hob} {line}");
        let mut command = house.command_of("script", &["-qefc", &shell, "/dev/null"]);
        let mut child = command
            .env("TERM", "xterm")
            .env("SHELL", "/bin/sh")
            .env("NO_COLOR", "1")
            .current_dir(house.work())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("script(1) starts");
        let keys = child.stdin.take().expect("piped");
        let mut output = child.stdout.take().expect("piped");
        let seen = Arc::new(Mutex::new(Vec::new()));
        let written = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4_096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                written.lock().expect("whole").extend(&buffer[..length]);
            }
        });
        Tty { child, keys, seen }
    }

    /// Everything seen so far, without line ends of terminals and escape sequences.
    pub(crate) fn seen(&self) -> String {
        let bytes = self.seen.lock().expect("whole").clone();
        plain(&String::from_utf8_lossy(&bytes))
    }

    /// Waits until `text` was seen; fails showing what was.
    pub(crate) fn wait_for(&self, text: &str) {
        let started = Instant::now();
        while !self.seen().contains(text) {
            let waited = started.elapsed();
            assert!(waited < PATIENCE, "no {text:?} in:\n{}", self.seen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).expect("it listens");
        self.keys.flush().expect("it listens");
    }

    /// Waits for the end; gives the exit code and everything seen.
    pub(crate) fn end(mut self) -> (Option<i32>, String) {
        let started = Instant::now();
        while self.child.try_wait().expect("a child").is_none() {
            let waited = started.elapsed();
            assert!(waited < PATIENCE, "it does not end:\n{}", self.seen());
            std::thread::sleep(Duration::from_millis(10));
        }
        let code = self.child.wait().expect("a child").code();
        // The reader is done when the terminal is gone.
        std::thread::sleep(Duration::from_millis(50));
        (code, self.seen())
    }
}

impl Drop for Tty {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Text without escape sequences and carriage returns.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' => {}
            '\u{1b}' => {
                // A sequence ends with its first letter, after `[`.
                if letters.next() == Some('[') {
                    letters.by_ref().find(char::is_ascii_alphabetic);
                }
            }
            shown => out.push(shown),
        }
    }
    out
}
