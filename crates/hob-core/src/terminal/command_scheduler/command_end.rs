//! Cancellation, timeouts, and the ends of commands.

use super::machine::{
    CommandScheduler, CommandStage, CurrentCommand, NUDGE_MS, ShellState, WITHDRAWN_MS,
};
use super::termination::{Termination, TerminationCause};
use super::types::{
    CommandEnd, CommandEndReason, CommandOwner, QueuedCommand, SchedulerEffect, TerminalEnd,
};
use hob_wire::id::CommandId;
use hob_wire::terminal::CommandState;

impl CommandScheduler {
    /// Ends one command of hob, or all of them. The command in the shell is touched only after the
    /// recording was replayed.
    pub(super) fn cancel(
        &mut self,
        which: Option<CommandId>,
        now_ms: u64,
        out: &mut Vec<SchedulerEffect>,
    ) {
        let is_meant = |id: CommandId| which.is_none_or(|wanted| wanted == id);
        if self.is_live
            && let Some(current) = &mut self.current
            && is_meant(current.command.id)
            && current.termination.is_none()
        {
            match current.stage {
                CommandStage::Offered { .. } => {
                    // The shell may take it at this very moment, so its end is decided only after a
                    // while.
                    out.push(SchedulerEffect::Withdraw);
                    let until_ms = now_ms.saturating_add(WITHDRAWN_MS);
                    current.stage = CommandStage::Withdrawn { until_ms };
                }
                // It ends by itself in a moment.
                CommandStage::Withdrawn { .. } => {}
                CommandStage::Taken { .. } | CommandStage::Running { .. } => {
                    current.termination =
                        Some(Termination::begin(TerminationCause::Cancelled, now_ms, out));
                }
            }
        }
        let dropped = CommandEnd::new(
            CommandState::Cancelled,
            None,
            Some(CommandEndReason::Dropped),
        );
        // Not `retain`, because dropping a chain removes other commands of the queue.
        while let Some(place) = self.queue.iter().position(|command| is_meant(command.id)) {
            if let Some(command) = self.queue.remove(place) {
                push_end(command, dropped, out);
                self.drop_chain(command, out);
            }
        }
    }

    pub(super) fn on_tick(&mut self, now_ms: u64, out: &mut Vec<SchedulerEffect>) {
        if let ShellState::Starting { until_ms } = self.shell {
            if now_ms >= until_ms {
                self.end_terminal(TerminalEnd::NoMarks, out);
            }
            return;
        }
        if !self.is_live {
            return;
        }
        let is_prompt = self.shell == ShellState::Prompt;
        let Some(current) = &mut self.current else {
            return;
        };
        if let Some(termination) = &mut current.termination {
            if !termination.advance(now_ms, out) {
                self.end_terminal(TerminalEnd::Unkillable, out);
            }
            return;
        }
        match &mut current.stage {
            CommandStage::Offered {
                nudge_ms,
                until_ms,
                is_doubtful,
            } => {
                if !is_prompt || now_ms < *nudge_ms {
                    return;
                }
                if now_ms < *until_ms {
                    *nudge_ms = now_ms.saturating_add(NUDGE_MS);
                    // Nothing is on offer any more, so a nudge would be pointless.
                    if !*is_doubtful {
                        out.push(SchedulerEffect::Nudge);
                    }
                    return;
                }
                let reason = if *is_doubtful {
                    CommandEndReason::MayHaveRun
                } else {
                    CommandEndReason::Untaken
                };
                let command = current.command;
                // Withdrawn before its end is reported, so it cannot run afterwards.
                out.push(SchedulerEffect::Withdraw);
                self.end_untaken(command, CommandState::Lost, reason, out);
            }
            CommandStage::Withdrawn { until_ms } => {
                if now_ms >= *until_ms {
                    let command = current.command;
                    let reason = CommandEndReason::Dropped;
                    self.end_untaken(command, CommandState::Cancelled, reason, out);
                }
            }
            CommandStage::Taken { until_ms, cause } => {
                if now_ms >= *until_ms {
                    current.termination = Some(Termination::begin(*cause, now_ms, out));
                }
            }
            CommandStage::Running { deadline_ms } => {
                if deadline_ms.is_some_and(|deadline_ms| now_ms >= deadline_ms) {
                    current.termination =
                        Some(Termination::begin(TerminationCause::Deadline, now_ms, out));
                }
            }
        }
    }

    /// Ends the current command, which the shell did not take, and drops those that depend on it.
    fn end_untaken(
        &mut self,
        command: QueuedCommand,
        state: CommandState,
        reason: CommandEndReason,
        out: &mut Vec<SchedulerEffect>,
    ) {
        self.current = None;
        push_end(command, CommandEnd::new(state, None, Some(reason)), out);
        self.drop_chain(command, out);
    }

