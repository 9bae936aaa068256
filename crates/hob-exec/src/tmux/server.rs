//! The tmux server of hob's terminals, on its own socket.
//!
//! The server belongs to the user: it starts detached with the first terminal, outlives the daemon
//! and ends with the last terminal. hob never ends it.
//!
//! Invariants: only panes that hob created are terminals, whatever else a user opens in this
//! server; a terminal is recorded from its first byte.

use super::connection::{self, TmuxConnection, TmuxNotices};
use super::detect::TmuxProgram;
use super::error::TmuxError;
use super::quoting::{escape_argument, escape_format, quote_piped_command};
use super::shells;
use crate::detached;
use crate::spawner::Spawner;
use hob_kit::host_environment::EnvVars;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

/// Attempts to create a terminal while the server is just ending.
const TRIES: usize = 5;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// The pane option that makes a pane a terminal; its value is the terminal's folder.
pub(super) const OPTION: &str = "@hob";
/// The queried fields of a pane. The folder comes last because it may contain spaces.
pub(super) const PANE_FORMAT: &str = "P #{session_name} #{pane_id} #{pane_pid} #{pane_width} \
    #{pane_height} #{pane_pipe} #{@hob}";
const CLIENT_FORMAT: &str = "C #{client_control_mode} #{client_session}";
const CONFIG: &str = include_str!("tmux.conf");

/// The parts of a [`TmuxServer`].
#[derive(Clone, Debug)]
pub struct TmuxServerParts {
    pub tmux: TmuxProgram,
    /// The socket; its configuration file lies beside it.
    pub socket: PathBuf,
    /// Starts the connections to it.
    pub spawner: Spawner,
    /// The recorder's command line without the folder; [`super::recording::own_recorder`] in hob.
    pub recorder: Vec<OsString>,
    /// The environment from which the shells inherit variables.
    pub env: EnvVars,
    /// Scrollback lines of each terminal.
    pub history_lines: u32,
}

/// The tmux server; cheap to clone.
#[derive(Clone, Debug)]
pub struct TmuxServer(Arc<TmuxServerParts>);

/// A terminal to create.
#[derive(Clone, Debug)]
pub struct NewTmuxSession {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// The terminal's folder, for its recording and the shell's hook files. It must exist.
    pub folder: PathBuf,
    /// The program of the shell.
    pub shell: PathBuf,
    /// The key of its marks: [`shells::KEY_DIGITS`] hexadecimal digits.
    pub key: String,
    /// The working folder of the shell.
    pub dir: PathBuf,
    pub columns: u16,
    pub rows: u16,
    /// More variables for the shell.
    pub env: Vec<(OsString, OsString)>,
}

/// A terminal as tmux knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmuxSession {
    pub name: String,
    pub folder: PathBuf,
    /// The pane of its shell, such as `%0`.
    pub pane: String,
    pub shell_pid: i32,
    pub columns: u16,
    pub rows: u16,
    /// The number of attached clients, without hob's own connections.
    pub attached: u32,
    /// True if a recorder runs.
    pub is_recorded: bool,
}

impl TmuxServer {
    pub fn new(parts: TmuxServerParts) -> TmuxServer {
        TmuxServer(Arc::new(parts))
    }

    pub fn tmux(&self) -> &TmuxProgram {
        &self.0.tmux
    }

    pub fn socket(&self) -> &Path {
        &self.0.socket
    }

    /// The command line that attaches to a terminal.
    pub fn attach_argv(&self, name: &str) -> Result<Vec<OsString>, TmuxError> {
        let mut argv = self.argv()?;
        argv.extend(["attach-session".into(), "-t".into(), exactly(name).into()]);
        Ok(argv)
    }

