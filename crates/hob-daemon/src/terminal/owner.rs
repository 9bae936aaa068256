//! The owner of one terminal: it reads the recording, feeds the desk, does what that says, and
//! answers who asks.
//!
//! Invariants: one task changes a terminal; what was recorded is lived through before anything is
//! typed; nothing here waits for a person, a program or a reader.

use super::Shared;
use super::handle::{Handle, ORDERS_MAX, Order};
use super::life::Life;
use super::link::{self, Link};
use super::making::remove_folder;
use hob_core::terminal::desk::Event;
use hob_exec::tmux::recording::{Piece, Reader};
use hob_exec::tmux::{Notice, Notices};
use hob_store::{CommandRow, TerminalRow};
use hob_wire::rooms::terminal::{Captured, TerminalCommand};
use hob_wire::{CommandId, WireError};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// How long the last words of a terminal that is gone are waited for.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// What is read of a recording's past to see the screen again.
const PAST_BYTES: u64 = 2 * 1024 * 1024;
/// A piece this long means that more follows at once; others get their turn first.
const LONG_PIECE: usize = 32 * 1024;
/// Lines of a screen without its past.
const CAPTURE_LINES: u32 = 100;

pub(super) struct Owner {
    shared: Arc<Shared>,
    life: Life,
    reader: Reader,
    notices: Option<Notices>,
    orders: mpsc::Receiver<Order>,
    alarm: Alarm,
    /// Whether nothing is recorded any more.
    has_ended: bool,
    /// Those who closed it.
    closers: Vec<super::handle::Reply<()>>,
}

/// What an owner begins with.
#[derive(Debug)]
pub(super) struct Beginning {
    pub(super) row: TerminalRow,
    /// None of a terminal that is gone: its recording is lived through all the same.
    pub(super) link: Option<Link>,
    /// Commands that have not ended.
    pub(super) commands: Vec<CommandRow>,
    /// Why it is gone.
    pub(super) gone: Option<String>,
}

impl Owner {
    /// Begins to own a terminal.
    pub(super) fn begin(shared: &Arc<Shared>, beginning: Beginning) -> io::Result<Handle> {
        let (sender, orders) = mpsc::channel(ORDERS_MAX);
        let row = &beginning.row;
        let folder = shared.parts.home.terminal(&row.id);
        let past = row.reached.saturating_sub(PAST_BYTES);
        let reader = Reader::open(&folder, past)?;
        let (row_id, id) = (row.row_id, row.id.clone());
        let (notices, control) = match beginning.link {
            Some(link) => (Some(link.notices), Some(link.control)),
            None => (None, None),
        };
        let (life, view) = Life::new(shared, beginning.row, control, beginning.commands);
        let handle = Handle {
            row_id,
            id,
            orders: sender,
            view,
        };
        let owner = Owner {
            shared: Arc::clone(shared),
            life,
            reader,
            notices,
            orders,
            alarm: Alarm::new(),
            has_ended: false,
            closers: Vec::new(),
        };
        let gone = beginning.gone;
        let tasks = &shared.parts.tasks;
        tasks.spawn_until_stop("terminal", owner.live(gone));
        Ok(handle)
    }

    async fn live(mut self, gone: Option<String>) {
        self.see_past().await;
        self.catch_up().await;
        if self.notices.is_none() {
            self.life.gone(gone).await;
        }
        while !self.life.is_over() {
            self.turn().await;
        }
        self.end().await;
    }

    async fn turn(&mut self) {
        self.life.settle();
        self.alarm.want(self.life.due());
        tokio::select! {
            biased;
            // Whoever waited for it hears of it before the next turn.
            _ = self.life.notebook.written() => tokio::task::yield_now().await,
            notice = next(&mut self.notices) => self.notice(notice).await,
            order = self.orders.recv() => match order {
                Some(order) => self.order(order).await,
                // Every handle is gone: the house forgot it, which is the same as closed.
                None => self.life.act(Event::Close).await,
            },
            piece = self.reader.next() => match piece {
                Ok(piece) => self.piece(piece).await,
                Err(error) => {
                    let why = format!("its recording cannot be read ({error})");
                    self.life.gone(Some(why)).await;
                }
            },
            () = self.alarm.rings() => self.life.tick().await,
        }
    }

