//! The task that owns one connection: it writes requests, matches answers to them in order, and
//! keeps up with the pane's size, its recorder and who is attached.
//!
//! Invariant: tmux answers every line once and in order, so the queue of those who wait is the
//! order of the lines; what waits is bounded.

use super::error::TmuxError;
use super::protocol::{Event, Parser};
use super::server::{PANE_FORMAT, Server, Session, exactly, read_pane};
use super::words::of_control;
use crate::child::Child;
use crate::plan::{Feed, Plan, Walls};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

/// Lines that wait for their answers.
const WAITING_MAX: usize = 256;
/// Bytes that wait to be written before another request is taken.
const OUTGOING_BYTES_MAX: usize = 256 * 1024;
const READ_BYTES: usize = 16 * 1024;
/// How often is asked what notices should have told.
const TICK: Duration = Duration::from_secs(30);
const CLIENT_FORMAT: &str = "C #{client_control_mode}";

pub(super) type Answer = Result<Vec<String>, TmuxError>;

/// Lines to send one right after the other.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) lines: Vec<String>,
    /// Sent if they fail, once.
    pub(super) otherwise: Vec<String>,
    /// Told the last answer, or the first failure.
    pub(super) answer: Option<oneshot::Sender<Answer>>,
}

/// What is known of a terminal beside what it prints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) attached: u32,
    pub(super) gone: Option<String>,
}

impl Seen {
    pub(super) fn of(session: &Session) -> Seen {
        Seen {
            columns: session.columns,
            rows: session.rows,
            attached: session.attached,
            gone: None,
        }
    }
}

/// Who waits for the answer of one line.
#[derive(Debug)]
enum Waiting {
    /// More lines of the same request follow.
    More,
    Caller {
        otherwise: Vec<String>,
        answer: Option<oneshot::Sender<Answer>>,
    },
    Pane,
    People,
    Nobody,
}

/// Asks who is attached.
pub(super) fn clients_line(name: &str) -> String {
    let format = of_control(CLIENT_FORMAT.as_bytes());
    format!("list-clients -t {} -F {format}", exactly(name))
}