    /// Ends the current command, with this status if the shell reported one.
    pub(super) fn end_current(
        &mut self,
        current: CurrentCommand,
        status: Option<i32>,
        out: &mut Vec<SchedulerEffect>,
    ) {
        self.current = None;
        let end = match (
            current.termination.map(|termination| termination.cause),
            status,
        ) {
            (Some(TerminationCause::Cancelled), Some(_)) => {
                CommandEnd::new(CommandState::Cancelled, status, None)
            }
            (Some(TerminationCause::Cancelled), None) => CommandEnd::new(
                CommandState::Cancelled,
                None,
                Some(CommandEndReason::Dropped),
            ),
            (Some(TerminationCause::Deadline), _) => {
                CommandEnd::new(CommandState::Timeout, status, None)
            }
            (Some(TerminationCause::Incomplete), _) => {
                let exit_code = Some(INCOMPLETE_EXIT_CODE);
                CommandEnd::new(
                    CommandState::Done,
                    exit_code,
                    Some(CommandEndReason::Incomplete),
                )
            }
            (None, Some(_)) => CommandEnd::new(CommandState::Done, status, None),
            (None, None) if current.has_begun() => CommandEnd::new(
                CommandState::Lost,
                None,
                Some(CommandEndReason::EndNotRecorded),
            ),
            (Some(TerminationCause::NeverBegan), _) | (None, None) => {
                CommandEnd::new(CommandState::Lost, None, Some(CommandEndReason::NeverBegan))
            }
        };
        push_end(current.command, end, out);
        // Anything but a clean success ends the commands that depend on it.
        if end != CommandEnd::new(CommandState::Done, Some(0), None) {
            self.drop_chain(current.command, out);
        }
    }

    /// Drops the rest of a chain after one command failed.
    pub(super) fn drop_chain(&mut self, failed: QueuedCommand, out: &mut Vec<SchedulerEffect>) {
        if failed.chain.is_none() {
            return;
        }
        let dropped = CommandEnd::new(
            CommandState::Cancelled,
            None,
            Some(CommandEndReason::ChainFailed),
        );
        self.queue.retain(|command| {
            let goes = command.chain == failed.chain;
            if goes {
                push_end(*command, dropped, out);
            }
            !goes
        });
    }

    /// Ends the terminal with all its commands.
    pub(super) fn end_terminal(
        &mut self,
        terminal_end: TerminalEnd,
        out: &mut Vec<SchedulerEffect>,
    ) {
        if let Some(current) = self.current.take() {
            push_end(
                current.command,
                end_with_terminal(current, terminal_end),
                out,
            );
        }
        let queued = match terminal_end {
            TerminalEnd::Closed => CommandEnd::new(
                CommandState::Cancelled,
                None,
                Some(CommandEndReason::Closed),
            ),
            _ => CommandEnd::new(CommandState::Lost, None, Some(CommandEndReason::Gone)),
        };
        for command in self.queue.drain(..) {
            push_end(command, queued, out);
        }
        if matches!(&self.shell, ShellState::PersonLine(id) if is_person_line(id)) {
            let (state, exit_code, reason) = match terminal_end {
                TerminalEnd::ShellLeft { status } => (
                    CommandState::Done,
                    Some(status),
                    CommandEndReason::LeftShell,
                ),
                TerminalEnd::Closed => (CommandState::Lost, None, CommandEndReason::Closed),
                _ => (CommandState::Lost, None, CommandEndReason::Gone),
            };
            let end = CommandEnd::new(state, exit_code, Some(reason));
            out.push(SchedulerEffect::Ended(CommandOwner::Person, end));
        }
        self.shell = ShellState::Ended;
        out.push(SchedulerEffect::TerminalEnded(terminal_end));
    }
}

/// The exit code of shells for a syntax error.
const INCOMPLETE_EXIT_CODE: i32 = 2;

/// Returns the end of the current command when its terminal ends.
fn end_with_terminal(current: CurrentCommand, terminal_end: TerminalEnd) -> CommandEnd {
    let cause = current.termination.map(|termination| termination.cause);
    let wanted = match cause {
        Some(TerminationCause::Cancelled) => Some(CommandState::Cancelled),
        Some(TerminationCause::Deadline) => Some(CommandState::Timeout),
        Some(TerminationCause::Incomplete | TerminationCause::NeverBegan) | None => None,
    };
    match terminal_end {
        // The command ended the shell, as `exit` does, so the shell's status is its own.
        TerminalEnd::ShellLeft { status } if current.has_begun() => {
            let state = wanted.unwrap_or(CommandState::Done);
            CommandEnd::new(state, Some(status), Some(CommandEndReason::LeftShell))
        }
        TerminalEnd::Unkillable => {
            let state = wanted.unwrap_or(CommandState::Lost);
            CommandEnd::new(state, None, Some(CommandEndReason::Unkillable))
        }
        TerminalEnd::Closed if !current.has_begun() => CommandEnd::new(
            CommandState::Cancelled,
            None,
            Some(CommandEndReason::Closed),
        ),
        TerminalEnd::Closed => CommandEnd::new(
            wanted.unwrap_or(CommandState::Lost),
            None,
            Some(CommandEndReason::Closed),
        ),
        _ => CommandEnd::new(
            wanted.unwrap_or(CommandState::Lost),
            None,
            Some(CommandEndReason::Gone),
        ),
    }
}

pub(super) fn push_end(command: QueuedCommand, end: CommandEnd, out: &mut Vec<SchedulerEffect>) {
    out.push(SchedulerEffect::Ended(CommandOwner::Hob(command.id), end));
}

/// Returns true if the shell's id names this command.
pub(super) fn is_command(id: CommandId, name: &str) -> bool {
    name.parse() == Ok(id)
}

/// Returns true if the shell's id names a line that a person typed.
pub(super) fn is_person_line(id: &str) -> bool {
    id.starts_with('p')
}
