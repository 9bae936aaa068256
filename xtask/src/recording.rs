//! `cargo xtask picture`: the README's picture, `docs/session.svg`. It is the screen of a real
//! session: hob runs in tmux against the scripted model, and what stands on the screen becomes text
//! of the picture.
//!
//! Invariant: nothing is drawn that hob did not print or a person did not type.

use crate::shell;
use crate::workspace::Workspace;
use anyhow::{Context, Result, bail, ensure};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

const PICTURE: &str = "docs/session.svg";
/// The folder of the session.
const WORK: &str = "/tmp/hob-picture/shop";
const COLUMNS: usize = 80;
const ROWS: usize = 30;
/// Pixels of one letter, of one line, and around all of them.
const LETTER: f64 = 8.4;
const LINE: f64 = 19.0;
const MARGIN: f64 = 18.0;
/// A step of the session takes no longer.
const STEP_MAX: Duration = Duration::from_mins(1);
/// What the scripted model does and says.
const CALL: &str =
    r##"write={"path":"notes.txt","content":"# Server\nPort: 8080\nHost: localhost\n"}"##;
const WORDS: &str = "Done: notes.txt has the port now.";
/// What is typed, and what then stands on the screen.
const STEPS: [(&str, &str); 4] = [
    (
        "hob ask 'note the port of server.toml in notes.txt'\n",
        "don't ask again",
    ),
    ("y", "calls"),
    ("hob undo\n", "restored"),
    ("cat notes.txt\n", "Host: localhost\n$"),
];

pub(crate) fn run(arguments: &[String]) -> Result<bool> {
    if !arguments.is_empty() {
        bail!("picture takes no arguments");
    }
    let mut build = shell::cargo();
    build.args(["build", "--quiet", "--workspace", "--bins", "--locked"]);
    if !shell::succeeds(&mut build)? {
        return Ok(false);
    }
    let target = Workspace::load()?.target;
    let stage = Stage::set(&target)?;
    let played = stage.play();
    stage.clear();
    std::fs::write(shell::root().join(PICTURE), svg(&played?))?;
    shell::say(&format!("wrote {PICTURE}"));
    Ok(true)
}

/// A home, a folder and a tmux server for one session.
struct Stage {
    programs: PathBuf,
    folder: PathBuf,
    model: Child,
}

impl Stage {
    fn set(target: &Path) -> Result<Stage> {
        let folder = target.join("picture");
        let _ = std::fs::remove_dir_all(&folder);
        // Its path is in the picture, so it is not one of this machine.
        let work = PathBuf::from(WORK);
        let _ = std::fs::remove_dir_all(&work);
        std::fs::create_dir_all(&work)?;
        std::fs::write(work.join("notes.txt"), "# Server\nHost: localhost\n")?;
        std::fs::write(work.join("server.toml"), "port = 8080\n")?;
        let programs = target.join("debug");
        let mut model = shell::program(programs.join("hob-sim"));
        model
            .args(["--call", CALL, "--say", WORDS])
            .stdout(Stdio::piped());
        let mut model = model.spawn().context("hob-sim cannot be started")?;
        let out = model.stdout.take().context("its output is piped")?;
        // Read to its last line: a pipe that is closed earlier would end the model.
        let mut url = None;
        for line in BufReader::new(out).lines() {
            let line = line?;
            url = url.or_else(|| line.strip_prefix("OpenaiChat: ").map(str::to_owned));
            if line.starts_with("Stamps: ") {
                break;
            }
        }
        let url = url.context("hob-sim names no address")?;
        let config = format!(
            "[model]\ndefault = [\"sim/small\"]\n[models.sim]\nkind = \"openai\"\nurl = \"{url}\"\n"
        );
        std::fs::create_dir_all(folder.join("home"))?;
        std::fs::write(folder.join("home/config.toml"), config)?;
        Ok(Stage {
            programs,
            folder,
            model,
        })
    }

