//! tmux driven by hand: a client in control mode that keeps the same record with SQLite alone, and
//! a client that starts tmux for everything it wants and does the same.
//!
//! The shell is the same bash with the person's own file and marks of the same kind; tmux has the
//! same settings.

use anyhow::{Context, Result, bail, ensure};
use rusqlite::{Connection, params};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SETTINGS: &str = "set -g history-limit 10000
set -g default-terminal tmux-256color
set -s escape-time 10
set -s set-clipboard off
set -g allow-rename off
set -g automatic-rename off
set -g set-titles off
set -g status-interval 0
";

/// Bash hooks that mark the start and end of a command.
const HOOKS: &str = r#"[ -r ~/.bashrc ] && . ~/.bashrc
number=0
ended() {
  local status=$?
  printf '\e]7717;K;D;%s;%s;%s\a' "$number" "$status" "$EPOCHREALTIME"
  number=$((number + 1))
}
PROMPT_COMMAND=(ended "${PROMPT_COMMAND[@]}")
PS0='\e]7717;K;C;${number};${EPOCHREALTIME}\a'
PS1="$PS1"'\[\e]7717;K;B;\a\]'
"#;

const SCHEMA: &str = "
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = FULL;
    CREATE TABLE terminals (row_id INTEGER PRIMARY KEY, name TEXT NOT NULL,
        reached INTEGER NOT NULL, state TEXT NOT NULL) STRICT;
    CREATE TABLE commands (number INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE,
        terminal INTEGER NOT NULL, command TEXT, state TEXT NOT NULL, exit_code INTEGER,
        queued_at INTEGER NOT NULL, started_at INTEGER, ended_at INTEGER,
        output_bytes INTEGER NOT NULL DEFAULT 0) STRICT;
    CREATE INDEX commands_terminal ON commands (terminal, number);
    CREATE INDEX commands_live ON commands (terminal, number) WHERE ended_at IS NULL;
    CREATE TABLE command_outputs (command INTEGER PRIMARY KEY, terminal INTEGER NOT NULL,
        text TEXT NOT NULL) STRICT;
    CREATE INDEX command_outputs_terminal ON command_outputs (terminal, command);
    CREATE TABLE acts (number INTEGER PRIMARY KEY, at INTEGER NOT NULL, what TEXT NOT NULL,
        hash BLOB NOT NULL) STRICT;
    CREATE TABLE events (seq INTEGER PRIMARY KEY, at INTEGER NOT NULL, topic TEXT NOT NULL,
        payload TEXT NOT NULL) STRICT;
    INSERT INTO terminals VALUES (1, 'bench', 0, 'idle');";

/// A tmux server of a yardstick's own, ended when dropped.
#[derive(Debug)]
struct YardstickTmux {
    folder: TempDir,
}

