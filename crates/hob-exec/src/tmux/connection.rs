//! A connection to one terminal in tmux's control mode: keys and queries go out, answers and
//! notices come in. Program output does not come this way; see [`super::recording`].
//!
//! One task owns the connection (`connection_task`). Invariants: input through one connection
//! arrives in order; text is typed literally and never read as the name of a key, even while
//! somebody scrolls back in the terminal; a caller gets an answer within [`ANSWER_MAX`].

use super::connection_task::{self, ConnectionTask, ObservedTerminal, TmuxRequest};
use super::error::TmuxError;
use super::keys::{self, KeyPress};
use super::quoting::quote_for_control;
use super::server::{PANE_FORMAT, TmuxServer, TmuxSession, control_word, exactly, read_pane};
use super::shells::{KEY_TAKE, LINE_TAKE};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// The time limit of tmux's answers.
pub const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Requests that wait for the connection task.
const REQUESTS_MAX: usize = 64;
/// The tmux buffer with the private key; all terminals share it.
pub(super) const NUDGE_BUFFER: &str = "hob-nudge";
const CLIENTS_FORMAT: &str = "#{client_control_mode} #{client_pid} #{client_tty}";

/// Connects to a terminal by name.
pub(super) async fn connect(
    server: &TmuxServer,
    name: &str,
) -> Result<(TmuxConnection, TmuxNotices), TmuxError> {
    let mut task = ConnectionTask::attach(server, name).await?;
    let target = format!("{}:", exactly(name));
    let list = format!(
        "list-panes -s -t {target} -F {}",
        quote_for_control(PANE_FORMAT.as_bytes())
    );
    let panes = task.ask(list).await?;
    // A person may have opened more panes in the session; only hob's own has the option.
    let session = panes.iter().find_map(|line| read_pane(line));
    let mut session = session.ok_or_else(|| TmuxError::NoSession(name.to_owned()))?;
    let people = task.ask(connection_task::clients_line(name)).await?;
    session.attached = connection_task::count_people(&people);
    // The buffer exists before the first command is handed over, so a nudge is one line.
    task.ask(nudge_buffer()).await?;
    let (requests, asked) = mpsc::channel(REQUESTS_MAX);
    let (updates, observed) = watch::channel(ObservedTerminal::of(&session));
    let control = TmuxConnection(Arc::new(ConnectionInner {
        server: server.clone(),
        session: session.clone(),
        requests,
    }));
    let notices = TmuxNotices {
        reported: ObservedTerminal::of(&session),
        observed,
    };
    let record = record_line(server, &session.pane, &session.folder);
    let work = task.run(session, record, asked, updates);
    // The task does not delay a stop of the daemon: the terminal outlives the connection.
    server.spawner().tasks().spawn_until_stop("tmux", work);
    Ok((control, notices))
}

fn nudge_buffer() -> String {
    format!(
        "set-buffer -b {NUDGE_BUFFER} -- {}",
        quote_for_control(KEY_TAKE)
    )
}

fn record_line(server: &TmuxServer, pane: &str, folder: &Path) -> String {
    let line = control_word(&server.recorder_line(folder));
    format!("pipe-pane -O -t {pane} {line}")
}

/// A connection to a terminal; cheap to clone. It ends when the last clone is dropped, or with
/// [`TmuxNotice::Gone`].
#[derive(Clone, Debug)]
pub struct TmuxConnection(Arc<ConnectionInner>);

#[derive(Debug)]
struct ConnectionInner {
    server: TmuxServer,
    session: TmuxSession,
    requests: mpsc::Sender<TmuxRequest>,
}

/// A client that is attached to a terminal: a window, or another terminal of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TmuxClient {
    pub pid: u32,
    pub tty: String,
}

impl TmuxConnection {
    /// The terminal at the time of the connection.
    pub fn session(&self) -> &TmuxSession {
        &self.0.session
    }

