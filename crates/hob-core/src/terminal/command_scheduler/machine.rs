//! The machine of one terminal: its state, and the handling of marks.

use super::command_end::{is_command, is_person_line, push_end};
use super::termination::{Termination, TerminationCause};
use super::types::{
    CommandEnd, CommandEndReason, CommandOwner, HandedOverCommand, QueuedCommand, ResumePoint,
    SchedulerEffect, SchedulerEvent, TerminalActivity, TerminalEnd,
};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;
use std::collections::VecDeque;

/// A shell without a mark for this long has no hooks.
const SILENT_MS_MAX: u64 = 10_000;
/// The time between two nudges of a shell that does not take a command.
pub(super) const NUDGE_MS: u64 = 1_000;
/// The longest time a shell at its prompt may leave a command untaken.
const UNTAKEN_MS_MAX: u64 = 30_000;
/// The longest time between taking a command and its begin.
const UNBEGUN_MS_MAX: u64 = 10_000;
/// A withdrawn command may have been taken just before; the shell reports it within this time.
pub(super) const WITHDRAWN_MS: u64 = 250;

/// The state of the shell, as reported by its marks.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum ShellState {
    /// No mark yet; the first must come by this time.
    Starting {
        until_ms: u64,
    },
    /// A command ended, and the prompt is not there yet.
    BetweenCommands,
    Prompt,
    /// The person types a line that needs another one.
    ContinuationLine,
    /// A line of the person runs, or an unknown command, by the shell's id.
    PersonLine(String),
    /// The shell has a command of hob.
    HobCommand,
    Ended,
}

/// The command that was handed to the shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct CurrentCommand {
    pub(super) command: QueuedCommand,
    pub(super) stage: CommandStage,
    pub(super) termination: Option<Termination>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CommandStage {
    /// The command is offered. At its prompt, the shell is told so repeatedly.
    Offered {
        nudge_ms: u64,
        until_ms: u64,
        /// An earlier daemon process handed it over, and it is no longer there.
        is_doubtful: bool,
    },
    /// The command was withdrawn.
    Withdrawn {
        until_ms: u64,
    },
    /// The shell took it and it has not begun; after this time it is terminated for this cause.
    Taken {
        until_ms: u64,
        cause: TerminationCause,
    },
    Running {
        deadline_ms: Option<u64>,
    },
}

impl CurrentCommand {
    pub(super) fn has_begun(&self) -> bool {
        matches!(self.stage, CommandStage::Running { .. })
    }

    fn is_offered(&self) -> bool {
        matches!(self.stage, CommandStage::Offered { .. })
    }
}

/// The command scheduler of one terminal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CommandScheduler {
    pub(super) shell: ShellState,
    /// In the order of the record.
    pub(super) queue: VecDeque<QueuedCommand>,
    pub(super) current: Option<CurrentCommand>,
    /// True after the recording was replayed; nothing is typed before.
    pub(super) is_live: bool,
    /// A part of the recording since the last begin is missing.
    has_gap: bool,
}

impl CommandScheduler {
    /// Creates a scheduler that replays a recording from a known point.
    pub fn new(before: ResumePoint, queue: Vec<QueuedCommand>, now_ms: u64) -> CommandScheduler {
        let mut current = None;
        let shell = match before {
            ResumePoint::Starting => ShellState::Starting {
                until_ms: now_ms.saturating_add(SILENT_MS_MAX),
            },
            ResumePoint::Prompt => ShellState::Prompt,
            ResumePoint::PersonLine(id) => ShellState::PersonLine(id),
            ResumePoint::HobCommand { command, ago_ms } => {
                current = Some(CurrentCommand {
                    command,
                    stage: running(command, ago_ms, now_ms),
                    termination: None,
                });
                ShellState::HobCommand
            }
        };
        CommandScheduler {
            shell,
            queue: queue.into(),
            current,
            is_live: false,
            has_gap: false,
        }
    }

