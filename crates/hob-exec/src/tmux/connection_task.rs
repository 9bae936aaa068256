//! The task that owns one connection. It writes requests, matches answers to them in order, and
//! follows the pane's size, its recorder and the attached clients.
//!
//! Invariant: tmux answers every line once and in order, so the queue of waiters has the order of
//! the lines; the queue is bounded.

use super::error::TmuxError;
use super::protocol::{ControlEvent, ControlParser};
use super::quoting::quote_for_control;
use super::server::{PANE_FORMAT, TmuxServer, TmuxSession, exactly, read_pane};
use crate::child::Child;
use crate::spawn_plan::{OutputMode, SandboxMode, SpawnPlan};
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::MissedTickBehavior;

/// Lines that wait for an answer.
const WAITING_MAX: usize = 256;
/// Bytes that wait to be written before another request is taken.
const OUTGOING_BYTES_MAX: usize = 256 * 1024;
const READ_BYTES: usize = 16 * 1024;
/// The interval of queries that make up for missed notices.
const TICK: Duration = Duration::from_secs(30);
const CLIENT_FORMAT: &str = "C #{client_control_mode}";

pub(super) type TmuxAnswer = Result<Vec<String>, TmuxError>;

/// Lines to send one right after the other.
#[derive(Debug)]
pub(super) struct TmuxRequest {
    pub(super) lines: Vec<String>,
    /// Lines to send once if these fail.
    pub(super) fallback: Vec<String>,
    /// Receives the last answer, or the first failure.
    pub(super) answer: Option<oneshot::Sender<TmuxAnswer>>,
}

/// The observed state of a terminal, besides its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ObservedTerminal {
    pub(super) columns: u16,
    pub(super) rows: u16,
    pub(super) attached: u32,
    pub(super) gone: Option<String>,
}

impl ObservedTerminal {
    pub(super) fn of(session: &TmuxSession) -> ObservedTerminal {
        ObservedTerminal {
            columns: session.columns,
            rows: session.rows,
            attached: session.attached,
            gone: None,
        }
    }
}

/// The receiver of the answer to one line.
#[derive(Debug)]
enum AnswerWaiter {
    /// More lines of the same request follow.
    More,
    Caller {
        fallback: Vec<String>,
        answer: Option<oneshot::Sender<TmuxAnswer>>,
    },
    Pane,
    Clients,
    Nobody,
}

/// The command that lists the attached clients.
pub(super) fn clients_line(name: &str) -> String {
    let format = quote_for_control(CLIENT_FORMAT.as_bytes());
    format!("list-clients -t {} -F {format}", exactly(name))
}