    /// Lists the terminals by name. Without a server there are none.
    pub async fn sessions(&self) -> Result<Vec<TmuxSession>, TmuxError> {
        let arguments = [
            "list-panes",
            "-a",
            "-F",
            PANE_FORMAT,
            ";",
            "list-clients",
            "-F",
            CLIENT_FORMAT,
        ];
        let arguments: Vec<OsString> = arguments.iter().map(OsString::from).collect();
        let output = self.run_tmux(&arguments, Path::new("/")).await?;
        if !output.status.success() {
            let answer = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return if is_no_server(&answer) {
                Ok(Vec::new())
            } else {
                Err(TmuxError::Refused(answer))
            };
        }
        Ok(read_sessions(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Creates a terminal, and the server if there is none, and starts recording.
    pub async fn create(&self, new: NewTmuxSession) -> Result<TmuxSession, TmuxError> {
        let shell = shells::prepare(&new.shell, &new.folder, &new.key)?;
        self.write_config()?;
        let target = format!("{}:", exactly(&new.name));
        let mut arguments: Vec<OsString> = [
            "new-session",
            "-d",
            "-P",
            "-F",
            "#{pane_id} #{pane_pid}",
            "-s",
            &new.name,
            "-x",
            &new.columns.to_string(),
            "-y",
            &new.rows.to_string(),
            "-c",
        ]
        .iter()
        .map(OsString::from)
        .collect();
        // tmux expands formats in this argument, and a folder may contain `#`.
        arguments.push(escape_argument(&escape_format(new.dir.as_os_str())));
        for (name, value) in &new.env {
            let mut variable = name.clone();
            variable.push("=");
            variable.push(value);
            arguments.extend(["-e".into(), escape_argument(&variable)]);
        }
        arguments.push("--".into());
        arguments.extend(shell.iter().map(|word| escape_argument(word)));
        arguments.extend([";", "set-option", "-p", "-t", &target, OPTION].map(OsString::from));
        // One tmux invocation for all three commands: the shell prints nothing before the recorder
        // is attached.
        arguments.push(escape_argument(new.folder.as_os_str()));
        arguments.extend([";", "pipe-pane", "-O", "-t", &target].map(OsString::from));
        arguments.push(escape_argument(&self.recorder_line(&new.folder)));
        let answer = self.create_with_retries(&arguments, &new.name).await?;
        let (pane, pid) = answer
            .trim()
            .split_once(' ')
            .ok_or_else(|| unexpected_answer(&answer))?;
        Ok(TmuxSession {
            name: new.name,
            folder: new.folder,
            pane: pane.to_owned(),
            shell_pid: pid.parse().map_err(|_| unexpected_answer(&answer))?,
            columns: new.columns,
            rows: new.rows,
            attached: 0,
            is_recorded: true,
        })
    }

    /// Connects to a terminal.
    pub async fn connect(&self, name: &str) -> Result<(TmuxConnection, TmuxNotices), TmuxError> {
        connection::connect(self, name).await
    }

    pub(super) fn spawner(&self) -> &Spawner {
        &self.0.spawner
    }

    /// The shell command that tmux pipes a pane's output to.
    pub(super) fn recorder_line(&self, folder: &Path) -> OsString {
        let mut argv = self.0.recorder.clone();
        argv.push(folder.into());
        quote_piped_command(&argv)
    }

    /// The command line of tmux on hob's socket, in UTF-8 whatever the daemon's locale is. It
    /// always checks the socket's folder first, so that no other user's server or settings are
    /// used.
    pub(super) fn argv(&self) -> Result<Vec<OsString>, TmuxError> {
        let parts = &self.0;
        hob_kit::home::check_socket_folder(&parts.socket)?;
        Ok(vec![
            parts.tmux.program.clone().into(),
            "-u".into(),
            "-S".into(),
            parts.socket.clone().into(),
        ])
    }

    /// The variables of all processes that are started here.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        detached::variables(&self.0.env, &[])
    }

    /// Creates a terminal with retries: a server that is just ending accepts no terminal, and is
    /// gone a moment later.
    async fn create_with_retries(
        &self,
        arguments: &[OsString],
        name: &str,
    ) -> Result<String, TmuxError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let output = self.run_tmux(arguments, Path::new("/")).await?;
            if output.status.success() {
                return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
            }
            let answer = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if answer.starts_with("duplicate session") {
                return Err(TmuxError::Exists(name.to_owned()));
            }
            if tries == TRIES || !is_no_server(&answer) {
                return Err(TmuxError::Refused(answer));
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    async fn run_tmux(&self, arguments: &[OsString], folder: &Path) -> Result<Output, TmuxError> {
        let mut argv = self.argv()?;
        // tmux reads this file only if the call starts the server.
        argv.extend(["-f".into(), self.config().into()]);
        argv.extend(arguments.iter().cloned());
        Ok(detached::run_for_output(&argv, folder, self.variables()).await?)
    }

    fn config(&self) -> PathBuf {
        self.0.socket.with_extension("conf")
    }

    fn write_config(&self) -> Result<(), TmuxError> {
        hob_kit::home::check_socket_folder(&self.0.socket)?;
        let lines = self.0.history_lines.to_string();
        let wanted = CONFIG.replace("HISTORY_LINES", &lines);
        let path = self.config();
        if std::fs::read(&path).is_ok_and(|found| found == wanted.as_bytes()) {
            return Ok(());
        }
        // Replaced by a rename, because tmux may read the file at any moment.
        let unready = path.with_extension("conf.tmp");
        std::fs::write(&unready, wanted)?;
        Ok(std::fs::rename(unready, path)?)
    }
}

/// The target of a session by its full name. Without `=` tmux accepts any name with that prefix.
pub(super) fn exactly(name: &str) -> String {
    format!("={name}")
}

fn unexpected_answer(answer: &str) -> TmuxError {
    TmuxError::Refused(format!("it answered '{}'", answer.trim()))
}

/// Returns true if an error of tmux means that there is no server, or that it just ended with its
/// last terminal.
fn is_no_server(answer: &str) -> bool {
    [
        "no server running",
        "(No such file or directory)",
        "server exited",
        "lost server",
        "no current target",
        "no sessions",
    ]
    .iter()
    .any(|words| answer.contains(words))
}

/// Parses the terminals of an answer: lines of panes, then lines of clients.
fn read_sessions(answer: &str) -> Vec<TmuxSession> {
    let mut sessions: Vec<TmuxSession> = answer.lines().filter_map(read_pane).collect();
    for line in answer.lines() {
        let Some(name) = line.strip_prefix("C 0 ") else {
            continue;
        };
        let attached = sessions.iter_mut().filter(|session| session.name == name);
        attached.for_each(|session| session.attached += 1);
    }
    sessions.sort_by(|one, other| one.name.cmp(&other.name));
    sessions
}

/// Parses a line of [`PANE_FORMAT`]; none for a pane that is not hob's.
pub(super) fn read_pane(line: &str) -> Option<TmuxSession> {
    let mut words = line.splitn(8, ' ');
    let is_pane = words.next()? == "P";
    let session = TmuxSession {
        name: words.next()?.to_owned(),
        pane: words.next()?.to_owned(),
        shell_pid: words.next()?.parse().ok()?,
        columns: words.next()?.parse().ok()?,
        rows: words.next()?.parse().ok()?,
        attached: 0,
        is_recorded: words.next()? == "1",
        folder: PathBuf::from(words.next().filter(|folder| !folder.is_empty())?),
    };
    is_pane.then_some(session)
}

/// Quotes an option or a folder for control mode.
pub(super) fn control_word(text: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt;
    super::quoting::quote_for_control(text.as_bytes())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
