//! A connection to one terminal in tmux's control mode: keys and questions go out, answers and
//! notices come in. What programs print does not come this way; see [`super::recording`].
//!
//! One task owns the connection (`wire`). Invariants: what is typed through one connection arrives
//! in that order; text is typed letter by letter and never read as the name of a key, also while
//! somebody scrolls back in the terminal; a caller is answered within [`ANSWER_MAX`].

use super::error::TmuxError;
use super::keys::{self, Press};
use super::server::{PANE_FORMAT, Server, Session, exactly, read_pane, word};
use super::shells::{KEY_TAKE, LINE_TAKE};
use super::wire::{self, Request, Seen, Wire};
use super::words::of_control;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};

/// How long tmux may take to answer.
pub const ANSWER_MAX: Duration = Duration::from_secs(10);
/// Requests that wait for the connection.
const REQUESTS_MAX: usize = 64;
/// The buffer of tmux that holds the private key; all terminals share it.
pub(super) const NUDGE_BUFFER: &str = "hob-nudge";
const CLIENTS_FORMAT: &str = "#{client_control_mode} #{client_pid} #{client_tty}";

/// Connects to a terminal by name.
pub(super) async fn connect(server: &Server, name: &str) -> Result<(Control, Notices), TmuxError> {
    let mut wire = Wire::attach(server, name).await?;
    let target = format!("{}:", exactly(name));
    let list = format!(
        "list-panes -s -t {target} -F {}",
        of_control(PANE_FORMAT.as_bytes())
    );
    let panes = wire.ask(list).await?;
    let session = panes.iter().find_map(|line| read_pane(line));
    let mut session = session.ok_or_else(|| TmuxError::NoSession(name.to_owned()))?;
    let people = wire.ask(wire::clients_line(name)).await?;
    session.attached = wire::people(&people);
    wire.ask(nudge_buffer()).await?;
    let (requests, asked) = mpsc::channel(REQUESTS_MAX);
    let (tell, seen) = watch::channel(Seen::of(&session));
    let control = Control(Arc::new(Inner {
        server: server.clone(),
        session: session.clone(),
        requests,
    }));
    let notices = Notices {
        told: Seen::of(&session),
        seen,
    };
    let record = record_line(server, &session.pane, &session.folder);
    let work = wire.run(session, record, asked, tell);
    server.spawner().tasks().spawn_until_stop("tmux", work);
    Ok((control, notices))
}

fn nudge_buffer() -> String {
    format!("set-buffer -b {NUDGE_BUFFER} -- {}", of_control(KEY_TAKE))
}

fn record_line(server: &Server, pane: &str, folder: &Path) -> String {
    let line = word(&server.recorder_line(folder));
    format!("pipe-pane -O -t {pane} {line}")
}

/// A connection to a terminal; cheap to clone. It ends when the last clone is dropped, or with its
/// [`Notice::Gone`].
#[derive(Clone, Debug)]
pub struct Control(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    server: Server,
    session: Session,
    requests: mpsc::Sender<Request>,
}

/// Somebody who is attached to a terminal: a window, or a terminal of the person's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    pub pid: u32,
    pub tty: String,
}

impl Control {
    /// The terminal as it was when the connection was made.
    pub fn session(&self) -> &Session {
        &self.0.session
    }

    /// Types the private key that has the hooks take the command which was handed over
    /// ([`super::shells::Hand`]). Does not wait for tmux.
    pub async fn nudge(&self) -> Result<(), TmuxError> {
        let pane = &self.0.session.pane;
        // The buffer is made again if it was deleted.
        self.send(Request {
            lines: vec![format!("paste-buffer -r -b {NUDGE_BUFFER} -t {pane}")],
            otherwise: vec![
                nudge_buffer(),
                format!("paste-buffer -r -b {NUDGE_BUFFER} -t {pane}"),
            ],
            answer: None,
        })
        .await
    }

    /// The same for a shell without hooks: types the line that takes the command.
    pub async fn take_posix(&self) -> Result<(), TmuxError> {
        self.bytes(LINE_TAKE).await
    }

    /// Types text letter by letter.
    pub async fn text(&self, text: &str) -> Result<(), TmuxError> {
        self.bytes(text.as_bytes()).await
    }

    /// Refuses names that are no keys, before anything is typed.
    pub fn check_keys(names: &[String]) -> Result<(), TmuxError> {
        let mut unknown = names.iter().filter(|name| keys::press(name).is_none());
        match unknown.next() {
            Some(name) => Err(TmuxError::NoKey(name.clone())),
            None => Ok(()),
        }
    }

    /// Presses keys by their names. If one is no key, none is pressed.
    pub async fn keys(&self, names: &[String]) -> Result<(), TmuxError> {
        let mut presses: Vec<Press> = Vec::new();
        for name in names {
            let press = keys::press(name).ok_or_else(|| TmuxError::NoKey(name.clone()))?;
            match (presses.last_mut(), press) {
                (Some(Press::Bytes(before)), Press::Bytes(bytes)) => before.extend(bytes),
                (_, press) => presses.push(press),
            }
        }
        let pane = &self.0.session.pane;
        for press in presses {
            match press {
                Press::Bytes(bytes) => self.bytes(&bytes).await?,
                Press::Named(name) => {
                    // Somebody who scrolls back would get the key instead of the program.
                    let _ = self.ask(format!("send-keys -X -t {pane} cancel")).await;
                    self.ask(format!("send-keys -t {pane} {name}")).await?;
                }
            }
        }
        Ok(())
    }