#[expect(
    clippy::disallowed_methods,
    reason = "a yardstick stands on nothing of ours"
)]
impl YardstickTmux {
    fn start(shell: &[&str]) -> Result<YardstickTmux> {
        let server = YardstickTmux {
            folder: TempDir::new()?,
        };
        std::fs::write(server.path("tmux.conf"), SETTINGS)?;
        std::fs::write(server.path("hooks"), HOOKS)?;
        let mut command = server.tmux();
        command.arg("-f").arg(server.path("tmux.conf"));
        command.args([
            "new-session",
            "-d",
            "-s",
            "bench",
            "-x",
            "120",
            "-y",
            "30",
            "--",
        ]);
        let status = command
            .args(shell)
            .current_dir(server.folder.path())
            .status();
        ensure!(
            status.context("start tmux")?.success(),
            "tmux did not start"
        );
        Ok(server)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn tmux(&self) -> Command {
        let mut command = Command::new("tmux");
        command.arg("-u").arg("-S").arg(self.path("sock"));
        command.stdin(Stdio::null());
        command
    }

    fn output(&self, arguments: &[&str]) -> Result<Vec<u8>> {
        let output = self.tmux().args(arguments).output()?;
        ensure!(output.status.success(), "tmux {arguments:?} failed");
        Ok(output.stdout)
    }

    fn attach(&self) -> Result<Child> {
        let mut command = self.tmux();
        command.args(["-C", "attach-session", "-t", "=bench"]);
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Ok(command.spawn()?)
    }
}

impl Drop for YardstickTmux {
    fn drop(&mut self) {
        let _ = self.output(&["kill-server"]);
    }
}

/// The same rows as hob's, with SQLite alone.
#[derive(Debug)]
struct CommandRecord {
    sql: Connection,
    number: i64,
}

impl CommandRecord {
    #[expect(
        clippy::disallowed_methods,
        reason = "a yardstick stands on nothing of ours"
    )]
    fn open(server: &YardstickTmux) -> Result<CommandRecord> {
        let sql = Connection::open(server.path("raw.db"))?;
        sql.execute_batch(SCHEMA)?;
        Ok(CommandRecord { sql, number: 1 })
    }

    /// Commands that are about to be typed.
    fn queue(&mut self, commands: &[&str]) -> Result<()> {
        let transaction = self.sql.transaction()?;
        for (number, command) in (self.number..).zip(commands) {
            transaction
                .prepare_cached(
                    "INSERT INTO commands (number, id, terminal, command, state, queued_at)
                     VALUES (?1, ?2, 1, ?3, 'queued', ?1)",
                )?
                .execute(params![number, i128::from(number).to_be_bytes(), command])?;
        }
        transaction
            .prepare_cached("INSERT INTO acts (at, what, hash) VALUES (?1, ?2, ?3)")?
            .execute(params![self.number, commands.join("\n"), [0_u8; 32]])?;
        Ok(transaction.commit()?)
    }

    /// A command that has ended.
    fn end(&mut self, command: &str, output: &str) -> Result<()> {
        let bytes = i64::try_from(output.len())?;
        let transaction = self.sql.transaction()?;
        transaction
            .prepare_cached(
                "UPDATE commands SET state = 'done', exit_code = 0, started_at = ?1, ended_at = ?1,
                 output_bytes = ?2 WHERE number = ?1",
            )?
            .execute(params![self.number, bytes])?;
        transaction
            .prepare_cached("INSERT INTO command_outputs VALUES (?1, 1, ?2)")?
            .execute(params![self.number, output])?;
        for state in ["running", "done"] {
            let payload = format!("{{\"command\":\"{command}\",\"state\":\"{state}\"}}");
            transaction
                .prepare_cached("INSERT INTO events VALUES (NULL, ?1, 'terminal.command', ?2)")?
                .execute(params![self.number, payload])?;
        }
        transaction
            .prepare_cached("UPDATE terminals SET reached = reached + ?1 WHERE row_id = 1")?
            .execute([bytes])?;
        transaction.commit()?;
        self.number += 1;
        Ok(())
    }
}

/// A client in control mode that records each command before and after.
#[derive(Debug)]
pub(crate) struct ControlClient {
    // Before the server: it reads from it until the end.
    client: Child,
    writes: ChildStdin,
    reads: ChildStdout,
    record: CommandRecord,
    /// Pane output that was not read yet.
    said: Vec<u8>,
    /// The beginning of a line of tmux's.
    line: Vec<u8>,
    /// True until the prompt is seen after a command.
    is_busy: bool,
    _server: YardstickTmux,
}

impl ControlClient {
    pub(crate) fn start() -> Result<ControlClient> {
        let server = YardstickTmux::start(&["bash", "--rcfile", "hooks", "-i"])?;
        let record = CommandRecord::open(&server)?;
        let mut client = server.attach()?;
        let writes = client.stdin.take().context("piped")?;
        let reads = client.stdout.take().context("piped")?;
        let mut control = ControlClient {
            client,
            writes,
            reads,
            record,
            said: Vec::new(),
            line: Vec::new(),
            is_busy: false,
            _server: server,
        };
        // The first prompt may have come before anybody listened.
        control.send("send-keys -t =bench: Enter")?;
        control.until("\x1b]7717;K;B;")?;
        // Its own output, and neither its echo nor an earlier prompt, which also has a number 0.
        control.send("send-keys -t =bench: -l \"number=0; echo be''gin\"")?;
        control.send("send-keys -t =bench: Enter")?;
        control.until("begin\r\n")?;
        control.until("\x1b]7717;K;D;0;")?;
        control.until("\x1b]7717;K;B;")?;
        Ok(control)
    }

    /// Records commands at once and runs them one after the other: types each, waits for its end,
    /// records that. What they printed.
    pub(crate) fn run_all(&mut self, commands: &[&str]) -> Result<Vec<String>> {
        self.record.queue(commands)?;
        commands.iter().map(|command| self.next(command)).collect()
    }

