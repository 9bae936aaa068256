//! A tmux server of a test's own with terminals in it, and what their shells say.

use crate::rig::{PATIENCE, shim, until};
use hob_exec::tmux::foreground::{self, Foreground};
use hob_exec::tmux::recording::{RecordedPiece, RecordingReader};
use hob_exec::tmux::{
    NewTmuxSession, TmuxConnection, TmuxNotices, TmuxProgram, TmuxServer, TmuxServerParts,
    TmuxSession, shells,
};
use hob_exec::{Spawner, SpawnerParts};
use hob_kit::host_environment::EnvVars;
use hob_kit::tasks::TaskGroup;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(crate) const KEY: &str = "0123456789abcdef0123456789abcdef";

/// What hands commands to the shell of a terminal's folder.
pub(crate) fn hand(folder: &Path) -> shells::CommandHandoff {
    shells::CommandHandoff::open(folder).expect("its folder is there")
}

/// A server; it is ended when dropped.
pub(crate) struct Rig {
    pub(crate) server: TmuxServer,
    pub(crate) folder: TempDir,
    /// The person's home.
    pub(crate) home: PathBuf,
    pub(crate) tasks: TaskGroup,
}

impl Rig {
    pub(crate) async fn new() -> Rig {
        Rig::with(&[]).await
    }

    /// With files in the person's home.
    pub(crate) async fn with(files: &[(&str, &str)]) -> Rig {
        let folder = TempDir::with_prefix("hob-tmux-").expect("a folder");
        let home = folder.path().join("home");
        std::fs::create_dir(&home).expect("made");
        for (name, text) in files {
            let path = home.join(name);
            std::fs::create_dir_all(path.parent().expect("has one")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let path = EnvVars::capture().os("PATH").expect("a path").to_owned();
        let env = EnvVars::from_pairs([("PATH", path), ("HOME", home.clone().into())]);
        let tmux = TmuxProgram::find(&env, None).await;
        let tmux = tmux.unwrap_or_else(|missing| panic!("{missing}"));
        let tasks = TaskGroup::new();
        let spawner = Spawner::new(SpawnerParts {
            shim: shim(),
            env: env.clone(),
            tasks: tasks.clone(),
            sandbox_support: None,
        });
        let server = TmuxServer::new(TmuxServerParts {
            tmux,
            socket: folder.path().join("tmux.sock"),
            spawner,
            recorder: recorder(),
            env,
            history_lines: 1_000,
        });
        Rig {
            server,
            folder,
            home,
            tasks,
        }
    }

    pub(crate) fn new_terminal(&self, name: &str, shell: &str) -> NewTmuxSession {
        let folder = self.folder.path().join(format!("terminal of {name}"));
        std::fs::create_dir_all(&folder).expect("made");
        NewTmuxSession {
            name: name.to_owned(),
            folder,
            shell: PathBuf::from(shell),
            key: KEY.to_owned(),
            dir: self.home.clone(),
            columns: 100,
            rows: 25,
            env: Vec::new(),
        }
    }

    /// A terminal at its first prompt.
    pub(crate) async fn terminal(&self, name: &str, shell: &str) -> Terminal {
        let new = self.new_terminal(name, shell);
        let mut terminal = self.begin(new).await;
        terminal.prompt().await;
        terminal
    }

    pub(crate) async fn begin(&self, new: NewTmuxSession) -> Terminal {
        let folder = new.folder.clone();
        let session = self.server.create(new).await.expect("created");
        let (control, notices) = self.connect(&session.name).await;
        Terminal {
            reader: RecordingReader::open(&folder, 0).expect("recorded"),
            said: Vec::new(),
            read: 0,
            session,
            control,
            notices,
            folder,
        }
    }

    pub(crate) async fn connect(&self, name: &str) -> (TmuxConnection, TmuxNotices) {
        self.server.connect(name).await.expect("connected")
    }

    /// tmux itself, as a person would use it.
    #[expect(
        clippy::disallowed_methods,
        reason = "somebody beside hob uses the same tmux"
    )]
    pub(crate) fn tmux(&self, arguments: &[&str]) -> String {
        let output = std::process::Command::new("tmux")
            .arg("-u")
            .arg("-S")
            .arg(self.server.socket())
            .args(arguments)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("tmux runs");
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

pub(crate) fn recorder() -> Vec<OsString> {
    [shim(), vec!["record".into()]].concat()
}

pub(crate) struct Terminal {
    pub(crate) session: TmuxSession,
    pub(crate) control: TmuxConnection,
    pub(crate) notices: TmuxNotices,
    pub(crate) reader: RecordingReader,
    pub(crate) folder: PathBuf,
    /// Everything printed so far, and how much of it has been looked at.
    pub(crate) said: Vec<u8>,
    read: usize,
}

/// A command from its mark of beginning to that of its end.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) id: String,
    pub(crate) status: i32,
    /// What came between the marks.
    pub(crate) output: String,
    /// The line, if the person typed it.
    pub(crate) typed: Option<String>,
}

impl Ran {
    /// The output without the title and the colours that fish sets before each command.
    pub(crate) fn printed(&self) -> &str {
        let behind = self.output.split_once("\x0f\r");
        behind.map_or(&self.output, |(_, output)| output)
    }
}

impl Terminal {
    /// Hands a command over and waits for its end and the next prompt.
    pub(crate) async fn run(&mut self, id: &str, command: &str) -> Ran {
        self.hand_over(id, command).await;
        let ran = self.ended().await;
        assert_eq!(ran.id, id);
        self.prompt().await;
        ran
    }

