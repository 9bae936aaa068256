//! The owner task of one terminal: it reads the recording, feeds the session, and answers
//! requests.
//!
//! Invariants: one task changes a terminal; the recording is processed up to its end before
//! anything is typed; the task never waits for a user, a program or a reader.

use super::TerminalContext;
use super::handle::{OWNER_REQUESTS_MAX, OwnerRequest, TerminalHandle};
use super::session::TerminalSession;
use super::tmux_link::{self, TmuxLink};
use hob_core::terminal::command_scheduler::SchedulerEvent;
use hob_exec::tmux::recording::{RecordedPiece, RecordingReader};
use hob_exec::tmux::{TmuxNotice, TmuxNotices};
use hob_store::{CommandRow, TerminalRow};
use hob_wire::rooms::terminal::{TerminalCaptureResult, TerminalCommand};
use hob_wire::{CommandId, WireError};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, Sleep};

/// Time to read the rest of the recording of a terminal that is gone.
const DRAIN_WAIT: Duration = Duration::from_secs(2);
/// Bytes read again from before the stored offset, to redraw the screen after a restart.
const REDRAW_BYTES: u64 = 2 * 1024 * 1024;
/// A piece this long means that more follows at once, so the task yields first.
const LONG_PIECE_BYTES: usize = 32 * 1024;
/// Lines of history in a capture, unless the caller asks for another number.
const CAPTURE_LINES: u32 = 100;

/// The owner task of one terminal.
pub(super) struct TerminalOwner {
    context: Arc<TerminalContext>,
    session: TerminalSession,
    reader: RecordingReader,
    notices: Option<TmuxNotices>,
    requests: mpsc::Receiver<OwnerRequest>,
    timer: WakeupTimer,
    /// True once the recorder has written its end marker.
    recording_ended: bool,
    /// Answered when the terminal is gone.
    close_replies: Vec<super::handle::ReplySender<()>>,
}

/// The state that an owner starts with.
#[derive(Debug)]
pub(super) struct OwnerInit {
    pub(super) row: TerminalRow,
    /// None for a terminal that is gone. Its recording is processed all the same, because it may hold
    /// the ends of commands.
    pub(super) link: Option<TmuxLink>,
    /// Stored commands that have not ended.
    pub(super) commands: Vec<CommandRow>,
    /// The reason why it is gone.
    pub(super) gone_reason: Option<String>,
}

impl TerminalOwner {
    /// Spawns the owner task of a terminal.
    pub(super) fn spawn(
        context: &Arc<TerminalContext>,
        init: OwnerInit,
    ) -> io::Result<TerminalHandle> {
        let (sender, requests) = mpsc::channel(OWNER_REQUESTS_MAX);
        let row = &init.row;
        let folder = context.deps.home.terminal(&row.id);
        let past = row.reached.saturating_sub(REDRAW_BYTES);
        let reader = RecordingReader::open(&folder, past)?;
        let (row_id, id) = (row.row_id, row.id.clone());
        let (notices, control) = match init.link {
            Some(link) => (Some(link.notices), Some(link.control)),
            None => (None, None),
        };
        let (session, views) = TerminalSession::new(context, init.row, control, init.commands);
        let handle = TerminalHandle {
            row_id,
            id,
            requests: sender,
            view: views.info,
            recording: views.recording,
        };
        let owner = TerminalOwner {
            context: Arc::clone(context),
            session,
            reader,
            notices,
            requests,
            timer: WakeupTimer::new(),
            recording_ended: false,
            close_replies: Vec::new(),
        };
        let gone = init.gone_reason;
        let tasks = &context.deps.tasks;
        // Dropped at a stop: the next daemon reads again what was not stored yet.
        tasks.spawn_until_stop("terminal", owner.run(gone));
        Ok(handle)
    }

    async fn run(mut self, gone: Option<String>) {
        self.redraw_past().await;
        self.catch_up().await;
        if self.notices.is_none() {
            self.session.handle_gone(gone).await;
        }
        while !self.session.has_ended() {
            self.run_once().await;
        }
        self.shut_down().await;
    }

    async fn run_once(&mut self) {
        self.session.publish_changes();
        self.timer.arm(self.session.next_due());
        tokio::select! {
            // Biased: ends that are stored go out first, and output comes after requests, so that a
            // program which floods the terminal cannot keep a cancel waiting.
            biased;
            // Yields, so that the waiters run before the next round.
            _ = self.session.write_buffer.wait_written() => tokio::task::yield_now().await,
            notice = next_notice(&mut self.notices) => self.handle_notice(notice).await,
            request = self.requests.recv() => match request {
                Some(request) => self.handle_request(request).await,
                // Without a handle nobody can reach the terminal any more, so it is closed.
                None => self.session.handle_event(SchedulerEvent::Close).await,
            },
            piece = self.reader.next() => match piece {
                Ok(piece) => self.handle_piece(piece).await,
                Err(error) => {
                    let why = format!("its recording cannot be read ({error})");
                    self.session.handle_gone(Some(why)).await;
                }
            },
            () = self.timer.fired() => self.session.tick().await,
        }
    }

