//! The state of one terminal. Marks in the recording become events of the scheduler; its effects
//! are carried out, and the results go to the write buffer.
//!
//! Invariant: `applied_offset` counts every byte of the recording that was processed, so a restart
//! continues there and applies no mark twice.

use super::TerminalContext;
use super::messages;
use super::output_feed::OutputFeed;
use super::write_buffer::WriteBuffer;
use hob_core::terminal::command_output::CommandOutput;
use hob_core::terminal::command_scheduler::{
    CommandScheduler, QueuedCommand, ResumePoint, SchedulerEffect, SchedulerEvent,
    TerminalActivity, TerminalEnd,
};
use hob_core::terminal::screen::TerminalScreen;
use hob_core::terminal::shell_marks::{MarkScanner, ScannedPiece, ShellMark, may_end_mark};
use hob_exec::tmux::TmuxConnection;
use hob_exec::tmux::shells::{CommandHandoff, ShellKind};
use hob_store::{CommandRow, TerminalRow};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{
    CommandState, RecordedRange, TerminalCommand, TerminalInfo, TerminalState,
};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The state of one terminal, changed by its owner task alone.
pub(super) struct TerminalSession {
    pub(super) context: Arc<TerminalContext>,
    pub(super) row: TerminalRow,
    pub(super) control: Option<TmuxConnection>,
    pub(super) write_buffer: WriteBuffer,
    pub(super) screen: TerminalScreen,
    /// The offset in the recording up to which everything was processed.
    pub(super) applied_offset: u64,
    /// The offset after the last byte that the scanner passed on.
    scanned_offset: u64,
    pub(super) shell: ShellKind,
    /// The file through which commands are handed to the shell; none when the folder is gone.
    pub(super) handoff: Option<CommandHandoff>,
    scheduler: CommandScheduler,
    effects: Vec<SchedulerEffect>,
    scanner: MarkScanner,
    output_feed: OutputFeed,
    /// hob's commands that have not ended.
    pub(super) open_commands: BTreeMap<CommandId, TerminalCommand>,
    /// The running line that the user typed, and the shell's own id of it.
    pub(super) person_line: Option<(TerminalCommand, String)>,
    /// The command whose output is captured: it runs, or was handed over and is about to run.
    pub(super) current: Option<RunningCommand>,
    /// The process group that got the last control-C.
    pub(super) interrupted: Option<i32>,
    /// The way the terminal ended, with a reason for people.
    pub(super) over: Option<(TerminalEnd, Option<String>)>,
    view: watch::Sender<TerminalInfo>,
    recording: watch::Sender<RecordingView>,
}

/// The views of a terminal that its handle has.
#[derive(Debug)]
pub(super) struct SessionViews {
    pub(super) info: watch::Receiver<TerminalInfo>,
    pub(super) recording: watch::Receiver<RecordingView>,
}

/// The state of a recording, for those who follow it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct RecordingView {
    /// The offset up to which the recording was processed.
    pub(super) end: u64,
    /// The command that runs, and the offset of its output.
    pub(super) running: Option<(CommandId, u64)>,
    /// Counts the writes to the store, because ends of commands are told after them.
    pub(super) writes: u64,
}

/// The command whose output is being captured.
pub(super) struct RunningCommand {
    pub(super) id: CommandId,
    /// The offset in the recording of the first byte.
    pub(super) from: u64,
    pub(super) printed: CommandOutput,
    pub(super) began_us: Option<u64>,
}

/// The fields of a mark.
#[derive(Default)]
pub(super) struct MarkFields {
    pub(super) id: String,
    pub(super) at_us: Option<u64>,
    pub(super) typed: Option<String>,
}

