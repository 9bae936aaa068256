//! The tmux server of hob's terminals, on a socket of its own.
//!
//! It is the person's: started detached with the first terminal, it outlives the daemon and ends
//! with the last terminal. hob never ends it.
//!
//! Invariants: only panes that hob made are called terminals, whatever else a person opens in this
//! server; a terminal is recorded from its first byte.

use super::control::{self, Control, Notices};
use super::error::TmuxError;
use super::found::Tmux;
use super::shells;
use super::words::{of_argument, of_format, of_piped_shell};
use crate::detached;
use crate::spawner::Spawner;
use hob_kit::world::Env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::time::Duration;

/// Times a server that is just ending is asked again.
const TRIES: usize = 5;
const TRY_AGAIN: Duration = Duration::from_millis(100);

/// The option of a pane that makes it a terminal: its folder.
pub(super) const OPTION: &str = "@hob";
/// What is asked of a pane; the folder comes last because it may hold spaces.
pub(super) const PANE_FORMAT: &str = "P #{session_name} #{pane_id} #{pane_pid} #{pane_width} \
    #{pane_height} #{pane_pipe} #{@hob}";
const CLIENT_FORMAT: &str = "C #{client_control_mode} #{client_session}";
const CONFIG: &str = include_str!("tmux.conf");

/// What a server is made of.
#[derive(Clone, Debug)]
pub struct ServerParts {
    pub tmux: Tmux,
    /// Its socket; the file of its settings lies beside it.
    pub socket: PathBuf,
    /// Starts the connections to it.
    pub spawner: Spawner,
    /// The program that records, without its folder; [`super::recording::own`] in hob itself.
    pub recorder: Vec<OsString>,
    /// Where the variables of the shells come from.
    pub env: Env,
    /// Lines tmux keeps of each terminal's past.
    pub history_lines: u32,
}

/// The tmux server; cheap to clone.
#[derive(Clone, Debug)]
pub struct Server(Arc<ServerParts>);

/// A terminal to make.
#[derive(Clone, Debug)]
pub struct New {
    /// Letters, digits, `-` and `_`.
    pub name: String,
    /// The terminal's folder: there is its recording, and what its shell reads. It must be there.
    pub folder: PathBuf,
    /// The program of the shell.
    pub shell: PathBuf,
    /// The key of its marks: [`shells::KEY_DIGITS`] hexadecimal digits.
    pub key: String,
    /// Where the shell begins.
    pub dir: PathBuf,
    pub columns: u16,
    pub rows: u16,
    /// More variables for the shell.
    pub env: Vec<(OsString, OsString)>,
}

/// A terminal as tmux knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub name: String,
    pub folder: PathBuf,
    /// The pane of its shell, such as `%0`.
    pub pane: String,
    pub shell_pid: i32,
    pub columns: u16,
    pub rows: u16,
    /// Windows and terminals attached to it; connections of hob's do not count.
    pub attached: u32,
    /// Whether a recorder runs.
    pub recorded: bool,
}

impl Server {
    pub fn new(parts: ServerParts) -> Server {
        Server(Arc::new(parts))
    }

    pub fn tmux(&self) -> &Tmux {
        &self.0.tmux
    }

    pub fn socket(&self) -> &Path {
        &self.0.socket
    }

    /// The command line by which a person attaches to a terminal.
    pub fn attach_argv(&self, name: &str) -> Result<Vec<OsString>, TmuxError> {
        let mut argv = self.argv()?;
        argv.extend(["attach-session".into(), "-t".into(), exactly(name).into()]);
        Ok(argv)
    }