    /// Begins to record again, behind what the recording holds.
    pub async fn record(&self, folder: &Path) -> Result<(), TmuxError> {
        let line = record_line(&self.0.server, &self.0.session.pane, folder);
        self.ask(line).await.map(|_| ())
    }

    /// Gives it another size while nobody is attached; whoever attaches decides again.
    pub async fn resize(&self, columns: u16, rows: u16) -> Result<(), TmuxError> {
        let pane = &self.0.session.pane;
        self.ask(format!("resize-window -t {pane} -x {columns} -y {rows}"))
            .await?;
        self.ask(format!("set-option -w -u -t {pane} window-size"))
            .await?;
        Ok(())
    }

    /// Ends the terminal with all that runs in it.
    pub async fn kill(&self) -> Result<(), TmuxError> {
        let target = exactly(&self.0.session.name);
        match self.ask(format!("kill-session -t {target}")).await {
            // Its own end may come before the answer.
            Err(TmuxError::Gone(_)) => Ok(()),
            done => done.map(|_| ()),
        }
    }

    /// Who is attached; connections of hob's are left out.
    pub async fn clients(&self) -> Result<Vec<Client>, TmuxError> {
        let target = exactly(&self.0.session.name);
        let format = of_control(CLIENTS_FORMAT.as_bytes());
        let lines = self.ask(format!("list-clients -t {target} -F {format}"));
        Ok(lines
            .await?
            .iter()
            .filter_map(|line| client(line))
            .collect())
    }

    /// Detaches one client by its process, and nobody else; false if there is none such.
    pub async fn detach(&self, pid: u32) -> Result<bool, TmuxError> {
        let clients = self.clients().await?;
        let Some(client) = clients.iter().find(|client| client.pid == pid) else {
            return Ok(false);
        };
        let tty = of_control(client.tty.as_bytes());
        self.ask(format!("detach-client -t {tty}")).await?;
        Ok(true)
    }

    async fn bytes(&self, bytes: &[u8]) -> Result<(), TmuxError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if bytes.contains(&0) {
            return Err(TmuxError::Refused("text holds no zero byte".to_owned()));
        }
        let pane = &self.0.session.pane;
        // A buffer of this terminal's own: tmux pastes it past whatever mode the pane is in.
        let buffer = format!("hob-{}", pane.trim_start_matches('%'));
        let lines = vec![
            format!("set-buffer -b {buffer} -- {}", of_control(bytes)),
            format!("paste-buffer -d -r -b {buffer} -t {pane}"),
        ];
        self.all(lines).await.map(|_| ())
    }

    async fn ask(&self, line: String) -> Result<Vec<String>, TmuxError> {
        self.all(vec![line]).await
    }

    /// Sends lines one right after the other; the answer of the last, or the first failure.
    async fn all(&self, lines: Vec<String>) -> Result<Vec<String>, TmuxError> {
        let (answer, answered) = oneshot::channel();
        self.send(Request {
            lines,
            otherwise: Vec::new(),
            answer: Some(answer),
        })
        .await?;
        match tokio::time::timeout(ANSWER_MAX, answered).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(gone()),
            Err(_) => Err(TmuxError::Silent),
        }
    }

    async fn send(&self, request: Request) -> Result<(), TmuxError> {
        let sent = tokio::time::timeout(ANSWER_MAX, self.0.requests.send(request)).await;
        sent.map_err(|_| TmuxError::Silent)?.map_err(|_| gone())
    }
}

fn gone() -> TmuxError {
    TmuxError::Gone("it was lost".to_owned())
}

fn client(line: &str) -> Option<Client> {
    let (pid, tty) = line.strip_prefix("0 ")?.split_once(' ')?;
    Some(Client {
        pid: pid.parse().ok()?,
        tty: tty.to_owned(),
    })
}

/// What a connection noticed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    Resized {
        columns: u16,
        rows: u16,
    },
    /// So many windows and terminals are attached now.
    Attached(u32),
    /// The connection is over; the last notice. The terminal may live on: ask
    /// [`Server::sessions`].
    Gone(String),
}

/// What a connection notices: the newest of each kind.
#[derive(Debug)]
pub struct Notices {
    told: Seen,
    seen: watch::Receiver<Seen>,
}

impl Notices {
    /// The next notice. It may be dropped while it waits. After [`Notice::Gone`] it waits for ever.
    pub async fn next(&mut self) -> Notice {
        loop {
            if let Some(notice) = self.difference() {
                return notice;
            }
            if self.seen.changed().await.is_err() {
                if self.told.gone.is_some() {
                    return std::future::pending().await;
                }
                // The house stops.
                let reason = "hob stops".to_owned();
                self.told.gone = Some(reason.clone());
                return Notice::Gone(reason);
            }
        }
    }

    fn difference(&mut self) -> Option<Notice> {
        let seen = self.seen.borrow_and_update();
        let told = &mut self.told;
        if (seen.columns, seen.rows) != (told.columns, told.rows) {
            (told.columns, told.rows) = (seen.columns, seen.rows);
            return Some(Notice::Resized {
                columns: seen.columns,
                rows: seen.rows,
            });
        }
        if seen.attached != told.attached {
            told.attached = seen.attached;
            return Some(Notice::Attached(seen.attached));
        }
        if seen.gone != told.gone {
            told.gone.clone_from(&seen.gone);
            return seen.gone.clone().map(Notice::Gone);
        }
        None
    }
}