impl TerminalSession {
    pub(super) fn new(
        context: &Arc<TerminalContext>,
        row: TerminalRow,
        control: Option<TmuxConnection>,
        commands: Vec<CommandRow>,
    ) -> (TerminalSession, SessionViews) {
        let deps = &context.deps;
        let folder = deps.home.terminal(&row.id);
        let session = control.as_ref().map(TmuxConnection::session);
        // tmux knows the present size; the stored one may be old.
        let (columns, rows) = session.map_or((row.columns, row.rows), |it| (it.columns, it.rows));
        let status = TerminalInfo {
            name: row.name.clone(),
            state: row.state,
            detail: row.detail.clone(),
            shell: row.shell.clone(),
            folder: row.folder.clone(),
            pid: session.and_then(|it| u32::try_from(it.shell_pid).ok()),
            columns,
            rows,
            queued: 0,
            running: None,
            attached: session.map_or(0, |it| it.attached),
            created_at: row.created_at,
        };
        let (view, info) = watch::channel(status.clone());
        let (recording, recording_view) = watch::channel(RecordingView::default());
        let lines = context.settings().usize("terminal.history_lines");
        let name = row.name.clone();
        let mut session = TerminalSession {
            context: Arc::clone(context),
            control,
            write_buffer: WriteBuffer::new(deps.store.clone(), row.row_id, status),
            screen: TerminalScreen::new(columns, rows, lines),
            applied_offset: row.reached,
            scanned_offset: row.reached,
            shell: ShellKind::of(Path::new(&row.shell)),
            handoff: CommandHandoff::open(&folder).ok(),
            // Replaced by `restore`, which needs the rest of the session.
            scheduler: CommandScheduler::new(ResumePoint::Prompt, Vec::new(), 0),
            effects: Vec::new(),
            scanner: MarkScanner::new(&row.key),
            output_feed: OutputFeed::new(context.emitter.clone(), name, row.reached),
            open_commands: BTreeMap::new(),
            person_line: None,
            current: None,
            interrupted: None,
            over: None,
            view,
            recording,
            row,
        };
        session.restore(commands);
        let views = SessionViews {
            info,
            recording: recording_view,
        };
        (session, views)
    }

    /// Restores the state that the previous daemon stored.
    fn restore(&mut self, commands: Vec<CommandRow>) {
        let clock = &self.context.deps.clock;
        // Monotonic time does not survive a restart, so running times are measured by the wall clock.
        let (now_ms, wall_ms) = (clock.monotonic_ms(), clock.wall_ms());
        let mut before = match self.row.state {
            TerminalState::Starting => ResumePoint::Starting,
            _ => ResumePoint::Prompt,
        };
        let mut queue = Vec::new();
        for row in commands {
            let job = job(&row);
            let id = row.command.id;
            if row.command.state == CommandState::Running {
                let began_ms = row.command.started_at.unwrap_or(row.command.queued_at);
                self.current = Some(self.start_capture(id, Some(began_ms.saturating_mul(1_000))));
                // What it printed before the stored offset is in the recording too.
                if let (Some(current), Some(recorded)) = (&mut self.current, &row.command.recorded)
                {
                    current.from = recorded.from;
                }
                // Only lines that the user typed have an id from the shell.
                before = match row.shell_id.clone() {
                    Some(shell_id) => {
                        self.person_line = Some((row.command.clone(), shell_id.clone()));
                        ResumePoint::PersonLine(shell_id)
                    }
                    None => ResumePoint::HobCommand {
                        command: job,
                        ago_ms: wall_ms.saturating_sub(began_ms),
                    },
                };
            } else {
                queue.push(job);
            }
            if row.shell_id.is_none() {
                self.open_commands.insert(id, row.command);
            }
        }
        self.scheduler = CommandScheduler::new(before, queue, now_ms);
    }

    pub(super) fn has_ended(&self) -> bool {
        self.over.is_some()
    }

    /// Draws bytes on the screen without acting on their marks: they were applied before.
    pub(super) fn draw_only(&mut self, bytes: &[u8]) {
        let screen = &mut self.screen;
        self.scanner.feed(bytes, &mut |piece| {
            if let ScannedPiece::Bytes(bytes) = piece {
                screen.feed(bytes);
            }
        });
    }

    /// Processes the next bytes of the recording.
    pub(super) async fn apply_output(&mut self, bytes: &[u8]) {
        // Sliced at possible ends of marks: a slice holds at most one mark, at its end. So the stored
        // offset lies right behind a mark, and output after the mark is not counted to the command
        // before it.
        for slice in bytes.split_inclusive(|byte| may_end_mark(*byte)) {
            let mut mark = None;
            let TerminalSession {
                scanner,
                screen,
                output_feed,
                current,
                scanned_offset,
                ..
            } = self;
            scanner.feed(slice, &mut |piece| match piece {
                ScannedPiece::Bytes(bytes) => {
                    screen.feed(bytes);
                    if let Some(current) = current.as_mut() {
                        current.printed.feed(bytes);
                    }
                    // Until its start mark, the shell prints its prompt and the echoed line.
                    let begun = current.as_ref().filter(|it| it.began_us.is_some());
                    *scanned_offset += bytes.len() as u64;
                    output_feed.feed(begun.map(|it| it.id), bytes, *scanned_offset);
                }
                ScannedPiece::Mark(found) => mark = Some(found),
            });
            self.applied_offset += slice.len() as u64;
            if let Some(mark) = mark {
                self.scanned_offset = self.applied_offset;
                self.handle_mark(mark).await;
            }
        }
    }