    /// The terminals there are, by name. Without a server there are none.
    pub async fn sessions(&self) -> Result<Vec<Session>, TmuxError> {
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
        let output = self.ask(&arguments, Path::new("/")).await?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return if is_no_server(&said) {
                Ok(Vec::new())
            } else {
                Err(TmuxError::Refused(said))
            };
        }
        Ok(read_sessions(&String::from_utf8_lossy(&output.stdout)))
    }

    /// Makes a terminal, with the server if there is none, and begins to record it.
    pub async fn create(&self, new: New) -> Result<Session, TmuxError> {
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
        arguments.push(of_argument(&of_format(new.dir.as_os_str())));
        for (name, value) in &new.env {
            let mut variable = name.clone();
            variable.push("=");
            variable.push(value);
            arguments.extend(["-e".into(), of_argument(&variable)]);
        }
        arguments.push("--".into());
        arguments.extend(shell.iter().map(|word| of_argument(word)));
        arguments.extend([";", "set-option", "-p", "-t", &target, OPTION].map(OsString::from));
        arguments.push(of_argument(new.folder.as_os_str()));
        arguments.extend([";", "pipe-pane", "-O", "-t", &target].map(OsString::from));
        arguments.push(of_argument(&self.recorder_line(&new.folder)));
        let said = self.create_at_last(&arguments, &new.name).await?;
        let (pane, pid) = said.trim().split_once(' ').ok_or_else(|| strange(&said))?;
        Ok(Session {
            name: new.name,
            folder: new.folder,
            pane: pane.to_owned(),
            shell_pid: pid.parse().map_err(|_| strange(&said))?,
            columns: new.columns,
            rows: new.rows,
            attached: 0,
            recorded: true,
        })
    }

    /// Connects to a terminal.
    pub async fn connect(&self, name: &str) -> Result<(Control, Notices), TmuxError> {
        control::connect(self, name).await
    }

    pub(super) fn spawner(&self) -> &Spawner {
        &self.0.spawner
    }

    /// The command line by which tmux feeds the recorder of a folder.
    pub(super) fn recorder_line(&self, folder: &Path) -> OsString {
        let mut argv = self.0.recorder.clone();
        argv.push(folder.into());
        of_piped_shell(&argv)
    }

    /// tmux on our socket; its words are UTF-8 whatever the daemon's own language is. There is no
    /// command line without a check of the socket's folder, so that nobody else's server is asked
    /// and nobody else's settings are read.
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

    /// The variables of everything that is started here.
    pub(crate) fn variables(&self) -> Vec<(OsString, OsString)> {
        detached::variables(&self.0.env, &[])
    }

    /// A server that is just ending takes no new terminal, and is gone a moment later.
    async fn create_at_last(
        &self,
        arguments: &[OsString],
        name: &str,
    ) -> Result<String, TmuxError> {
        let mut tries = 0;
        loop {
            tries += 1;
            let output = self.ask(arguments, Path::new("/")).await?;
            if output.status.success() {
                return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
            }
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            if said.starts_with("duplicate session") {
                return Err(TmuxError::Exists(name.to_owned()));
            }
            if tries == TRIES || !is_no_server(&said) {
                return Err(TmuxError::Refused(said));
            }
            tokio::time::sleep(TRY_AGAIN).await;
        }
    }

    async fn ask(&self, arguments: &[OsString], folder: &Path) -> Result<Output, TmuxError> {
        let mut argv = self.argv()?;
        argv.extend(["-f".into(), self.config().into()]);
        argv.extend(arguments.iter().cloned());
        Ok(detached::answer(&argv, folder, self.variables()).await?)
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
        let unready = path.with_extension("conf.tmp");
        std::fs::write(&unready, wanted)?;
        Ok(std::fs::rename(unready, path)?)
    }
}

/// A session by its whole name; without the sign tmux would take any that begins so.
pub(super) fn exactly(name: &str) -> String {
    format!("={name}")
}

fn strange(said: &str) -> TmuxError {
    TmuxError::Refused(format!("it answered '{}'", said.trim()))
}

/// Whether there is no terminal because there is no server, or one that ends with its last.
fn is_no_server(said: &str) -> bool {
    [
        "no server running",
        "(No such file or directory)",
        "server exited",
        "lost server",
        "no current target",
        "no sessions",
    ]
    .iter()
    .any(|words| said.contains(words))
}

/// The terminals of an answer: lines of panes, then lines of clients.
fn read_sessions(said: &str) -> Vec<Session> {
    let mut sessions: Vec<Session> = said.lines().filter_map(read_pane).collect();
    for line in said.lines() {
        let Some(name) = line.strip_prefix("C 0 ") else {
            continue;
        };
        let attached = sessions.iter_mut().filter(|session| session.name == name);
        attached.for_each(|session| session.attached += 1);
    }
    sessions.sort_by(|one, other| one.name.cmp(&other.name));
    sessions
}

/// A terminal of a line as [`PANE_FORMAT`] asks for it; none of a pane that is not hob's.
pub(super) fn read_pane(line: &str) -> Option<Session> {
    let mut words = line.splitn(8, ' ');
    let is_pane = words.next()? == "P";
    let session = Session {
        name: words.next()?.to_owned(),
        pane: words.next()?.to_owned(),
        shell_pid: words.next()?.parse().ok()?,
        columns: words.next()?.parse().ok()?,
        rows: words.next()?.parse().ok()?,
        attached: 0,
        recorded: words.next()? == "1",
        folder: PathBuf::from(words.next().filter(|folder| !folder.is_empty())?),
    };
    is_pane.then_some(session)
}

/// The word of an option or a folder for control mode.
pub(super) fn word(text: &OsStr) -> String {
    use std::os::unix::ffi::OsStrExt;
    super::words::of_control(text.as_bytes())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