    /// Types the private key on which the hooks take the handed-over command
    /// ([`super::shells::CommandHandoff`]). Does not wait for tmux.
    pub async fn nudge(&self) -> Result<(), TmuxError> {
        let pane = &self.0.session.pane;
        // All clients can delete tmux buffers, so the buffer is created again if it is missing.
        self.send_request(TmuxRequest {
            lines: vec![format!("paste-buffer -r -b {NUDGE_BUFFER} -t {pane}")],
            fallback: vec![
                nudge_buffer(),
                format!("paste-buffer -r -b {NUDGE_BUFFER} -t {pane}"),
            ],
            answer: None,
        })
        .await
    }

    /// Types the line that takes the handed-over command in a shell without hooks.
    pub async fn type_take_line(&self) -> Result<(), TmuxError> {
        self.type_bytes(LINE_TAKE).await
    }

    /// Types text literally.
    pub async fn type_text(&self, text: &str) -> Result<(), TmuxError> {
        self.type_bytes(text.as_bytes()).await
    }

    /// Returns an error for the first name that is no key. Types nothing.
    pub fn check_keys(names: &[String]) -> Result<(), TmuxError> {
        let mut unknown = names.iter().filter(|name| keys::parse_key(name).is_none());
        match unknown.next() {
            Some(name) => Err(TmuxError::NoKey(name.clone())),
            None => Ok(()),
        }
    }

    /// Presses keys by their names. If one name is no key, nothing is pressed.
    pub async fn press_keys(&self, names: &[String]) -> Result<(), TmuxError> {
        let mut presses: Vec<KeyPress> = Vec::new();
        for name in names {
            let press = keys::parse_key(name).ok_or_else(|| TmuxError::NoKey(name.clone()))?;
            match (presses.last_mut(), press) {
                // Joined into one paste, which saves a round trip to tmux for each key.
                (Some(KeyPress::Bytes(before)), KeyPress::Bytes(bytes)) => before.extend(bytes),
                (_, press) => presses.push(press),
            }
        }
        let pane = &self.0.session.pane;
        for press in presses {
            match press {
                KeyPress::Bytes(bytes) => self.type_bytes(&bytes).await?,
                KeyPress::Named(name) => {
                    // In copy mode tmux would handle the key instead of the program, so leave it.
                    let _ = self
                        .send_line(format!("send-keys -X -t {pane} cancel"))
                        .await;
                    self.send_line(format!("send-keys -t {pane} {name}"))
                        .await?;
                }
            }
        }
        Ok(())
    }

    /// Starts the recorder again; it appends to the recording.
    pub async fn restart_recording(&self, folder: &Path) -> Result<(), TmuxError> {
        let line = record_line(&self.0.server, &self.0.session.pane, folder);
        self.send_line(line).await.map(|_| ())
    }

