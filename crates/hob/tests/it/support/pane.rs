//! A terminal that a person would sit at, by tmux: keys go in, the screen as it looks comes out.
//! It has a server of its own, which ends with the test.

use super::{House, hob_path};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Generous, because test machines are noisy; nothing waits that long unless it is broken.
const PATIENCE: Duration = Duration::from_mins(1);

pub(crate) struct Pane<'h> {
    house: &'h House,
    /// The folder of its socket; `None` once it was handed on.
    folder: Option<tempfile::TempDir>,
    socket: PathBuf,
}

/// A pane that goes on while its house changes.
pub(crate) struct DetachedPane {
    folder: tempfile::TempDir,
}

impl<'h> Pane<'h> {
    /// A shell in the folder to work in, on a screen of this size.
    pub(crate) fn open(house: &'h House, columns: u16, rows: u16) -> Pane<'h> {
        let folder = tempfile::tempdir().expect("a temporary directory can be made");
        let pane = Pane {
            house,
            socket: folder.path().join("s"),
            folder: Some(folder),
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

    /// Lets go of the house; the terminal and what runs in it go on.
    pub(crate) fn detach(mut self) -> DetachedPane {
        let folder = self.folder.take().expect("it was not handed on");
        DetachedPane { folder }
    }

    /// Takes a pane up again.
    pub(crate) fn attach(house: &'h House, detached: DetachedPane) -> Pane<'h> {
        Pane {
            house,
            socket: detached.folder.path().join("s"),
            folder: Some(detached.folder),
        }
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

    /// Waits until `text` is not on the screen any more.
    pub(crate) fn wait_until_gone(&self, text: &str) {
        let started = Instant::now();
        loop {
            let screen = self.screen();
            if !screen.contains(text) {
                return;
            }
            let waited = started.elapsed();
            assert!(waited < PATIENCE, "still {text:?} on:\n{screen}");
            std::thread::sleep(Duration::from_millis(30));
        }
    }

    /// The title that a program gave the terminal.
    pub(crate) fn title(&self) -> String {
        self.tmux(&["display-message", "-p", "#{pane_title}"])
    }

    pub(crate) fn shell_pid(&self) -> String {
        let pid = self.tmux(&["display-message", "-p", "#{pane_pid}"]);
        pid.trim().to_owned()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-x", &columns, "-y", &rows]);
    }

    /// Writes every byte that programs print from now on to a file.
    pub(crate) fn record(&self, file: &std::path::Path) {
        let command = format!("cat > '{}'", file.display());
        self.tmux(&["pipe-pane", &command]);
    }

    fn tmux(&self, args: &[&str]) -> String {
        let socket = self.socket.display().to_string();
        let mut command = self.house.command_of("tmux", &["-u", "-S", &socket]);
        let output = command
            .args(args)
            .env("PATH", hob_path())
            .env("LC_ALL", "C.UTF-8")
            .env("TMUX_TMPDIR", self.socket.parent().expect("a folder"))
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
        if self.folder.is_none() {
            return;
        }
        let socket = self.socket.display().to_string();
        let mut command = self
            .house
            .command_of("tmux", &["-S", &socket, "kill-server"]);
        let _ = command.output();
    }
}