/// Counts the clients in an answer to [`clients_line`], without hob's own connections.
pub(super) fn count_people(lines: &[String]) -> u32 {
    let count = lines.iter().filter(|line| *line == "C 0").count();
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[derive(Debug)]
pub(super) struct ConnectionTask {
    /// Dropping it ends the tmux client.
    _child: Child,
    writes: pipe::Sender,
    reads: pipe::Receiver,
    parser: ControlParser,
    outgoing: Vec<u8>,
    waiting: VecDeque<AnswerWaiter>,
    /// The first failure among the lines of a request.
    failure: Option<String>,
}

impl ConnectionTask {
    /// Starts a connection and waits until it is attached, because tmux drops earlier input.
    pub(super) async fn attach(
        server: &TmuxServer,
        name: &str,
    ) -> Result<ConnectionTask, TmuxError> {
        let mut argv = server.argv()?;
        argv.extend(["-N", "-C", "attach-session", "-t", &exactly(name)].map(Into::into));
        // Output comes from the recording, and this client must not change the terminal's size.
        argv.extend(["-f", "no-output,ignore-size"].map(Into::into));
        let reason = "the connection to a terminal of the person's";
        let mut plan = SpawnPlan::new(
            argv,
            PathBuf::from("/"),
            SandboxMode::Unsandboxed { reason },
        );
        plan.env = server.variables();
        plan.output_mode = OutputMode::Pipes;
        // A full disk must not end the connection to the user's terminal.
        plan.limits.disk_free_bytes = 0;
        let child = server.spawner().spawn(plan).await?;
        let pipes = child.take_pipes().await;
        let (writes, reads) = pipes.ok_or_else(|| TmuxError::Gone("it has no pipes".into()))?;
        let mut task = ConnectionTask {
            _child: child,
            writes,
            reads,
            parser: ControlParser::default(),
            outgoing: Vec::new(),
            waiting: VecDeque::new(),
            failure: None,
        };
        let attached = task.read_until(|event| match event {
            ControlEvent::Attached => Some(Ok(())),
            // tmux reports no error codes, so its words are compared.
            ControlEvent::Failed(message) if message.starts_with("can't find session") => {
                Some(Err(TmuxError::NoSession(name.to_owned())))
            }
            ControlEvent::Failed(message) => Some(Err(TmuxError::Refused(message))),
            _ => None,
        });
        attached.await?;
        Ok(task)
    }

    /// Sends one line and waits for its answer; used before the task runs.
    pub(super) async fn ask(&mut self, line: String) -> TmuxAnswer {
        let line = line + "\n";
        self.writes.write_all(line.as_bytes()).await?;
        self.read_until(|event| match event {
            ControlEvent::Answer(answer) => Some(answer.map_err(TmuxError::Refused)),
            _ => None,
        })
        .await
    }

    /// Reads until a wanted event arrives.
    async fn read_until<T>(
        &mut self,
        mut wanted: impl FnMut(ControlEvent) -> Option<Result<T, TmuxError>>,
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
                    if let ControlEvent::Exit(reason) = &event {
                        exit = Some(exit_reason(reason.clone()));
                    }
                    found = found.take().or_else(|| wanted(event));
                });
                // The wanted event may come in the same bytes as the exit, and then it counts.
                if let Some(found) = found {
                    return found;
                }
                if let Some(reason) = exit {
                    return Err(TmuxError::Gone(reason));
                }
            }
        };
        let read = tokio::time::timeout(super::connection::ANSWER_MAX, read).await;
        read.map_err(|_| TmuxError::Silent)?
    }

    /// Serves requests until the connection ends or its last holder is gone.
    pub(super) async fn run(
        mut self,
        session: TmuxSession,
        record: String,
        mut asked: mpsc::Receiver<TmuxRequest>,
        updates: watch::Sender<ObservedTerminal>,
    ) {
        let mut watch = TerminalWatch {
            session,
            record,
            updates,
        };
        let mut buffer = vec![0; READ_BYTES];
        let mut tick = tokio::time::interval_at(tokio::time::Instant::now() + TICK, TICK);
        // After a suspension of the machine one query is enough.
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_held = true;
        let reason = loop {
            // Requests of the last holder are still delivered before the connection closes.
            if !is_held && self.waiting.is_empty() {
                break "nobody holds it any more".to_owned();
            }
            let has_room = is_held
                && self.waiting.len() < WAITING_MAX
                && self.outgoing.len() < OUTGOING_BYTES_MAX;
            // Every branch is cancel-safe: a read or write that loses the race has moved no byte.
            tokio::select! {
                read = self.reads.read(&mut buffer) => match read {
                    Ok(length) if length > 0 => {
                        if let Some(reason) = self.handle_bytes(&buffer[..length], &mut watch) {
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
                    Some(request) => self.queue_request(request),
                    None => is_held = false,
                },
                _ = tick.tick() => {
                    self.query_pane(&watch);
                    self.query_clients(&watch);
                }
            }
        };
        watch
            .updates
            .send_modify(|observed| observed.gone = Some(reason));
    }

    fn queue_request(&mut self, request: TmuxRequest) {
        let last = request.lines.len().saturating_sub(1);
        let mut end = Some((request.fallback, request.answer));
        for (number, line) in request.lines.into_iter().enumerate() {
            let waiting = match (number == last).then(|| end.take()).flatten() {
                Some((fallback, answer)) => AnswerWaiter::Caller { fallback, answer },
                None => AnswerWaiter::More,
            };
            self.queue_line(&line, waiting);
        }
    }

    fn queue_line(&mut self, line: &str, waiting: AnswerWaiter) {
        self.outgoing.extend_from_slice(line.as_bytes());
        self.outgoing.push(b'\n');
        self.waiting.push_back(waiting);
    }

    fn query_pane(&mut self, watch: &TerminalWatch) {
        let format = quote_for_control(PANE_FORMAT.as_bytes());
        let line = format!("display-message -p -t {} {format}", watch.session.pane);
        self.queue_line(&line, AnswerWaiter::Pane);
    }

    fn query_clients(&mut self, watch: &TerminalWatch) {
        self.queue_line(&clients_line(&watch.session.name), AnswerWaiter::Clients);
    }

    /// Handles output of tmux. Returns the reason if the connection has ended.
    fn handle_bytes(&mut self, bytes: &[u8], watch: &mut TerminalWatch) -> Option<String> {
        let mut events = Vec::new();
        self.parser.feed(bytes, &mut |event| events.push(event));
        for event in events {
            match event {
                ControlEvent::Answer(answer) => {
                    if let Some(reason) = self.handle_answer(answer, watch) {
                        return Some(reason);
                    }
                }
                ControlEvent::Exit(reason) => return Some(exit_reason(reason)),
                // Notices come in bursts, and one query covers all of them.
                ControlEvent::Layout => {
                    if !self.is_unsent(|last| matches!(last, AnswerWaiter::Pane)) {
                        self.query_pane(watch);
                    }
                }
                ControlEvent::Clients => {
                    if !self.is_unsent(|last| matches!(last, AnswerWaiter::Clients)) {
                        self.query_clients(watch);
                    }
                }
                // Both are about the attaching, which is over.
                ControlEvent::Attached | ControlEvent::Failed(_) => {}
            }
        }
        None
    }

    /// Returns true if such a query has not reached tmux yet, so that its answer covers this
    /// notice.
    fn is_unsent(&self, is_it: impl Fn(&AnswerWaiter) -> bool) -> bool {
        !self.outgoing.is_empty() && self.waiting.back().is_some_and(is_it)
    }

    fn handle_answer(
        &mut self,
        answer: Result<Vec<String>, String>,
        watch: &mut TerminalWatch,
    ) -> Option<String> {
        match self.waiting.pop_front() {
            Some(AnswerWaiter::More) => {
                if let Err(message) = answer {
                    self.failure.get_or_insert(message);
                }
            }
            Some(AnswerWaiter::Caller {
                fallback,
                answer: caller,
            }) => {
                let answer = match self.failure.take() {
                    Some(message) => Err(message),
                    None => answer,
                };
                if answer.is_err() && !fallback.is_empty() {
                    self.queue_request(TmuxRequest {
                        lines: fallback,
                        fallback: Vec::new(),
                        answer: caller,
                    });
                } else if let Some(caller) = caller {
                    // The caller may have given up waiting.
                    let _ = caller.send(answer.map_err(TmuxError::Refused));
                }
            }
            Some(AnswerWaiter::Pane) => return self.handle_pane_answer(answer, watch),
            Some(AnswerWaiter::Clients) => {
                // A failed query changes nothing; the next tick asks again.
                if let Ok(lines) = answer {
                    watch.update(|observed| observed.attached = count_people(&lines));
                }
            }
            Some(AnswerWaiter::Nobody) | None => {}
        }
        None
    }

    fn handle_pane_answer(
        &mut self,
        answer: Result<Vec<String>, String>,
        watch: &mut TerminalWatch,
    ) -> Option<String> {
        // An error also means that the pane is gone.
        let lines = answer.unwrap_or_default();
        // tmux answers with empty fields if the pane is gone.
        let Some(pane) = lines.iter().find_map(|line| read_pane(line)) else {
            return Some("its shell has ended".to_owned());
        };
        watch.update(|observed| (observed.columns, observed.rows) = (pane.columns, pane.rows));
        if !pane.is_recorded {
            tracing::warn!(
                terminal = pane.name,
                "the recorder had ended and is started again"
            );
            let line = watch.record.clone();
            self.queue_line(&line, AnswerWaiter::Nobody);
        }
        None
    }
}

/// The state that the connection task follows by itself.
struct TerminalWatch {
    session: TmuxSession,
    /// The command that starts the recorder again.
    record: String,
    updates: watch::Sender<ObservedTerminal>,
}

impl TerminalWatch {
    fn update(&self, change: impl FnOnce(&mut ObservedTerminal)) {
        self.updates.send_if_modified(|observed| {
            let before = observed.clone();
            change(observed);
            *observed != before
        });
    }
}

fn exit_reason(reason: Option<String>) -> String {
    reason.unwrap_or_else(|| "the terminal has ended".to_owned())
}
