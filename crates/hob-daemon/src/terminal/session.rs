//! What happens in one terminal: marks become events of the desk, and what the desk says is done
//! and noted.

use super::Shared;
use super::notebook::Notebook;
use super::telling::Telling;
use super::words;
use hob_core::terminal::desk::{Before, Desk, Effect, Event, Job, Over, Waited};
use hob_core::terminal::printed::Printed;
use hob_core::terminal::scan::{Mark, Piece, Scanner, may_end_mark};
use hob_core::terminal::screen::Screen;
use hob_exec::tmux::Control;
use hob_exec::tmux::shells::{Hand, Shell};
use hob_kit::failpoint;
use hob_store::{CommandRow, TerminalRow};
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{CommandState, Terminal, TerminalCommand, TerminalState};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

pub(super) struct Life {
    pub(super) shared: Arc<Shared>,
    pub(super) row: TerminalRow,
    pub(super) control: Option<Control>,
    pub(super) notebook: Notebook,
    pub(super) screen: Screen,
    /// Up to where the recording was lived through.
    pub(super) reached: u64,
    pub(super) shell: Shell,
    /// None when its folder is gone.
    pub(super) hand: Option<Hand>,
    desk: Desk,
    effects: Vec<Effect>,
    scanner: Scanner,
    telling: Telling,
    /// Commands of hob's that have not ended.
    pub(super) known: BTreeMap<CommandId, TerminalCommand>,
    /// The line of the person's that runs, and the shell's name of it.
    pub(super) line: Option<(TerminalCommand, String)>,
    /// What runs, or was handed over and is about to.
    pub(super) current: Option<Current>,
    /// The process group that was interrupted last.
    pub(super) interrupted: Option<i32>,
    pub(super) over: Option<(Over, Option<String>)>,
    view: watch::Sender<Terminal>,
}

/// A command that prints.
pub(super) struct Current {
    pub(super) id: CommandId,
    pub(super) printed: Printed,
    pub(super) began_us: Option<u64>,
}

/// What a mark says beside its kind.
#[derive(Default)]
pub(super) struct Said {
    pub(super) id: String,
    pub(super) at_us: Option<u64>,
    pub(super) typed: Option<String>,
}