    /// Handles a gap in the recording: old segments were removed, or the disk was full.
    pub(super) async fn skip_gap(&mut self, bytes: u64) {
        self.applied_offset += bytes;
        // A mark that was half read before the gap will never be completed.
        self.scanner = MarkScanner::new(&self.row.key);
        self.scanned_offset = self.applied_offset;
        self.output_feed.skip(bytes, self.scanned_offset);
        self.handle_event(SchedulerEvent::RecordingGap).await;
    }

    /// Switches to live operation, after the recording was processed up to its end.
    pub(super) async fn go_live(&mut self) {
        // Read last: the shell may have taken the command while the recording was processed.
        let handed = self.last_handed_over();
        self.handle_event(SchedulerEvent::CaughtUp(handed)).await;
    }

    pub(super) async fn tick(&mut self) {
        let now_ms = self.now_ms();
        if self
            .scheduler
            .due_ms()
            .is_some_and(|due_ms| due_ms <= now_ms)
        {
            self.handle_event(SchedulerEvent::Tick).await;
        }
    }

    /// Handles that the terminal is gone.
    pub(super) async fn handle_gone(&mut self, reason: Option<String>) {
        if let Some((_, why)) = &mut self.over {
            // The first reason is the cause; later ones are consequences.
            *why = why.take().or(reason);
            return;
        }
        self.handle_event(SchedulerEvent::TerminalGone).await;
        if let Some((_, why)) = &mut self.over {
            *why = reason;
        }
    }

    pub(super) fn resize(&mut self, columns: u16, rows: u16) {
        self.screen.resize(columns, rows);
        self.view.send_modify(|seen| {
            (seen.columns, seen.rows) = (columns, rows);
        });
    }

    pub(super) fn set_attached(&mut self, count: u32) {
        self.view.send_modify(|seen| seen.attached = count);
    }

    pub(super) async fn enqueue(&mut self, row: CommandRow) {
        let job = job(&row);
        // A repeated request brings commands that are queued, running or done already.
        if row.command.state != CommandState::Queued || self.open_commands.contains_key(&job.id) {
            return;
        }
        self.open_commands.insert(job.id, row.command);
        self.handle_event(SchedulerEvent::Queued(job)).await;
    }

    /// Returns hob's commands that have not ended: this one, or all.
    pub(super) fn unfinished(&self, id: Option<CommandId>) -> Vec<CommandId> {
        let all = self.open_commands.keys().copied();
        all.filter(|known| id.is_none_or(|id| id == *known))
            .collect()
    }

    /// Returns true if the end of a command is still to come or not stored yet.
    pub(super) fn is_unfinished(&self, id: CommandId) -> bool {
        let is_line = self
            .person_line
            .as_ref()
            .is_some_and(|(line, _)| line.id == id);
        is_line || self.open_commands.contains_key(&id) || self.write_buffer.has_unwritten_end(id)
    }

    /// Returns a command that has not ended, with its output so far.
    pub(super) fn snapshot_command(&self, id: CommandId) -> Option<TerminalCommand> {
        let line = self.person_line.as_ref().map(|(line, _)| line);
        let line = line.filter(|line| line.id == id);
        let mut command = self.open_commands.get(&id).or(line)?.clone();
        let begun = |it: &&RunningCommand| it.id == id && it.began_us.is_some();
        if let Some(current) = self.current.as_ref().filter(begun) {
            let (text, truncated) = current.printed.text();
            command.output = Some(text);
            command.truncated = truncated;
            command.output_bytes = current.printed.bytes();
            command.recorded = Some(self.recorded_range(current.from, None));
        }
        Some(command)
    }

    /// Returns a part of this terminal's recording.
    pub(super) fn recorded_range(&self, from: u64, to: Option<u64>) -> RecordedRange {
        RecordedRange {
            recording: self.row.id.clone(),
            from,
            to,
        }
    }

