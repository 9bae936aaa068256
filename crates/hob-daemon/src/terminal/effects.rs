//! The effects of the scheduler: handing commands over, interrupting them, and storing their
//! starts and ends.

use super::messages;
use super::session::{MarkFields, RunningCommand, TerminalSession};
use hob_core::terminal::command_output::CommandOutput;
use hob_core::terminal::command_scheduler::{
    CommandEnd, CommandOwner, HandedOverCommand, SchedulerEffect, line_id,
};
use hob_exec::tmux::foreground::{self, Foreground};
use hob_exec::tmux::shells::CommandHandoff;
use hob_store::CommandWrite;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{CommandOrigin, CommandState, TerminalCommand};
use std::io;

/// Bytes kept of a command's output, from its head and its tail.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

impl TerminalSession {
    pub(super) async fn apply_effect(&mut self, effect: SchedulerEffect, mark: &MarkFields) {
        match effect {
            SchedulerEffect::HandOver(id) => {
                // A line that the shell cannot parse never begins: its error message comes now.
                self.current = Some(self.start_capture(id, None));
                // The scheduler gives up a command that the shell does not take in time.
                if let Err(error) = self.hand_over(id) {
                    let terminal = &self.row.name;
                    tracing::warn!(terminal, "a command was not handed over: {error}");
                }
                self.nudge().await;
            }
            SchedulerEffect::Nudge => {
                // The key is typed again only while the file still holds the command. Typed later, it
                // would reach the program that runs by then.
                let untaken = self.handoff.as_ref().map(CommandHandoff::untaken);
                if matches!(untaken, Some(Ok(Some(_)))) {
                    self.nudge().await;
                }
            }
            SchedulerEffect::Withdraw => {
                if let Err(error) = self
                    .handoff
                    .as_ref()
                    .map_or(Ok(()), CommandHandoff::withdraw)
                {
                    let terminal = &self.row.name;
                    tracing::warn!(terminal, "a command was not taken back: {error}");
                }
            }
            SchedulerEffect::Interrupt => self.press_interrupt(),
            SchedulerEffect::Terminate => self.signal_foreground(foreground::Signal::TERM),
            SchedulerEffect::Kill => self.signal_foreground(foreground::Signal::KILL),
            SchedulerEffect::Began(CommandOwner::Hob(id)) => self.record_start(id, mark),
            SchedulerEffect::Began(CommandOwner::Person) => self.record_line_start(mark),
            SchedulerEffect::Ended(CommandOwner::Hob(id), end) => self.record_end(id, end, mark),
            SchedulerEffect::Ended(CommandOwner::Person, end) => self.record_line_end(end, mark),
            SchedulerEffect::TerminalEnded(over) => {
                tracing::info!(terminal = self.row.name, ?over, "a terminal is over");
                self.over = Some((over, None));
            }
        }
    }
}

impl TerminalSession {
    fn hand_over(&mut self, id: CommandId) -> io::Result<()> {
        let command = self
            .open_commands
            .get(&id)
            .and_then(|it| it.command.as_deref());
        let command = command.unwrap_or_default();
        match &self.handoff {
            Some(hand) => hand.hand_over(&id.to_string(), command),
            None => Err(io::Error::other("its folder is gone")),
        }
    }

    /// Returns the command that the previous daemon handed over last.
    pub(super) fn last_handed_over(&self) -> Option<HandedOverCommand> {
        let hand = self.handoff.as_ref()?;
        let given = hand.given()?;
        Some(HandedOverCommand {
            id: given.parse().ok()?,
            is_there: hand.untaken().ok()? == Some(given),
        })
    }

    async fn nudge(&mut self) {
        let Some(control) = &self.control else {
            return;
        };
        let nudged = if self.shell.has_hooks() {
            control.nudge().await
        } else {
            control.type_take_line().await
        };
        if let Err(error) = nudged {
            // The scheduler nudges again; if tmux is gone, a notice says so.
            tracing::debug!(terminal = self.row.name, "not nudged: {error}");
        }
        // Lets the connection's task send the key before this task goes on.
        tokio::task::yield_now().await;
    }

    /// Types control-C, without waiting for tmux.
    fn press_interrupt(&mut self) {
        if let Some(control) = self.control.clone() {
            let foreground = foreground::foreground_of(control.session().shell_pid);
            // Remembered, because the group may leave the foreground before its leftovers are
            // killed.
            if let Ok(Foreground::Group(group)) = foreground {
                self.interrupted = Some(group);
            }
            let tasks = &self.context.deps.tasks;
            tasks.spawn_until_stop("terminal key", async move {
                // A failure does not matter: the scheduler kills what still runs.
                let _ = control.press_keys(&["C-c".to_owned()]).await;
            });
        }
    }

    /// Kills processes that an interrupted command left in its group.
    fn kill_leftovers(&mut self) {
        if let (Some(group), Some(control)) = (self.interrupted.take(), &self.control)
            && let Err(error) = foreground::kill_group(control.session().shell_pid, group)
        {
            tracing::debug!(terminal = self.row.name, "not swept: {error}");
        }
    }