    /// Handles an event and appends effects, in the order to perform them.
    pub fn step(&mut self, event: SchedulerEvent<'_>, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        if self.shell == ShellState::Ended {
            // A request may still arrive after the terminal ended.
            if let SchedulerEvent::Queued(command) = event {
                let end = CommandEnd::new(CommandState::Lost, None, Some(CommandEndReason::Gone));
                push_end(command, end, out);
            }
            return;
        }
        match event {
            SchedulerEvent::Queued(command) => self.enqueue(command),
            SchedulerEvent::Began { id, ago_ms } => self.on_began(id, ago_ms, now_ms, out),
            SchedulerEvent::Ended { id, status } => self.on_ended(id, status, out),
            SchedulerEvent::Prompt => self.on_prompt(now_ms, out),
            SchedulerEvent::Taken { id } => self.on_taken(id, now_ms, out),
            SchedulerEvent::Incomplete => self.on_incomplete(now_ms, out),
            SchedulerEvent::ShellLeft { status } => {
                self.end_terminal(TerminalEnd::ShellLeft { status }, out);
            }
            SchedulerEvent::RecordingGap => self.has_gap = true,
            SchedulerEvent::CaughtUp(handed) => self.on_caught_up(handed, now_ms, out),
            SchedulerEvent::Cancel(which) => self.cancel(which, now_ms, out),
            SchedulerEvent::Close => self.end_terminal(TerminalEnd::Closed, out),
            SchedulerEvent::TerminalGone => self.end_terminal(TerminalEnd::Gone, out),
            SchedulerEvent::Tick => self.on_tick(now_ms, out),
        }
        // Any event may have freed the shell.
        self.hand_over(now_ms, out);
    }

    /// Returns the time at which time alone changes something.
    pub fn due_ms(&self) -> Option<u64> {
        if let ShellState::Starting { until_ms } = self.shell {
            return Some(until_ms);
        }
        // Nothing is typed before the replay has ended, so no time matters until then.
        let current = self.current.as_ref().filter(|_| self.is_live)?;
        if let Some(termination) = current.termination {
            return Some(termination.due_ms);
        }
        match current.stage {
            CommandStage::Offered { nudge_ms, .. } => {
                // Away from its prompt the shell takes no command, and its next prompt is an event
                // of its own.
                (self.shell == ShellState::Prompt).then_some(nudge_ms)
            }
            CommandStage::Withdrawn { until_ms } | CommandStage::Taken { until_ms, .. } => {
                Some(until_ms)
            }
            CommandStage::Running { deadline_ms } => deadline_ms,
        }
    }

    /// Returns the number of waiting commands.
    pub fn queued(&self) -> usize {
        let waits = self.current.is_some_and(|current| !current.has_begun());
        self.queue.len() + usize::from(waits)
    }

    pub fn activity(&self) -> TerminalActivity {
        match (&self.shell, self.current) {
            (ShellState::Starting { .. }, _) => TerminalActivity::Starting,
            (ShellState::Ended, _) => TerminalActivity::Ended,
            (ShellState::PersonLine(_), _) => TerminalActivity::Running,
            (_, Some(current)) if current.has_begun() => TerminalActivity::Running,
            _ => TerminalActivity::Prompt,
        }
    }

    /// Returns the running command of hob.
    pub fn running(&self) -> Option<CommandId> {
        self.current
            .filter(CurrentCommand::has_begun)
            .map(|current| current.command.id)
    }

    /// Returns true if hob's command of this id waits or runs.
    pub fn has_command(&self, id: CommandId) -> bool {
        let is_current = self.current.is_some_and(|current| current.command.id == id);
        is_current || self.queue.iter().any(|command| command.id == id)
    }

    /// Inserts in the order of the record, not of arrival.
    fn enqueue(&mut self, command: QueuedCommand) {
        // Two requests may be stored in one order and arrive here in the other.
        let later = self.queue.iter().rev();
        let later = later.take_while(|other| other.number > command.number);
        let place = self.queue.len() - later.count();
        self.queue.insert(place, command);
    }

    fn hand_over(&mut self, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        if !self.is_live || self.shell != ShellState::Prompt || self.current.is_some() {
            return;
        }
        if let Some(command) = self.queue.pop_front() {
            out.push(SchedulerEffect::HandOver(command.id));
            self.current = Some(offered(command, now_ms.saturating_add(NUDGE_MS), now_ms));
        }
    }

    /// Handles a mark of a queued command: an earlier daemon process handed it over.
    fn adopt_queued(&mut self, id: &str, now_ms: u64) {
        if self.current.is_some() {
            return;
        }
        let place = self
            .queue
            .iter()
            .position(|command| is_command(command.id, id));
        if let Some(command) = place.and_then(|place| self.queue.remove(place)) {
            self.current = Some(offered(command, now_ms, now_ms));
        }
    }

    fn on_began(&mut self, id: &str, ago_ms: u64, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        self.adopt_queued(id, now_ms);
        let is_ours = self
            .current
            .is_some_and(|current| is_command(current.command.id, id));
        let is_known = matches!(&self.shell, ShellState::PersonLine(known) if known == id);
        // A mark that was handled before the replay.
        if is_known || self.running().is_some() {
            return;
        }
        // An earlier gap cannot hide the end of a command that begins now.
        self.has_gap = false;
        self.end_lost_line(out);
        if let Some(current) = self.current.as_mut().filter(|_| is_ours) {
            let is_unwanted = matches!(current.stage, CommandStage::Withdrawn { .. });
            current.stage = running(current.command, ago_ms, now_ms);
            out.push(SchedulerEffect::Began(CommandOwner::Hob(
                current.command.id,
            )));
            if is_unwanted {
                current.termination =
                    Some(Termination::begin(TerminationCause::Cancelled, now_ms, out));
            }
            self.shell = ShellState::HobCommand;
            return;
        }
        let taken = |current: &CurrentCommand| matches!(current.stage, CommandStage::Taken { .. });
        if let Some(current) = self.current.filter(taken) {
            // The shell dropped the taken command; otherwise nothing else could begin.
            self.end_current(current, None, out);
        }
        if is_person_line(id) {
            out.push(SchedulerEffect::Began(CommandOwner::Person));
        }
        self.shell = ShellState::PersonLine(id.to_owned());
    }

    /// Ends the person's line without its end mark, because something else begins.
    fn end_lost_line(&mut self, out: &mut Vec<SchedulerEffect>) {
        if matches!(&self.shell, ShellState::PersonLine(id) if is_person_line(id)) {
            let end = CommandEnd::new(
                CommandState::Lost,
                None,
                Some(CommandEndReason::EndNotRecorded),
            );
            out.push(SchedulerEffect::Ended(CommandOwner::Person, end));
            self.shell = ShellState::BetweenCommands;
        }
    }

    fn on_ended(&mut self, id: &str, status: i32, out: &mut Vec<SchedulerEffect>) {
        // Its times do not matter: it ends at once.
        self.adopt_queued(id, 0);
        if let Some(current) = self
            .current
            .filter(|current| is_command(current.command.id, id))
        {
            self.end_lost_line(out);
            self.shell = ShellState::BetweenCommands;
            self.end_current(current, Some(status), out);
        } else if matches!(&self.shell, ShellState::PersonLine(known) if known == id) {
            self.shell = ShellState::BetweenCommands;
            if is_person_line(id) {
                let end = CommandEnd::new(CommandState::Done, Some(status), None);
                out.push(SchedulerEffect::Ended(CommandOwner::Person, end));
            }
        }
    }

    fn on_prompt(&mut self, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        match (&self.shell, self.current) {
            // A nested shell may show our prompt; only a gap can have hidden an end.
            (ShellState::PersonLine(_), _) if !self.has_gap => return,
            (ShellState::PersonLine(_), _) => self.end_lost_line(out),
            (ShellState::HobCommand, Some(current)) => match current.stage {
                // The interrupt worked: the shell dropped the line and shows its prompt again.
                CommandStage::Taken { .. } if current.termination.is_some() => {
                    self.end_current(current, None, out);
                }
                // The mark of its end is in the missing part of the recording.
                CommandStage::Running { .. } if self.has_gap => {
                    self.end_current(current, None, out);
                }
                // Taking a command may show the prompt once more.
                _ => return,
            },
            (ShellState::Prompt | ShellState::Ended, _) => return,
            (
                ShellState::Starting { .. }
                | ShellState::BetweenCommands
                | ShellState::ContinuationLine
                | ShellState::HobCommand,
                _,
            ) => {}
        }
        self.shell = ShellState::Prompt;
        if let Some(current) = self.current.as_mut().filter(|current| current.is_offered()) {
            // The person was faster; the command is still offered.
            current.stage = offered(current.command, now_ms.saturating_add(NUDGE_MS), now_ms).stage;
            if self.is_live {
                out.push(SchedulerEffect::Nudge);
            }
        }
    }

    fn on_taken(&mut self, id: &str, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        self.adopt_queued(id, now_ms);
        let Some(mut current) = self
            .current
            .filter(|current| is_command(current.command.id, id))
        else {
            return;
        };
        let is_unwanted = matches!(current.stage, CommandStage::Withdrawn { .. });
        // The mark was handled before the replay.
        if !is_unwanted && !current.is_offered() {
            return;
        }
        self.end_lost_line(out);
        current.stage = CommandStage::Taken {
            until_ms: now_ms.saturating_add(UNBEGUN_MS_MAX),
            cause: TerminationCause::NeverBegan,
        };
        if is_unwanted {
            current.termination =
                Some(Termination::begin(TerminationCause::Cancelled, now_ms, out));
        }
        self.current = Some(current);
        self.shell = ShellState::HobCommand;
    }

    fn on_incomplete(&mut self, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        match &mut self.current {
            Some(current) if matches!(current.stage, CommandStage::Taken { .. }) => {
                if current.termination.is_none() {
                    current.stage = CommandStage::Taken {
                        until_ms: now_ms,
                        cause: TerminationCause::Incomplete,
                    };
                    // Its time is over at once, so this begins the termination. In a replay it
                    // begins when that ends.
                    self.on_tick(now_ms, out);
                }
            }
            _ => {
                if matches!(self.shell, ShellState::Prompt | ShellState::BetweenCommands) {
                    self.shell = ShellState::ContinuationLine;
                }
            }
        }
    }

    fn on_caught_up(
        &mut self,
        handed: Option<HandedOverCommand>,
        now_ms: u64,
        out: &mut Vec<SchedulerEffect>,
    ) {
        self.is_live = true;
        // The recording may hold its end already, and then there is nothing to resume.
        let Some(handed) = handed.filter(|handed| self.has_command(handed.id)) else {
            return self.on_tick(now_ms, out);
        };
        self.adopt_queued(&handed.id.to_string(), now_ms);
        let is_prompt = self.shell == ShellState::Prompt;
        if let Some(current) = self.current.as_mut().filter(|current| current.is_offered()) {
            current.stage = CommandStage::Offered {
                nudge_ms: now_ms.saturating_add(NUDGE_MS),
                until_ms: now_ms.saturating_add(UNTAKEN_MS_MAX),
                is_doubtful: !handed.is_there,
            };
            if handed.is_there && is_prompt {
                out.push(SchedulerEffect::Nudge);
            }
        }
        self.on_tick(now_ms, out);
    }
}

fn offered(command: QueuedCommand, nudge_ms: u64, now_ms: u64) -> CurrentCommand {
    CurrentCommand {
        command,
        stage: CommandStage::Offered {
            nudge_ms,
            until_ms: now_ms.saturating_add(UNTAKEN_MS_MAX),
            is_doubtful: false,
        },
        termination: None,
    }
}

fn running(command: QueuedCommand, ago_ms: u64, now_ms: u64) -> CommandStage {
    // The time it ran before a restart counts too.
    let left_ms = |timeout_ms: u64| now_ms.saturating_add(timeout_ms.saturating_sub(ago_ms));
    CommandStage::Running {
        deadline_ms: command.timeout_ms.map(left_ms),
    }
}