impl Life {
    pub(super) fn new(
        shared: &Arc<Shared>,
        row: TerminalRow,
        control: Option<Control>,
        commands: Vec<CommandRow>,
    ) -> (Life, watch::Receiver<Terminal>) {
        let parts = &shared.parts;
        let folder = parts.home.terminal(&row.id);
        let session = control.as_ref().map(Control::session);
        let (columns, rows) = session.map_or((row.columns, row.rows), |it| (it.columns, it.rows));
        let status = Terminal {
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
        let (view, seen) = watch::channel(status.clone());
        let lines = shared.settings().usize("terminal.history_lines");
        let name = row.name.clone();
        let mut life = Life {
            shared: Arc::clone(shared),
            control,
            notebook: Notebook::new(parts.store.clone(), row.row_id, status),
            screen: Screen::new(columns, rows, lines),
            reached: row.reached,
            shell: Shell::of(Path::new(&row.shell)),
            hand: Hand::open(&folder).ok(),
            desk: Desk::new(Before::Prompt, Vec::new(), 0),
            effects: Vec::new(),
            scanner: Scanner::new(&row.key),
            telling: Telling::new(shared.emitter.clone(), name),
            known: BTreeMap::new(),
            line: None,
            current: None,
            interrupted: None,
            over: None,
            view,
            row,
        };
        life.restore(commands);
        (life, seen)
    }

    /// Goes on where another life of the daemon was.
    fn restore(&mut self, commands: Vec<CommandRow>) {
        let clock = &self.shared.parts.clock;
        let (now_ms, wall_ms) = (clock.monotonic_ms(), clock.wall_ms());
        let mut before = match self.row.state {
            TerminalState::Starting => Before::Starting,
            _ => Before::Prompt,
        };
        let mut queue = Vec::new();
        for row in commands {
            let job = job(&row);
            let id = row.command.id;
            if row.command.state == CommandState::Running {
                let began_ms = row.command.started_at.unwrap_or(row.command.queued_at);
                self.current = Some(self.printing(id, Some(began_ms.saturating_mul(1_000))));
                before = match row.shell_id.clone() {
                    Some(shell_id) => {
                        self.line = Some((row.command.clone(), shell_id.clone()));
                        Before::Line(shell_id)
                    }
                    None => Before::Command {
                        job,
                        ago_ms: wall_ms.saturating_sub(began_ms),
                    },
                };
            } else {
                queue.push(job);
            }
            if row.shell_id.is_none() {
                self.known.insert(id, row.command);
            }
        }
        self.desk = Desk::new(before, queue, now_ms);
    }

    pub(super) fn is_over(&self) -> bool {
        self.over.is_some()
    }

    /// Shows bytes on the screen and nothing else.
    pub(super) fn see(&mut self, bytes: &[u8]) {
        let screen = &mut self.screen;
        self.scanner.feed(bytes, &mut |piece| {
            if let Piece::Bytes(bytes) = piece {
                screen.feed(bytes);
            }
        });
    }

    /// Lives through what was recorded next.
    pub(super) async fn live_through(&mut self, bytes: &[u8]) {
        // So that a mark's offset is known, and what follows it comes after it.
        for slice in bytes.split_inclusive(|byte| may_end_mark(*byte)) {
            let mut mark = None;
            let Life {
                scanner,
                screen,
                telling,
                current,
                ..
            } = self;
            scanner.feed(slice, &mut |piece| match piece {
                Piece::Bytes(bytes) => {
                    screen.feed(bytes);
                    if let Some(current) = current.as_mut() {
                        current.printed.feed(bytes);
                    }
                    // The shell's prompt and the line itself come before the beginning.
                    let begun = current.as_ref().filter(|it| it.began_us.is_some());
                    telling.feed(begun.map(|it| it.id), bytes);
                }
                Piece::Mark(said) => mark = Some(said),
            });
            self.reached += slice.len() as u64;
            if let Some(mark) = mark {
                self.mark(mark).await;
            }
        }
    }

    /// Some of the recording is missing.
    pub(super) async fn skip(&mut self, bytes: u64) {
        self.reached += bytes;
        self.scanner = Scanner::new(&self.row.key);
        self.telling.skip(bytes);
        self.act(Event::Skipped).await;
    }

    /// What was recorded so far was lived through.
    pub(super) async fn go_live(&mut self) {
        let handed = self.handed();
        self.act(Event::Live(handed)).await;
    }

    pub(super) async fn tick(&mut self) {
        let now_ms = self.now_ms();
        if self.desk.due_ms().is_some_and(|due_ms| due_ms <= now_ms) {
            self.act(Event::Tick).await;
        }
    }

    /// The terminal is gone, for this reason.
    pub(super) async fn gone(&mut self, reason: Option<String>) {
        if let Some((_, why)) = &mut self.over {
            *why = why.take().or(reason);
            return;
        }
        self.act(Event::Gone).await;
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

    pub(super) fn attached(&mut self, count: u32) {
        self.view.send_modify(|seen| seen.attached = count);
    }

    pub(super) async fn queue(&mut self, row: CommandRow) {
        let job = job(&row);
        // One that was asked for again is known, or has ended.
        if row.command.state != CommandState::Queued || self.known.contains_key(&job.id) {
            return;
        }
        self.known.insert(job.id, row.command);
        self.act(Event::Queued(job)).await;
    }

    /// Commands of hob's that have not ended: this one, or all.
    pub(super) fn unended(&self, id: Option<CommandId>) -> Vec<CommandId> {
        let all = self.known.keys().copied();
        all.filter(|known| id.is_none_or(|id| id == *known))
            .collect()
    }

    /// Whether the end of a command is still to be told.
    pub(super) fn is_unended(&self, id: CommandId) -> bool {
        let is_line = self.line.as_ref().is_some_and(|(line, _)| line.id == id);
        is_line || self.known.contains_key(&id) || self.notebook.is_ending(id)
    }

    /// A command that has not ended, with what it printed so far.
    pub(super) fn look(&self, id: CommandId) -> Option<TerminalCommand> {
        let line = self.line.as_ref().map(|(line, _)| line);
        let line = line.filter(|line| line.id == id);
        let mut command = self.known.get(&id).or(line)?.clone();
        let begun = |it: &&Current| it.id == id && it.began_us.is_some();
        if let Some(current) = self.current.as_ref().filter(begun) {
            let (text, truncated) = current.printed.text();
            command.output = Some(text);
            command.truncated = truncated;
            command.output_bytes = current.printed.bytes();
        }
        Some(command)
    }

    /// When something is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let now_ms = self.now_ms();
        let desk = self
            .desk
            .due_ms()
            .map(|due_ms| Instant::now() + Duration::from_millis(due_ms.saturating_sub(now_ms)));
        let others = [self.notebook.due(), self.telling.due()];
        others.into_iter().chain([desk]).flatten().min()
    }

    /// Shows what changed, and has it written and told.
    pub(super) fn settle(&mut self) {
        let status = self.status();
        self.view.send_if_modified(|seen| {
            let is_new = *seen != status;
            seen.clone_from(&status);
            is_new
        });
        self.notebook.status(status, self.over.is_some());
        let now = Instant::now();
        self.notebook.begin(now);
        self.telling.tell(now);
    }

    fn status(&self) -> Terminal {
        let mut status = self.view.borrow().clone();
        status.state = match (&self.over, self.desk.waited()) {
            (Some((Over::Closed | Over::Left { .. }, _)), _) => TerminalState::Closed,
            (Some(_), _) | (None, Waited::Over) => TerminalState::Lost,
            (None, Waited::Starting) => TerminalState::Starting,
            (None, Waited::Prompt) => TerminalState::Idle,
            (None, Waited::Running) => TerminalState::Busy,
        };
        if let Some((over, reason)) = &self.over {
            status.detail = words::over(*over, &self.row.shell, reason.as_deref());
        }
        status.folder.clone_from(&self.row.folder);
        status.queued = u32::try_from(self.desk.queued()).unwrap_or(u32::MAX);
        let line = self.line.as_ref().map(|(line, _)| line.id);
        status.running = self.desk.running().or(line);
        if self.control.is_none() || self.over.is_some() {
            status.pid = None;
        }
        status
    }

    async fn mark(&mut self, mark: Mark) {
        match mark {
            Mark::Began { id, at_us } => {
                let wall_ms = self.shared.parts.clock.wall_ms();
                let at_us = at_us.unwrap_or_else(|| wall_ms.saturating_mul(1_000));
                let ago_ms = wall_ms.saturating_sub(at_us / 1_000);
                let said = Said {
                    id,
                    at_us: Some(at_us),
                    typed: None,
                };
                let event = Event::Began {
                    id: &said.id,
                    ago_ms,
                };
                self.act_on(event, &said).await;
            }
            Mark::Ended {
                id,
                status,
                at_us,
                typed,
            } => {
                let said = Said { id, at_us, typed };
                let event = Event::Ended {
                    id: &said.id,
                    status,
                };
                self.act_on(event, &said).await;
            }
            Mark::Prompt { folder } => {
                self.act(Event::Prompt).await;
                if folder.is_some() && folder != self.row.folder {
                    self.row.folder = folder;
                }
                // In the middle of a command its output would be lost to another life.
                if self.current.is_none() {
                    self.notebook.reached(self.reached);
                }
            }
            Mark::Taken { id } => {
                let known = id.parse().ok().filter(|id| self.known.contains_key(id));
                if let Some(known) = known {
                    self.current = Some(self.printing(known, None));
                }
                self.act(Event::Taken { id: &id }).await;
            }
            Mark::Incomplete => self.act(Event::Incomplete).await,
            Mark::Left { status } => self.act(Event::Left { status }).await,
        }
    }

    pub(super) async fn act(&mut self, event: Event<'_>) {
        self.act_on(event, &Said::default()).await;
    }

    /// Tells the desk, and does what it says.
    async fn act_on(&mut self, event: Event<'_>, said: &Said) {
        let now_ms = self.now_ms();
        let mut effects = std::mem::take(&mut self.effects);
        self.desk.step(event, now_ms, &mut effects);
        for effect in effects.drain(..) {
            self.carry_out(effect, said).await;
        }
        self.effects = effects;
    }

    fn now_ms(&self) -> u64 {
        self.shared.parts.clock.monotonic_ms()
    }
}

fn job(row: &CommandRow) -> Job {
    Job {
        id: row.command.id,
        number: row.number,
        chain: row.chain,
        timeout_ms: row.timeout_ms.filter(|_| !failpoint::broken(60)),
    }
}
