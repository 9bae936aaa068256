//! A terminal that a person would sit at, by tmux: keys go in, the screen as it looks comes out.
//! It has a server of its own, which ends with the test.

use super::{House, hob_path};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Pane<'h> {
    house: &'h House,
    socket: PathBuf,
    folder: tempfile::TempDir,
}

impl<'h> Pane<'h> {
    /// A shell in the folder to work in, on a screen of this size.
    pub(crate) fn open(house: &'h House, columns: u16, rows: u16) -> Pane<'h> {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let pane = Pane {
            house,
            socket: folder.path().join("s"),
            folder,
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let shell = "env PS1='$ ' bash --norc --noprofile";
        pane.tmux(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            shell,
        ]);
        pane.wait_for("$");
        pane
    }

    /// Types a command on an empty screen and sends it.
    pub(crate) fn run(&self, line: &str) {
        // What was seen before must not be taken for what comes.
        self.tmux(&["send-keys", "-R", "C-l"]);
        self.tmux(&["clear-history"]);
        self.tmux(&["send-keys", "-l", line]);
        self.tmux(&["send-keys", "Enter"]);
    }

    pub(crate) fn press(&self, key: &str) {
        self.tmux(&["send-keys", "-l", key]);
    }

    /// What stands on the screen.
    pub(crate) fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p"])
    }

    /// What stands on the screen, colours as escape sequences.
    pub(crate) fn colours(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    /// Waits until `text` stands on the screen; fails showing it.
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            let waited = started.elapsed();
            assert!(waited < PATIENCE, "no {text:?} on:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    fn tmux(&self, args: &[&str]) -> String {
        let socket = self.socket.display().to_string();
        let mut command = self.house.command_of("tmux", &["-u", "-S", &socket]);
        let output = command
            .args(args)
            .env("PATH", hob_path())
            .env("LC_ALL", "C.UTF-8")
            .env("TMUX_TMPDIR", self.folder.path())
            .current_dir(self.house.work())
            .output()
            .expect("tmux(1) runs: apt-get install tmux");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "tmux {args:?}: {said}");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Pane<'_> {
    fn drop(&mut self) {
        let socket = self.socket.display().to_string();
        let mut command = self
            .house
            .command_of("tmux", &["-S", &socket, "kill-server"]);
        let _ = command.output();
    }
}