    /// Resizes the terminal while nobody is attached. The next client that attaches decides again.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<(), TmuxError> {
        let pane = &self.0.session.pane;
        self.send_line(format!("resize-window -t {pane} -x {columns} -y {rows}"))
            .await?;
        // `resize-window` pins the size; unsetting the option lets clients change it again.
        self.send_line(format!("set-option -w -u -t {pane} window-size"))
            .await?;
        Ok(())
    }

    /// Ends the terminal with all programs in it.
    pub async fn kill(&self) -> Result<(), TmuxError> {
        let target = exactly(&self.0.session.name);
        match self.send_line(format!("kill-session -t {target}")).await {
            // The connection may close before the answer arrives.
            Err(TmuxError::Gone(_)) => Ok(()),
            done => done.map(|_| ()),
        }
    }

    /// Lists the attached clients, except hob's own connections.
    pub async fn clients(&self) -> Result<Vec<TmuxClient>, TmuxError> {
        let target = exactly(&self.0.session.name);
        let format = quote_for_control(CLIENTS_FORMAT.as_bytes());
        let lines = self.send_line(format!("list-clients -t {target} -F {format}"));
        Ok(lines
            .await?
            .iter()
            .filter_map(|line| parse_client(line))
            .collect())
    }

    /// Detaches the client with this pid; false if there is none.
    pub async fn detach(&self, pid: u32) -> Result<bool, TmuxError> {
        let clients = self.clients().await?;
        let Some(client) = clients.iter().find(|client| client.pid == pid) else {
            return Ok(false);
        };
        let tty = quote_for_control(client.tty.as_bytes());
        self.send_line(format!("detach-client -t {tty}")).await?;
        Ok(true)
    }

    async fn type_bytes(&self, bytes: &[u8]) -> Result<(), TmuxError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.contains(&0) {
            return Err(TmuxError::Refused(
                "text must not contain a zero byte".to_owned(),
            ));
        }
        let pane = &self.0.session.pane;
        // Pasted from a buffer of this pane: tmux then bypasses the pane's current mode.
        let buffer = format!("hob-{}", pane.trim_start_matches('%'));
        let lines = vec![
            format!("set-buffer -b {buffer} -- {}", quote_for_control(bytes)),
            format!("paste-buffer -d -r -b {buffer} -t {pane}"),
        ];
        self.send_lines(lines).await.map(|_| ())
    }

    async fn send_line(&self, line: String) -> Result<Vec<String>, TmuxError> {
        self.send_lines(vec![line]).await
    }

    /// Sends lines as one request. Returns the answer of the last line, or the first failure.
    async fn send_lines(&self, lines: Vec<String>) -> Result<Vec<String>, TmuxError> {
        let (answer, answered) = oneshot::channel();
        self.send_request(TmuxRequest {
            lines,
            fallback: Vec::new(),
            answer: Some(answer),
        })
        .await?;
        match tokio::time::timeout(ANSWER_MAX, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(gone_error()),
            Err(_) => Err(TmuxError::Silent),
        }
    }

    async fn send_request(&self, request: TmuxRequest) -> Result<(), TmuxError> {
        // The queue fills up when tmux hangs, and a caller must not wait for it any longer than
        // this.
        let sent = tokio::time::timeout(ANSWER_MAX, self.0.requests.send(request)).await;
        sent.map_err(|_| TmuxError::Silent)?
            .map_err(|_| gone_error())
    }
}

fn gone_error() -> TmuxError {
    TmuxError::Gone("it was lost".to_owned())
}

fn parse_client(line: &str) -> Option<TmuxClient> {
    // A client in control mode has a 1 here, and hob's own connections are such clients.
    let (pid, tty) = line.strip_prefix("0 ")?.split_once(' ')?;
    Some(TmuxClient {
        pid: pid.parse().ok()?,
        tty: tty.to_owned(),
    })
}

/// A change that a connection reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TmuxNotice {
    Resized {
        columns: u16,
        rows: u16,
    },
    /// The number of attached clients.
    Attached(u32),
    /// The connection has ended; the last notice. The terminal may still exist: see
    /// [`TmuxServer::sessions`].
    Gone(String),
}

/// The notices of a connection: the newest of each kind.
#[derive(Debug)]
pub struct TmuxNotices {
    reported: ObservedTerminal,
    observed: watch::Receiver<ObservedTerminal>,
}

impl TmuxNotices {
    /// Waits for the next notice. Cancel-safe. After [`TmuxNotice::Gone`] it waits for ever.
    pub async fn next(&mut self) -> TmuxNotice {
        loop {
            if let Some(notice) = self.next_difference() {
                return notice;
            }
            if self.observed.changed().await.is_err() {
                if self.reported.gone.is_some() {
                    return std::future::pending().await;
                }
                // The task ended without a reason: the daemon stops.
                let reason = "hob stops".to_owned();
                self.reported.gone = Some(reason.clone());
                return TmuxNotice::Gone(reason);
            }
        }
    }

    fn next_difference(&mut self) -> Option<TmuxNotice> {
        // One difference is returned at a time; `next` looks again before it waits.
        let observed = self.observed.borrow_and_update();
        let reported = &mut self.reported;
        if (observed.columns, observed.rows) != (reported.columns, reported.rows) {
            (reported.columns, reported.rows) = (observed.columns, observed.rows);
            return Some(TmuxNotice::Resized {
                columns: observed.columns,
                rows: observed.rows,
            });
        }
        if observed.attached != reported.attached {
            reported.attached = observed.attached;
            return Some(TmuxNotice::Attached(observed.attached));
        }
        if observed.gone != reported.gone {
            reported.gone.clone_from(&observed.gone);
            return observed.gone.clone().map(TmuxNotice::Gone);
        }
        None
    }
}