    /// Returns when the next timer of the terminal is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let now_ms = self.now_ms();
        let scheduler = self
            .scheduler
            .due_ms()
            .map(|due_ms| Instant::now() + Duration::from_millis(due_ms.saturating_sub(now_ms)));
        let others = [self.write_buffer.next_due(), self.output_feed.next_due()];
        others.into_iter().chain([scheduler]).flatten().min()
    }

    /// Publishes the new status and starts due writes and events.
    pub(super) fn publish_changes(&mut self) {
        let status = self.status();
        self.view.send_if_modified(|seen| {
            let is_new = *seen != status;
            seen.clone_from(&status);
            is_new
        });
        let running = self.current.as_ref().filter(|it| it.began_us.is_some());
        let recording = RecordingView {
            end: self.applied_offset,
            running: running.map(|it| (it.id, it.from)),
            writes: self.write_buffer.writes(),
        };
        self.recording.send_if_modified(|seen| {
            let is_new = *seen != recording;
            *seen = recording;
            is_new
        });
        self.write_buffer.set_status(status, self.over.is_some());
        let now = Instant::now();
        self.write_buffer.start_write(now);
        self.output_feed.emit_due(now);
    }

    fn status(&self) -> TerminalInfo {
        let mut status = self.view.borrow().clone();
        status.state = match (&self.over, self.scheduler.activity()) {
            (Some((TerminalEnd::Closed | TerminalEnd::ShellLeft { .. }, _)), _) => {
                TerminalState::Closed
            }
            (Some(_), _) | (None, TerminalActivity::Ended) => TerminalState::Lost,
            (None, TerminalActivity::Starting) => TerminalState::Starting,
            (None, TerminalActivity::Prompt) => TerminalState::Idle,
            (None, TerminalActivity::Running) => TerminalState::Busy,
        };
        if let Some((over, reason)) = &self.over {
            status.detail = messages::describe_over(*over, &self.row.shell, reason.as_deref());
        }
        status.folder.clone_from(&self.row.folder);
        status.queued = u32::try_from(self.scheduler.queued()).unwrap_or(u32::MAX);
        let line = self.person_line.as_ref().map(|(line, _)| line.id);
        status.running = self.scheduler.running().or(line);
        if self.control.is_none() || self.over.is_some() {
            status.pid = None;
        }
        status
    }

    async fn handle_mark(&mut self, mark: ShellMark) {
        match mark {
            ShellMark::Began { id, at_us } => {
                let wall_ms = self.context.deps.clock.wall_ms();
                let at_us = at_us.unwrap_or_else(|| wall_ms.saturating_mul(1_000));
                let ago_ms = wall_ms.saturating_sub(at_us / 1_000);
                let fields = MarkFields {
                    id,
                    at_us: Some(at_us),
                    typed: None,
                };
                let event = SchedulerEvent::Began {
                    id: &fields.id,
                    ago_ms,
                };
                self.step(event, &fields).await;
            }
            ShellMark::Ended {
                id,
                status,
                at_us,
                typed,
            } => {
                let fields = MarkFields { id, at_us, typed };
                let event = SchedulerEvent::Ended {
                    id: &fields.id,
                    status,
                };
                self.step(event, &fields).await;
            }
            ShellMark::Prompt { folder } => {
                self.handle_event(SchedulerEvent::Prompt).await;
                if folder.is_some() && folder != self.row.folder {
                    self.row.folder = folder;
                }
                // After a restart the output of a running command is rebuilt from the recording, so the
                // stored offset must not move past its start.
                if self.current.is_none() {
                    self.write_buffer.advance_offset(self.applied_offset);
                }
            }
            ShellMark::Taken { id } => {
                // From here on the shell prints for this command, be it only a syntax error.
                let known = id
                    .parse()
                    .ok()
                    .filter(|id| self.open_commands.contains_key(id));
                if let Some(known) = known {
                    self.current = Some(self.start_capture(known, None));
                }
                self.handle_event(SchedulerEvent::Taken { id: &id }).await;
            }
            ShellMark::Incomplete => self.handle_event(SchedulerEvent::Incomplete).await,
            ShellMark::Left { status } => {
                self.handle_event(SchedulerEvent::ShellLeft { status })
                    .await;
            }
        }
    }

    pub(super) async fn handle_event(&mut self, event: SchedulerEvent<'_>) {
        self.step(event, &MarkFields::default()).await;
    }

    /// Feeds an event to the scheduler and applies its effects.
    async fn step(&mut self, event: SchedulerEvent<'_>, fields: &MarkFields) {
        let now_ms = self.now_ms();
        // The vector is reused: marks come often, and effects are few.
        let mut effects = std::mem::take(&mut self.effects);
        self.scheduler.step(event, now_ms, &mut effects);
        for effect in effects.drain(..) {
            self.apply_effect(effect, fields).await;
        }
        self.effects = effects;
    }

    fn now_ms(&self) -> u64 {
        self.context.deps.clock.monotonic_ms()
    }
}

fn job(row: &CommandRow) -> QueuedCommand {
    QueuedCommand {
        id: row.command.id,
        number: row.number,
        chain: row.chain,
        timeout_ms: row.timeout_ms,
    }
}