    /// Signals the foreground process group. If that is the shell itself, control-C is typed instead:
    /// the shell's own group is never signalled.
    fn signal_foreground(&mut self, signal: foreground::Signal) {
        let Some(control) = &self.control else {
            return;
        };
        match foreground::signal_foreground(control.session().shell_pid, signal) {
            Ok(true) => {}
            Ok(false) => self.press_interrupt(),
            Err(error) => tracing::debug!(terminal = self.row.name, "not signalled: {error}"),
        }
    }

    /// Starts to capture the output of a command.
    pub(super) fn start_capture(&self, id: CommandId, began_us: Option<u64>) -> RunningCommand {
        let (columns, _) = self.screen.size();
        RunningCommand {
            id,
            from: self.applied_offset,
            printed: CommandOutput::new(columns, OUTPUT_BYTES_MAX),
            began_us,
        }
    }

    /// Returns the offset from which the next daemon reads the recording. What the current command
    /// printed is read again, because its output is stored only at its end.
    fn restart_offset(&self) -> u64 {
        let current = self.current.as_ref();
        current.map_or(self.applied_offset, |current| current.from)
    }

    fn record_start(&mut self, id: CommandId, mark: &MarkFields) {
        self.current = Some(self.start_capture(id, mark.at_us));
        let recorded = self.recorded_range(self.applied_offset, None);
        let Some(command) = self.open_commands.get_mut(&id) else {
            return;
        };
        command.recorded = Some(recorded);
        command.state = CommandState::Running;
        command.started_at = mark.at_us.map(|at_us| at_us / 1_000);
        let write = CommandWrite {
            command: command.clone(),
            shell_id: None,
        };
        self.write_buffer.push_command(write, self.restart_offset());
    }

    fn record_end(&mut self, id: CommandId, end: CommandEnd, mark: &MarkFields) {
        let Some(mut command) = self.open_commands.remove(&id) else {
            return;
        };
        self.kill_leftovers();
        self.fill_result(&mut command, end, mark);
        self.context.counters.count_end(&command);
        let write = CommandWrite {
            command,
            shell_id: None,
        };
        self.write_buffer.push_command(write, self.restart_offset());
    }

    /// Stores that a line which the user typed began.
    fn record_line_start(&mut self, mark: &MarkFields) {
        let at_us = mark.at_us.unwrap_or_default();
        // Derived from the mark, so processing the recording again yields the same id and no second row.
        let id = line_id(&self.row.id, &mark.id, at_us);
        self.current = Some(self.start_capture(id, mark.at_us));
        let line = TerminalCommand {
            id,
            terminal: self.row.name.clone(),
            by: CommandOrigin::Person,
            command: None,
            reason: None,
            state: CommandState::Running,
            exit_code: None,
            duration_ms: None,
            queued_at: at_us / 1_000,
            started_at: Some(at_us / 1_000),
            ended_at: None,
            output: None,
            output_bytes: 0,
            recorded: Some(self.recorded_range(self.applied_offset, None)),
            truncated: false,
            detail: None,
        };
        let write = CommandWrite {
            command: line.clone(),
            shell_id: Some(mark.id.clone()),
        };
        self.person_line = Some((line, mark.id.clone()));
        self.write_buffer.push_command(write, self.restart_offset());
    }

    fn record_line_end(&mut self, end: CommandEnd, mark: &MarkFields) {
        let Some((mut line, shell_id)) = self.person_line.take() else {
            return;
        };
        // The text of a typed line comes only with its end mark, and only if the history took it.
        line.command.clone_from(&mark.typed);
        self.fill_result(&mut line, end, mark);
        self.context.counters.count_end(&line);
        let write = CommandWrite {
            command: line,
            shell_id: Some(shell_id),
        };
        self.write_buffer.push_command(write, self.restart_offset());
    }

    /// Fills in a command's end and its output.
    fn fill_result(&mut self, command: &mut TerminalCommand, end: CommandEnd, mark: &MarkFields) {
        let wall_ms = self.context.deps.clock.wall_ms();
        command.state = end.state;
        command.exit_code = end.exit_code;
        command.detail = end.reason.map(messages::describe_end);
        command.ended_at = Some(mark.at_us.map_or(wall_ms, |at_us| at_us / 1_000));
        let current = self.current.take_if(|it| it.id == command.id);
        // Output captured for a command that never began is the prompt's or the user's. An exit code
        // without a start is the shell's own refusal, and then the text belongs to the command.
        let has_output = |it: &RunningCommand| it.began_us.is_some() || end.exit_code.is_some();
        if let Some(current) = current.filter(has_output) {
            let (text, truncated) = current.printed.text();
            command.output = Some(text);
            command.truncated = truncated;
            command.output_bytes = current.printed.bytes();
            // What belongs to a line that never began is mixed with the echo of the shell.
            let to = current.began_us.map(|_| self.applied_offset);
            command.recorded = to.map(|to| self.recorded_range(current.from, Some(to)));
            let ended_us = mark.at_us.unwrap_or(wall_ms.saturating_mul(1_000));
            // Both times come from the machine's clock, which may be set back in between.
            let took_us = current.began_us.map(|began| ended_us.saturating_sub(began));
            command.duration_ms = took_us.map(|took_us| took_us / 1_000);
        }
    }
}
