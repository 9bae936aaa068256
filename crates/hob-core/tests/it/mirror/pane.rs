//! A pane of a private tmux server, and the record of its output.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const RUN_TIMEOUT: Duration = Duration::from_mins(1);
/// Printed last; no terminal shows it.
const END: &[u8] = b"\x1b]7717;end\x07";

pub(crate) struct Pane {
    folder: TempDir,
}

/// The pane as tmux reports it.
pub(crate) struct PaneCapture {
    pub(crate) text: String,
    pub(crate) visible: String,
    pub(crate) cursor: (u16, u16),
    pub(crate) full_screen: bool,
    pub(crate) past_lines: usize,
}

impl Pane {
    /// Runs a script to its end in a pane of this size.
    pub(crate) fn run(script: &str, columns: u16, rows: u16) -> Pane {
        let pane = Pane {
            folder: TempDir::new().expect("a folder"),
        };
        let path = pane.folder.path().display().to_string();
        // It waits until it is recorded, and stays when it is done.
        let script = format!(
            "while [ ! -e {path}/go ]; do sleep 0.02; done\n{script}\n\
             printf '\\033]7717;end\\007'\nexec sleep 600\n"
        );
        std::fs::write(pane.folder.path().join("script"), script).expect("written");
        std::fs::write(
            pane.folder.path().join("conf"),
            "set -g history-limit 20000\nset -g status off\n\
             set -g default-terminal tmux-256color\n",
        )
        .expect("written");
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let command = format!("exec sh {path}/script");
        pane.tmux(&[
            "new-session",
            "-d",
            "-s",
            "t",
            "-x",
            &columns,
            "-y",
            &rows,
            &command,
        ]);
        pane.tmux(&[
            "pipe-pane",
            "-O",
            "-t",
            "t",
            &format!("exec cat > {path}/record"),
        ]);
        std::fs::write(pane.folder.path().join("go"), "").expect("written");
        let begun = Instant::now();
        while !pane.raw().ends_with(END) {
            assert!(
                begun.elapsed() < RUN_TIMEOUT,
                "{}",
                String::from_utf8_lossy(&pane.raw())
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        pane
    }

    pub(crate) fn recorded(&self) -> Vec<u8> {
        self.raw()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-t", "t", "-x", &columns, "-y", &rows]);
    }

    pub(crate) fn capture(&self) -> PaneCapture {
        let facts = "#{cursor_x} #{cursor_y} #{alternate_on} #{history_size} #{pane_width}";
        let facts = self.tmux(&["display-message", "-p", "-t", "t", facts]);
        let facts: Vec<u16> = facts
            .split_whitespace()
            .map(|n| n.parse().expect("a number"))
            .collect();
        PaneCapture {
            text: lines(&self.tmux(&["capture-pane", "-p", "-t", "t", "-S", "-"])),
            visible: lines(&self.tmux(&["capture-pane", "-p", "-t", "t"])),
            // A cursor that waits to wrap is one column beyond the last for tmux.
            cursor: (facts[0].min(facts[4] - 1), facts[1]),
            full_screen: facts[2] == 1,
            past_lines: facts[3].into(),
        }
    }

    fn raw(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("record")).unwrap_or_default()
    }

    fn tmux(&self, args: &[&str]) -> String {
        let Output {
            status,
            stdout,
            stderr,
        } = tmux(self.folder.path(), args);
        let error = String::from_utf8_lossy(&stderr);
        assert!(status.success(), "tmux {args:?}: {error}");
        String::from_utf8(stdout).expect("text")
    }
}

impl Drop for Pane {
    fn drop(&mut self) {
        tmux(self.folder.path(), &["kill-server"]);
    }
}

/// Without blank lines at the end: tmux shows those of the screen.
pub(crate) fn lines(text: &str) -> String {
    let text = text.trim_end_matches('\n');
    if text.is_empty() {
        String::new()
    } else {
        format!("{text}\n")
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the terminal beside which the mirror is held"
)]
fn tmux(folder: &Path, args: &[&str]) -> Output {
    Command::new("tmux")
        .args(["-u", "-S"])
        .arg(folder.join("socket"))
        .arg("-f")
        .arg(folder.join("conf"))
        .args(args)
        .env_remove("TMUX")
        .env("LC_ALL", "C.UTF-8")
        .env("SHELL", "/bin/sh")
        .output()
        .expect("tmux is installed: `cargo xtask tools` says how")
}