    /// Redraws the screen from before the stored offset, without applying those marks again.
    async fn redraw_past(&mut self) {
        let reached = self.session.applied_offset;
        while self.reader.offset() < reached {
            let before = self.reader.offset();
            match self.reader.take() {
                Ok(Some(RecordedPiece::Bytes(bytes))) => {
                    let past = usize::try_from(reached - before).unwrap_or(usize::MAX);
                    // A piece may reach over the stored offset. The part behind it is new.
                    let (past, rest) = bytes.split_at(past.min(bytes.len()));
                    self.session.draw_only(past);
                    if !rest.is_empty() {
                        self.session.apply_output(rest).await;
                    }
                }
                Ok(Some(RecordedPiece::Skipped(_))) => {
                    let after = self.reader.offset();
                    if after > reached {
                        self.session.skip_gap(after - reached).await;
                    }
                }
                // An error comes up again in the main loop, which ends the terminal with the
                // reason.
                Ok(Some(RecordedPiece::Ended) | None) | Err(_) => break,
            }
            tokio::task::yield_now().await;
        }
    }

    /// Processes what was recorded while no daemon ran.
    async fn catch_up(&mut self) {
        while let Ok(Some(piece)) = self.reader.take() {
            self.handle_piece(piece).await;
            tokio::task::yield_now().await;
        }
        if !self.session.has_ended() && self.notices.is_some() {
            self.session.go_live().await;
        }
    }

    async fn handle_piece(&mut self, piece: RecordedPiece) {
        match piece {
            RecordedPiece::Bytes(bytes) => {
                // A recorder that was started again continues the recording.
                self.recording_ended = false;
                self.session.apply_output(&bytes).await;
                if bytes.len() >= LONG_PIECE_BYTES {
                    tokio::task::yield_now().await;
                }
            }
            RecordedPiece::Skipped(bytes) => self.session.skip_gap(bytes).await,
            // The tmux connection decides: either the terminal is gone, or it starts a new recorder.
            RecordedPiece::Ended => self.recording_ended = true,
        }
    }

    async fn handle_notice(&mut self, notice: TmuxNotice) {
        match notice {
            TmuxNotice::Resized { columns, rows } => self.session.resize(columns, rows),
            TmuxNotice::Attached(count) => self.session.set_attached(count),
            TmuxNotice::Gone(reason) => {
                self.notices = None;
                self.session.control = None;
                self.reconnect(reason).await;
            }
        }
    }

    /// Handles the end of the connection: connects again if the session still exists, else reads the
    /// rest of its recording.
    async fn reconnect(&mut self, reason: String) {
        let (row, name) = (&self.session.row, self.session.row.name.clone());
        let folder = self.context.deps.home.terminal(&row.id);
        let Some(link) = tmux_link::reconnect(&self.context, &name, &folder).await else {
            // The shell's last marks may still be on their way from the recorder.
            self.drain_recording().await;
            return self.session.handle_gone(Some(reason)).await;
        };
        tracing::info!(terminal = name, reason, "connected again");
        let session = link.control.session().clone();
        self.notices = Some(link.notices);
        // The size and the clients may have changed while there was no connection.
        self.session.resize(session.columns, session.rows);
        self.session.set_attached(session.attached);
        self.session.control = Some(link.control);
    }

    /// Reads until the recording ends, or [`DRAIN_WAIT`] has passed.
    async fn drain_recording(&mut self) {
        let until = Instant::now() + DRAIN_WAIT;
        while !self.session.has_ended() && !self.recording_ended {
            match tokio::time::timeout_at(until, self.reader.next()).await {
                Ok(Err(_)) | Err(_) => return,
                Ok(Ok(piece)) => self.handle_piece(piece).await,
            }
        }
    }