    /// Plays the session and returns its screen, with colours as escape sequences.
    fn play(&self) -> Result<String> {
        let home = format!("HOB_HOME={}", self.folder.join("home").display());
        let path = shell::env("PATH").unwrap_or_default();
        let path = format!("PATH={}:{path}", self.programs.display());
        let (columns, rows) = (COLUMNS.to_string(), ROWS.to_string());
        // The daemon runs before the session begins, as on every day but the first.
        let shell_line = format!(
            "cd {WORK} && env '{home}' '{path}' NO_COLOR= hob up >/dev/null 2>&1; \
             exec env -u NO_COLOR '{home}' '{path}' PS1='$ ' bash --norc --noprofile"
        );
        self.tmux(&[
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            &shell_line,
        ])?;
        self.wait_for("$")?;
        for (keys, shown) in STEPS {
            let (text, enter) = match keys.strip_suffix('\n') {
                Some(text) => (text, true),
                None => (keys, false),
            };
            // A question waits until a person stopped typing.
            std::thread::sleep(Duration::from_millis(600));
            self.tmux(&["send-keys", "-l", text])?;
            if enter {
                self.tmux(&["send-keys", "Enter"])?;
            }
            self.wait_for(shown)?;
        }
        std::thread::sleep(Duration::from_millis(300));
        self.tmux(&["capture-pane", "-p", "-e"])
    }

    fn wait_for(&self, text: &str) -> Result<()> {
        let started = Instant::now();
        loop {
            let screen = self.tmux(&["capture-pane", "-p"])?;
            if screen.contains(text) {
                return Ok(());
            }
            ensure!(started.elapsed() < STEP_MAX, "no {text:?} on:\n{screen}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut tmux = shell::program("tmux");
        tmux.args(["-u", "-f", "/dev/null", "-S"])
            .arg(self.folder.join("tmux"));
        shell::output(tmux.env("LC_ALL", "C.UTF-8").args(arguments))
    }

    fn clear(mut self) {
        let mut down = shell::program(self.programs.join("hob"));
        shell::quietly(down.arg("down").env("HOB_HOME", self.folder.join("home")));
        let _ = self.tmux(&["kill-server"]);
        let _ = self.model.kill();
        let _ = self.model.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
        let _ = std::fs::remove_dir_all(WORK);
    }
}

/// The picture of a screen.
fn svg(screen: &str) -> String {
    let lines: Vec<&str> = screen.trim_end().lines().collect();
    let size = |count: usize, each: f64| {
        2.0 * MARGIN + each * f64::from(u32::try_from(count).unwrap_or(0))
    };
    let (width, height) = (size(COLUMNS, LETTER), size(lines.len(), LINE));
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         font-family=\"ui-monospace, monospace\" font-size=\"14\">\n\
         <title>A session with hob</title>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1d2026\"/>\n"
    );
    for (index, line) in lines.iter().enumerate() {
        let y = MARGIN + LINE * (f64::from(u32::try_from(index).unwrap_or(0)) + 0.75);
        // Writing to a string cannot fail.
        let _ = writeln!(
            out,
            "<text x=\"{MARGIN}\" y=\"{y:.1}\" xml:space=\"preserve\" fill=\"#d7dae0\">{}</text>",
            spans(line)
        );
    }
    out.push_str("</svg>\n");
    out
}

/// A line with its colours as spans.
fn spans(line: &str) -> String {
    let mut out = String::new();
    let mut style = "";
    for (index, piece) in line.split("\u{1b}[").enumerate() {
        let text = match piece.split_once('m') {
            Some((code, text)) if index > 0 => {
                style = style_of(code, style);
                text
            }
            _ => piece,
        };
        let text = text
            .replace('&', "&amp;")
            .replace('<', "&lt;")
            .replace('>', "&gt;");
        let text = text.replace('\u{f}', "");
        if style.is_empty() || text.is_empty() {
            out.push_str(&text);
        } else {
            let _ = write!(out, "<tspan {style}>{text}</tspan>");
        }
    }
    out
}

/// The attributes of a colour code; the last one of several counts.
fn style_of(code: &str, before: &'static str) -> &'static str {
    match code.rsplit(';').next().unwrap_or_default() {
        "" | "0" | "39" => "",
        "1" => "font-weight=\"bold\"",
        "2" => "fill=\"#8a919e\"",
        "31" => "fill=\"#e06c75\"",
        "32" => "fill=\"#98c379\"",
        "33" => "fill=\"#e5c07b\"",
        "36" => "fill=\"#56b6c2\"",
        _ => before,
    }
}

#[cfg(test)]
#[path = "recording_tests.rs"]
mod tests;