    pub(crate) async fn hand_over(&self, id: &str, command: &str) {
        hand(&self.folder).hand_over(id, command).expect("written");
        if shells::ShellKind::of(Path::new(&self.shell())).has_hooks() {
            self.control.nudge().await.expect("sent");
        } else {
            self.control.type_take_line().await.expect("sent");
        }
    }

    fn shell(&self) -> PathBuf {
        let program = std::fs::read_link(format!("/proc/{}/exe", self.session.shell_pid));
        program.expect("the shell lives")
    }

    /// Waits for the next end of a command; its beginning is looked for before it.
    pub(crate) async fn ended(&mut self) -> Ran {
        let mut output = Vec::new();
        loop {
            let (before, mark) = self.mark().await;
            let fields: Vec<&str> = mark.split(';').collect();
            match fields[..] {
                // What a line that does not parse says comes without a beginning.
                ["T", _] => output.clear(),
                ["C", _, at] => {
                    assert_seconds(at);
                    output.clear();
                }
                ["D", id, status, at, ref typed @ ..] => {
                    assert_seconds(at);
                    output.extend(before);
                    return Ran {
                        id: id.to_owned(),
                        status: status.parse().expect("a number"),
                        output: String::from_utf8_lossy(&output).into_owned(),
                        typed: typed.first().map(|hex| text_of(hex)),
                    };
                }
                _ => output.extend(before),
            }
        }
    }

    /// Waits until this program has the keyboard: the shell says that a command begins before it
    /// has started it, and what is pressed in between is the shell's.
    pub(crate) async fn runs(&self, program: &str) {
        let shell = self.session.shell_pid;
        until("it runs", || match foreground::foreground_of(shell) {
            Ok(Foreground::Group(group)) => std::fs::read(format!("/proc/{group}/cmdline"))
                .is_ok_and(|line| line.starts_with(program.as_bytes())),
            _ => false,
        })
        .await;
    }

    /// Waits for the next prompt; its folder.
    pub(crate) async fn prompt(&mut self) -> String {
        let mark = self.mark_of("B;").await;
        text_of(&mark)
    }

    /// Waits for the next mark that begins so; the rest of it.
    pub(crate) async fn mark_of(&mut self, kind: &str) -> String {
        loop {
            let (_, mark) = self.mark().await;
            if let Some(rest) = mark.strip_prefix(kind) {
                return rest.to_owned();
            }
        }
    }

    /// The next mark, and what came before it.
    pub(crate) async fn mark(&mut self) -> (Vec<u8>, String) {
        let open = format!("\x1b]7717;{KEY};");
        loop {
            let rest = &self.said[self.read..];
            if let Some(begin) = find(rest, open.as_bytes())
                && let body = &rest[begin + open.len()..]
                && let ends =
                    [&b"\x07"[..], b"\x1b\\"].map(|end| Some((find(body, end)?, end.len())))
                && let Some((length, end)) = ends.into_iter().flatten().min()
            {
                let mark = String::from_utf8(body[..length].to_vec()).expect("text");
                let before = rest[..begin].to_vec();
                self.read += begin + open.len() + length + end;
                return (before, mark);
            }
            self.more().await;
        }
    }

    /// Waits until this has been printed.
    pub(crate) async fn sees(&mut self, text: &str) {
        while find(&self.said[self.read..], text.as_bytes()).is_none() {
            self.more().await;
        }
    }

    async fn more(&mut self) {
        let piece = tokio::time::timeout(PATIENCE, self.reader.next()).await;
        let piece = piece.unwrap_or_else(|_| panic!("nothing more came after: {}", self.shown()));
        match piece.expect("readable") {
            RecordedPiece::Bytes(bytes) => self.said.extend(bytes),
            // Another recorder may go on.
            RecordedPiece::Ended => {}
            other @ RecordedPiece::Skipped(_) => panic!("{other:?} came after: {}", self.shown()),
        }
    }

    fn shown(&self) -> String {
        let from = self.said.len().saturating_sub(2_000);
        self.said[from..].escape_ascii().to_string()
    }
}

fn assert_seconds(at: &str) {
    let (seconds, micros) = at.split_once('.').expect("a point");
    assert!(
        seconds
            .parse::<u64>()
            .is_ok_and(|seconds| seconds > 1_600_000_000),
        "{at}"
    );
    assert!(micros.len() == 6 && micros.parse::<u32>().is_ok(), "{at}");
}

pub(crate) fn find(text: &[u8], wanted: &[u8]) -> Option<usize> {
    text.windows(wanted.len()).position(|found| found == wanted)
}

fn text_of(hex: &str) -> String {
    let byte = |pair: &[u8]| {
        let digits = std::str::from_utf8(pair).expect("digits");
        u8::from_str_radix(digits, 16).expect("digits")
    };
    let bytes: Vec<u8> = hex.as_bytes().chunks(2).map(byte).collect();
    String::from_utf8(bytes).expect("text")
}

impl Terminal {
    /// A terminal that was connected to before.
    pub(crate) fn again(
        session: TmuxSession,
        control: TmuxConnection,
        notices: TmuxNotices,
        reader: RecordingReader,
        folder: PathBuf,
    ) -> Terminal {
        Terminal {
            session,
            control,
            notices,
            reader,
            folder,
            said: Vec::new(),
            read: 0,
        }
    }
}