/// People of an answer to [`clients_line`].
pub(super) fn people(lines: &[String]) -> u32 {
    let count = lines.iter().filter(|line| *line == "C 0").count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[derive(Debug)]
pub(super) struct Wire {
    /// Ends with this.
    _child: Child,
    writes: pipe::Sender,
    reads: pipe::Receiver,
    parser: Parser,
    outgoing: Vec<u8>,
    waiting: VecDeque<Waiting>,
    /// The first failure among the lines of a request.
    failure: Option<String>,
}

impl Wire {
    /// Starts a connection and waits until it is attached: what is sent sooner is not.
    pub(super) async fn attach(server: &Server, name: &str) -> Result<Wire, TmuxError> {
        let mut argv = server.argv()?;
        argv.extend(["-N", "-C", "attach-session", "-t", &exactly(name)].map(Into::into));
        argv.extend(["-f", "no-output,ignore-size"].map(Into::into));
        let reason = "the connection to a terminal of the person's";
        let mut plan = Plan::new(argv, PathBuf::from("/"), Walls::Unsandboxed { reason });
        plan.env = server.variables();
        plan.feed = Feed::Pipes;
        plan.limits.disk_free_bytes = 0;
        let child = server.spawner().spawn(plan).await?;
        let pipes = child.take_pipes().await;
        let (writes, reads) = pipes.ok_or_else(|| TmuxError::Gone("it has no pipes".into()))?;
        let mut wire = Wire {
            _child: child,
            writes,
            reads,
            parser: Parser::default(),
            outgoing: Vec::new(),
            waiting: VecDeque::new(),
            failure: None,
        };
        let attached = wire.until(|event| match event {
            Event::Attached => Some(Ok(())),
            Event::Failed(said) if said.starts_with("can't find session") => {
                Some(Err(TmuxError::NoSession(name.to_owned())))
            }
            Event::Failed(said) => Some(Err(TmuxError::Refused(said))),
            _ => None,
        });
        attached.await?;
        Ok(wire)
    }

    /// One line and its answer, before the connection has its task.
    pub(super) async fn ask(&mut self, line: String) -> Answer {
        let line = line + "\n";
        self.writes.write_all(line.as_bytes()).await?;
        self.until(|event| match event {
            Event::Answer(answer) => Some(answer.map_err(TmuxError::Refused)),
            _ => None,
        })
        .await
    }

    /// Reads until an event that is wanted.
    async fn until<T>(
        &mut self,
        mut wanted: impl FnMut(Event) -> Option<Result<T, TmuxError>>,
    ) -> Result<T, TmuxError> {
        let read = async {
            let mut buffer = vec![0; READ_BYTES];
            loop {
                let length = self.reads.read(&mut buffer).await?;
                if length == 0 {
                    return Err(TmuxError::Gone("tmux has closed it".to_owned()));
                }
                let mut found = None;
                let mut exit = None;
                self.parser.feed(&buffer[..length], &mut |event| {
                    if let Event::Exit(reason) = &event {
                        exit = Some(left(reason.clone()));
                    }
                    found = found.take().or_else(|| wanted(event));
                });
                if let Some(found) = found {
                    return found;
                }
                if let Some(reason) = exit {
                    return Err(TmuxError::Gone(reason));
                }
            }
        };
        let read = tokio::time::timeout(super::control::ANSWER_MAX, read).await;
        read.map_err(|_| TmuxError::Silent)?
    }

    /// Serves requests until the connection or everybody who holds it is gone.
    pub(super) async fn run(
        mut self,
        session: Session,
        record: String,
        mut asked: mpsc::Receiver<Request>,
        tell: watch::Sender<Seen>,
    ) {
        let mut watch = Watch {
            session,
            record,
            tell,
        };
        let mut buffer = vec![0; READ_BYTES];
        let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_held = true;
        let reason = loop {
            // What was sent before the last holder let go still reaches tmux.
            if !is_held && self.waiting.is_empty() {
                break "nobody holds it any more".to_owned();
            }
            let has_room = is_held
                && self.waiting.len() < WAITING_MAX
                && self.outgoing.len() < OUTGOING_BYTES_MAX;
            tokio::select! {
                read = self.reads.read(&mut buffer) => match read {
                    Ok(length) if length > 0 => {
                        if let Some(reason) = self.hear(&buffer[..length], &mut watch) {
                            break reason;
                        }
                    }
                    _ => break "tmux has closed it".to_owned(),
                },
                written = self.writes.write(&self.outgoing), if !self.outgoing.is_empty() => {
                    match written {
                        Ok(length) => drop(self.outgoing.drain(..length)),
                        Err(_) => break "tmux reads no more".to_owned(),
                    }
                }
                request = asked.recv(), if has_room => match request {
                    Some(request) => self.send(request),
                    None => is_held = false,
                },
                _ = tick.tick() => {
                    self.look_at_pane(&watch);
                    self.look_at_people(&watch);
                }
            }
        };
        watch.tell.send_modify(|seen| seen.gone = Some(reason));
    }

    fn send(&mut self, request: Request) {
        let last = request.lines.len().saturating_sub(1);
        let mut end = Some((request.otherwise, request.answer));
        for (number, line) in request.lines.into_iter().enumerate() {
            let waiting = match (number == last).then(|| end.take()).flatten() {
                Some((otherwise, answer)) => Waiting::Caller { otherwise, answer },
                None => Waiting::More,
            };
            self.line(&line, waiting);
        }
    }

    fn line(&mut self, line: &str, waiting: Waiting) {
        self.outgoing.extend_from_slice(line.as_bytes());
        self.outgoing.push(b'\n');
        self.waiting.push_back(waiting);
    }

    fn look_at_pane(&mut self, watch: &Watch) {
        let format = of_control(PANE_FORMAT.as_bytes());
        let line = format!("display-message -p -t {} {format}", watch.session.pane);
        self.line(&line, Waiting::Pane);
    }

    fn look_at_people(&mut self, watch: &Watch) {
        self.line(&clients_line(&watch.session.name), Waiting::People);
    }

    /// Takes in what tmux said; why the connection is over, if it is.
    fn hear(&mut self, bytes: &[u8], watch: &mut Watch) -> Option<String> {
        let mut events = Vec::new();
        self.parser.feed(bytes, &mut |event| events.push(event));
        for event in events {
            match event {
                Event::Answer(answer) => {
                    if let Some(reason) = self.answer(answer, watch) {
                        return Some(reason);
                    }
                }
                Event::Exit(reason) => return Some(left(reason)),
                // Notices come in crowds; one question at a time is enough.
                Event::Layout => {
                    if !self.is_unsent(|last| matches!(last, Waiting::Pane)) {
                        self.look_at_pane(watch);
                    }
                }
                Event::Clients => {
                    if !self.is_unsent(|last| matches!(last, Waiting::People)) {
                        self.look_at_people(watch);
                    }
                }
                Event::Attached | Event::Failed(_) => {}
            }
        }
        None
    }

    /// Whether such a question has not reached tmux yet, so that its answer covers this notice too.
    fn is_unsent(&self, is_it: impl Fn(&Waiting) -> bool) -> bool {
        !self.outgoing.is_empty() && self.waiting.back().is_some_and(is_it)
    }

    fn answer(&mut self, answer: Result<Vec<String>, String>, watch: &mut Watch) -> Option<String> {
        match self.waiting.pop_front() {
            Some(Waiting::More) => {
                if let Err(said) = answer {
                    self.failure.get_or_insert(said);
                }
            }
            Some(Waiting::Caller {
                otherwise,
                answer: caller,
            }) => {
                let answer = match self.failure.take() {
                    Some(said) => Err(said),
                    None => answer,
                };
                if answer.is_err() && !otherwise.is_empty() {
                    self.send(Request {
                        lines: otherwise,
                        otherwise: Vec::new(),
                        answer: caller,
                    });
                } else if let Some(caller) = caller {
                    // A caller who no longer waits needs no answer.
                    let _ = caller.send(answer.map_err(TmuxError::Refused));
                }
            }
            Some(Waiting::Pane) => return self.pane(answer, watch),
            Some(Waiting::People) => {
                if let Ok(lines) = answer {
                    watch.tell(|seen| seen.attached = people(&lines));
                }
            }
            Some(Waiting::Nobody) | None => {}
        }
        None
    }

    fn pane(&mut self, answer: Result<Vec<String>, String>, watch: &mut Watch) -> Option<String> {
        let lines = answer.unwrap_or_default();
        // tmux answers about a pane that is gone with empty words.
        let Some(pane) = lines.iter().find_map(|line| read_pane(line)) else {
            return Some("its shell has ended".to_owned());
        };
        watch.tell(|seen| (seen.columns, seen.rows) = (pane.columns, pane.rows));
        if !pane.recorded {
            tracing::warn!(
                terminal = pane.name,
                "its recorder was gone and is started again"
            );
            let line = watch.record.clone();
            self.line(&line, Waiting::Nobody);
        }
        None
    }
}

/// What the connection looks after by itself.
struct Watch {
    session: Session,
    /// Begins to record again.
    record: String,
    tell: watch::Sender<Seen>,
}

impl Watch {
    fn tell(&self, change: impl FnOnce(&mut Seen)) {
        self.tell.send_if_modified(|seen| {
            let before = seen.clone();
            change(seen);
            *seen != before
        });
    }
}

fn left(reason: Option<String>) -> String {
    reason.unwrap_or_else(|| "the terminal has ended".to_owned())
}