    /// Sees the screen as it was, without living through it again.
    async fn see_past(&mut self) {
        let reached = self.life.reached;
        while self.reader.offset() < reached {
            let before = self.reader.offset();
            match self.reader.take() {
                Ok(Some(Piece::Bytes(bytes))) => {
                    let past = usize::try_from(reached - before).unwrap_or(usize::MAX);
                    let (past, rest) = bytes.split_at(past.min(bytes.len()));
                    self.life.see(past);
                    if !rest.is_empty() {
                        self.life.live_through(rest).await;
                    }
                }
                Ok(Some(Piece::Skipped(_))) => {
                    let after = self.reader.offset();
                    if after > reached {
                        self.life.skip(after - reached).await;
                    }
                }
                Ok(Some(Piece::Ended) | None) | Err(_) => break,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Lives through what was recorded while nobody was here.
    async fn catch_up(&mut self) {
        while let Ok(Some(piece)) = self.reader.take() {
            self.piece(piece).await;
            tokio::task::yield_now().await;
        }
        if !self.life.is_over() && self.notices.is_some() {
            self.life.go_live().await;
        }
    }

    async fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Bytes(bytes) => {
                self.has_ended = false;
                self.life.live_through(&bytes).await;
                if bytes.len() >= LONG_PIECE {
                    tokio::task::yield_now().await;
                }
            }
            Piece::Skipped(bytes) => self.life.skip(bytes).await,
            // The connection says whether the terminal is gone, or has it recorded again.
            Piece::Ended => self.has_ended = true,
        }
    }

    async fn notice(&mut self, notice: Notice) {
        match notice {
            Notice::Resized { columns, rows } => self.life.resize(columns, rows),
            Notice::Attached(count) => self.life.attached(count),
            Notice::Gone(reason) => {
                self.notices = None;
                self.life.control = None;
                self.reconnect(reason).await;
            }
        }
    }

    /// The connection is over: connects again if the terminal lives on, else hears its last words.
    async fn reconnect(&mut self, reason: String) {
        let (row, name) = (&self.life.row, self.life.row.name.clone());
        let folder = self.shared.parts.home.terminal(&row.id);
        let Some(link) = link::again(&self.shared, &name, &folder).await else {
            self.last_words().await;
            return self.life.gone(Some(reason)).await;
        };
        tracing::info!(terminal = name, reason, "connected again");
        let session = link.control.session().clone();
        self.notices = Some(link.notices);
        self.life.resize(session.columns, session.rows);
        self.life.attached(session.attached);
        self.life.control = Some(link.control);
    }

    /// Reads until nothing is recorded any more, for a moment.
    async fn last_words(&mut self) {
        let until = Instant::now() + LAST_WORDS;
        while !self.life.is_over() && !self.has_ended {
            match tokio::time::timeout_at(until, self.reader.next()).await {
                Ok(Err(_)) | Err(_) => return,
                Ok(Ok(piece)) => self.piece(piece).await,
            }
        }
    }

    async fn order(&mut self, order: Order) {
        // Whoever asked may have gone, so no reply's failure matters.
        match order {
            Order::Queued { rows, ends } => {
                if let Some(ends) = ends {
                    let ids = rows.iter().map(|row| row.command.id);
                    self.life.notebook.wait(ids, ends);
                }
                for row in rows {
                    self.life.queue(row).await;
                }
            }
            Order::Await { ids, ends } => {
                let known = ids.into_iter().filter(|id| self.life.is_unended(*id));
                let known: Vec<CommandId> = known.collect();
                self.life.notebook.wait(known, ends);
            }
            Order::Look { ids, reply } => {
                let seen = ids.into_iter().filter_map(|id| self.life.look(id));
                let _ = reply.send(seen.collect::<Vec<TerminalCommand>>());
            }
            Order::Capture { past_lines, reply } => {
                let _ = reply.send(self.life.capture(past_lines));
            }
            Order::Cancel { id, reply } => {
                let ids = self.life.unended(id);
                let (ends, ended) = tokio::sync::oneshot::channel();
                self.life.notebook.wait(ids, ends);
                self.life.act(Event::Cancel(id)).await;
                let answer = async move {
                    let ended = ended.await.unwrap_or_default();
                    let _ = reply.send(ended.iter().map(|command| command.id).collect());
                };
                let tasks = &self.shared.parts.tasks;
                tasks.spawn_until_stop("terminal cancel", answer);
            }
            Order::Control { reply } => {
                let _ = reply.send(self.life.control.clone());
            }
            Order::Close { reply } => {
                self.closers.push(reply);
                self.life.act(Event::Close).await;
            }
        }
    }

    /// The terminal is over: what is left of it goes, and its name is free again.
    async fn end(mut self) {
        // Whoever looks for it from now on waits for its name.
        self.life.settle();
        if let Some(control) = self.life.control.take() {
            // One whose shell was left is gone already.
            let _ = control.kill().await;
        }
        self.life.notebook.finish().await;
        let row = &self.life.row;
        self.shared.forget(&row.name, row.row_id);
        let folder = self.shared.parts.home.terminal(&row.id);
        let removed = tokio::task::spawn_blocking(move || remove_folder(&folder)).await;
        if let Ok(Err(error)) = removed {
            tracing::debug!(terminal = row.name, "its folder was not removed: {error}");
        }
        for closer in self.closers {
            let _ = closer.send(());
        }
    }
}

/// How many lines of the past are wanted.
pub(super) fn past_lines(asked: Option<u32>) -> Result<u32, WireError> {
    let most = hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;
    match asked.unwrap_or(CAPTURE_LINES) {
        lines if lines <= most => Ok(lines),
        lines => Err(super::words::invalid(format!(
            "`lines` is {most} at the most, not {lines}."
        ))),
    }
}

async fn next(notices: &mut Option<Notices>) -> Notice {
    match notices {
        Some(notices) => notices.next().await,
        None => std::future::pending().await,
    }
}

/// Rings when something is due, or sooner: it is set anew only for what is due sooner still, because
/// each setting may wake the thread that waits for time and for everything else.
struct Alarm {
    sleep: Pin<Box<Sleep>>,
    is_set: bool,
}

impl Alarm {
    fn new() -> Alarm {
        Alarm {
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            is_set: false,
        }
    }

    fn want(&mut self, due: Option<Instant>) {
        if let Some(due) = due
            && !(self.is_set && self.sleep.deadline() <= due)
        {
            self.sleep.as_mut().reset(due);
            self.is_set = true;
        }
    }

    async fn rings(&mut self) {
        if !self.is_set {
            return std::future::pending().await;
        }
        self.sleep.as_mut().await;
        self.is_set = false;
    }
}

impl Life {
    /// The screen with some of its past.
    fn capture(&self, past_lines: u32) -> Captured {
        let screen = &self.screen;
        let text = screen.capture(past_lines as usize);
        let (cursor_column, cursor_row) = screen.cursor();
        let (columns, rows) = screen.size();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        Captured {
            name: self.row.name.clone(),
            lines: count(text.lines().count()),
            text,
            columns,
            rows,
            cursor_column,
            cursor_row,
            full_screen: screen.full_screen(),
            past_lines: count(screen.past_lines()),
        }
    }
}