    async fn handle_request(&mut self, request: OwnerRequest) {
        // The caller may be gone, so a reply that cannot be sent is ignored.
        match request {
            OwnerRequest::Enqueue { rows, reply: ends } => {
                if let Some(ends) = ends {
                    let ids = rows.iter().map(|row| row.command.id);
                    self.session.write_buffer.notify_on_end(ids, ends);
                }
                for row in rows {
                    self.session.enqueue(row).await;
                }
            }
            OwnerRequest::AwaitEnds { ids, reply: ends } => {
                let known = ids.into_iter().filter(|id| self.session.is_unfinished(*id));
                let known: Vec<CommandId> = known.collect();
                self.session.write_buffer.notify_on_end(known, ends);
            }
            OwnerRequest::Inspect { ids, reply } => {
                let seen = ids
                    .into_iter()
                    .filter_map(|id| self.session.snapshot_command(id));
                let _ = reply.send(seen.collect::<Vec<TerminalCommand>>());
            }
            OwnerRequest::Capture { past_lines, reply } => {
                let _ = reply.send(self.session.capture(past_lines));
            }
            OwnerRequest::Cancel { id, reply } => {
                let ids = self.session.unfinished(id);
                let (ends, ended) = tokio::sync::oneshot::channel();
                self.session.write_buffer.notify_on_end(ids, ends);
                // The waiter is registered first, because a queued command ends within this event.
                self.session.handle_event(SchedulerEvent::Cancel(id)).await;
                // In a task of its own: a stubborn command takes seconds to end, and the owner goes on.
                let answer = async move {
                    let ended = ended.await.unwrap_or_default();
                    let _ = reply.send(ended.iter().map(|command| command.id).collect());
                };
                let tasks = &self.context.deps.tasks;
                tasks.spawn_until_stop("terminal cancel", answer);
            }
            OwnerRequest::Control { reply } => {
                let _ = reply.send(self.session.control.clone());
            }
            OwnerRequest::Close { reply } => {
                self.close_replies.push(reply);
                self.session.handle_event(SchedulerEvent::Close).await;
            }
        }
    }

    /// Removes what is left of an ended terminal and frees its name.
    async fn shut_down(mut self) {
        // Published first: from now on a request for this name waits until the name is free.
        self.session.publish_changes();
        if let Some(control) = self.session.control.take() {
            // Fails if the shell has exited: tmux has removed the session then.
            let _ = control.kill().await;
        }
        // Stored before the handle is removed, so nobody can find the name free and its commands open.
        self.session.write_buffer.flush().await;
        let row = &self.session.row;
        self.context.remove_handle(&row.name, row.row_id);
        let folder = self.context.deps.home.terminal(&row.id);
        self.context.remove_folder_later(folder);
        for closer in self.close_replies {
            let _ = closer.send(());
        }
    }
}

/// Returns the number of history lines to capture, if it is within the limit.
pub(super) fn check_past_lines(asked: Option<u32>) -> Result<u32, WireError> {
    let most = hob_wire::limits::TERMINAL_CAPTURE_LINES_MAX;
    match asked.unwrap_or(CAPTURE_LINES) {
        lines if lines <= most => Ok(lines),
        lines => Err(super::messages::invalid(format!(
            "`lines` is at most {most}, not {lines}."
        ))),
    }
}

async fn next_notice(notices: &mut Option<TmuxNotices>) -> TmuxNotice {
    match notices {
        Some(notices) => notices.next().await,
        None => std::future::pending().await,
    }
}

/// A timer that fires when something is due, or earlier. It is reset only for an earlier deadline,
/// because every reset may wake the runtime's driver thread.
struct WakeupTimer {
    sleep: Pin<Box<Sleep>>,
    is_set: bool,
}

impl WakeupTimer {
    fn new() -> WakeupTimer {
        WakeupTimer {
            sleep: Box::pin(tokio::time::sleep(Duration::ZERO)),
            is_set: false,
        }
    }

    fn arm(&mut self, due: Option<Instant>) {
        if let Some(due) = due
            && !(self.is_set && self.sleep.deadline() <= due)
        {
            self.sleep.as_mut().reset(due);
            self.is_set = true;
        }
    }

    async fn fired(&mut self) {
        if !self.is_set {
            return std::future::pending().await;
        }
        self.sleep.as_mut().await;
        self.is_set = false;
    }
}

impl TerminalSession {
    /// Returns the screen with some of its history.
    fn capture(&self, past_lines: u32) -> TerminalCaptureResult {
        let screen = &self.screen;
        let text = screen.capture(past_lines as usize);
        let (cursor_column, cursor_row) = screen.cursor();
        let (columns, rows) = screen.size();
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        TerminalCaptureResult {
            name: self.row.name.clone(),
            lines: count(text.lines().count()),
            text,
            columns,
            rows,
            cursor_column,
            cursor_row,
            full_screen: screen.is_full_screen(),
            past_lines: count(screen.scrollback_lines()),
        }
    }
}