    /// Waits until the shell is at its prompt again; nobody waits for that.
    pub(crate) fn rest(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_busy) {
            self.until("\x1b]7717;K;B;")?;
        }
        Ok(())
    }

    fn next(&mut self, command: &str) -> Result<String> {
        self.rest()?;
        self.is_busy = true;
        let number = self.record.number;
        self.send(&format!("send-keys -t =bench: -l '{command}'"))?;
        self.send("send-keys -t =bench: Enter")?;
        self.until(&format!("\x1b]7717;K;C;{number};"))?;
        let output = self.until(&format!("\x1b]7717;K;D;{number};"))?;
        // Behind the end of the mark that the beginning was found by.
        let output = output.splitn(2, |byte| *byte == 0x07).nth(1);
        let output = String::from_utf8_lossy(output.unwrap_or_default()).into_owned();
        self.record.end(command, &output)?;
        Ok(output)
    }

    fn send(&mut self, line: &str) -> Result<()> {
        Ok(self.writes.write_all(format!("{line}\n").as_bytes())?)
    }

    /// Reads until the pane has printed this; what came before it.
    fn until(&mut self, wanted: &str) -> Result<Vec<u8>> {
        let wanted = wanted.as_bytes();
        let mut buffer = [0; 16 * 1024];
        loop {
            let found = self
                .said
                .windows(wanted.len())
                .position(|part| part == wanted);
            if let Some(at) = found {
                let rest = self.said.split_off(at + wanted.len());
                let mut before = std::mem::replace(&mut self.said, rest);
                before.truncate(at);
                return Ok(before);
            }
            let length = self.reads.read(&mut buffer)?;
            if length == 0 {
                bail!("tmux closed the connection");
            }
            self.hear(&buffer[..length]);
        }
    }

    /// Takes the lines of output out of what tmux says, and the octal numbers out of them.
    fn hear(&mut self, bytes: &[u8]) {
        for byte in bytes {
            if *byte != b'\n' {
                self.line.push(*byte);
                continue;
            }
            let line = std::mem::take(&mut self.line);
            let mut words = line.splitn(3, |byte| *byte == b' ');
            if words.next() != Some(b"%output") {
                continue;
            }
            let text = words.nth(1).unwrap_or_default();
            let mut at = 0;
            while at < text.len() {
                let number = text.get(at + 1..at + 4).filter(|_| text[at] == b'\\');
                if let Some([high, middle, low]) = number {
                    let digit = |digit: &u8| digit.wrapping_sub(b'0');
                    self.said
                        .push(digit(high) * 64 + digit(middle) * 8 + digit(low));
                    at += 4;
                } else {
                    self.said.push(text[at]);
                    at += 1;
                }
            }
        }
    }
}

impl Drop for ControlClient {
    fn drop(&mut self) {
        let _ = self.client.kill();
        let _ = self.client.wait();
    }
}

/// A client that starts tmux for each thing it wants: is the session there, type this, show the
/// screen. It keeps the same record.
#[derive(Debug)]
pub(crate) struct SpawningClient {
    server: YardstickTmux,
    record: CommandRecord,
}

/// The method a client uses to detect the end of a command.
#[derive(Clone, Copy, Debug)]
pub(crate) enum EndDetection {
    /// It knows what will be printed, and looks without a pause until that is there.
    Knowing,
    /// As Archy does at its fastest: every 100 ms, until the screen is the same three times.
    Settled,
}

impl SpawningClient {
    pub(crate) fn start() -> Result<SpawningClient> {
        let server = YardstickTmux::start(&["bash", "--rcfile", "hooks", "-i"])?;
        let record = CommandRecord::open(&server)?;
        let mut starting = SpawningClient { server, record };
        starting.run_all(&["echo begin"], EndDetection::Knowing)?;
        Ok(starting)
    }

    /// Has words echoed that were not printed before; what was seen of them.
    pub(crate) fn run_all(&mut self, commands: &[&str], look: EndDetection) -> Result<Vec<String>> {
        commands
            .iter()
            .map(|command| self.run(command, look))
            .collect()
    }

    fn run(&mut self, command: &str, look: EndDetection) -> Result<String> {
        const PAUSE: Duration = Duration::from_millis(100);
        const SAME: usize = 3;
        let started = Instant::now();
        let word = command.trim_start_matches("echo ");
        self.record.queue(&[command])?;
        self.server.output(&["has-session", "-t", "bench"])?;
        self.server
            .output(&["send-keys", "-t", "bench", command, "C-m"])?;
        let (mut before, mut same) = (Vec::new(), 0);
        loop {
            let screen = self
                .server
                .output(&["capture-pane", "-pt", "bench", "-S", "-100"])?;
            same = if screen == before { same + 1 } else { 1 };
            let text = String::from_utf8_lossy(&screen);
            let is_there = text.lines().any(|line| line == word);
            if is_there && (matches!(look, EndDetection::Knowing) || same >= SAME) {
                self.record.end(command, word)?;
                return Ok(word.to_owned());
            }
            ensure!(
                started.elapsed() < Duration::from_secs(10),
                "{word} was never seen"
            );
            before = screen;
            if matches!(look, EndDetection::Settled) {
                std::thread::sleep(PAUSE);
            }
        }
    }
}

/// Ends the tmux server of a home: it outlives its daemon.
#[expect(
    clippy::disallowed_methods,
    reason = "what is measured leaves it behind on purpose"
)]
pub(crate) fn end_server(socket: &Path) {
    let mut tmux = Command::new("tmux");
    tmux.arg("-S").arg(socket).arg("kill-server");
    let _ = tmux.stderr(Stdio::null()).status();
}
