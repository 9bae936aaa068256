//! What is done in a terminal because the desk says so, and what is noted of commands.

use super::life::{Current, Life, Said};
use super::words;
use hob_core::terminal::desk::{Effect, End, Handed, Who, line_id};
use hob_core::terminal::printed::Printed;
use hob_exec::tmux::foreground::{self, Foreground};
use hob_exec::tmux::shells::Hand;
use hob_kit::failpoint;
use hob_store::CommandWrite;
use hob_wire::CommandId;
use hob_wire::rooms::terminal::{CommandBy, CommandState, TerminalCommand};
use std::io;

/// Head and tail kept of what a command prints.
const OUTPUT_BYTES_MAX: usize = 64 * 1024;

impl Life {
    pub(super) async fn carry_out(&mut self, effect: Effect, said: &Said) {
        match effect {
            Effect::HandOver(id) => {
                // What a line that cannot be read makes the shell say comes before it begins.
                self.current = Some(self.printing(id, None));
                if let Err(error) = self.hand_over(id) {
                    let terminal = &self.row.name;
                    tracing::warn!(terminal, "a command was not handed over: {error}");
                }
                self.nudge().await;
            }
            Effect::Nudge => {
                let untaken = self.hand.as_ref().map(Hand::untaken);
                if matches!(untaken, Some(Ok(Some(_)))) {
                    self.nudge().await;
                }
            }
            Effect::Withdraw => {
                if let Err(error) = self.hand.as_ref().map_or(Ok(()), Hand::withdraw) {
                    let terminal = &self.row.name;
                    tracing::warn!(terminal, "a command was not taken back: {error}");
                }
            }
            Effect::Interrupt => self.interrupt(),
            Effect::Terminate => self.signal(foreground::Signal::TERM),
            Effect::Kill => self.signal(foreground::Signal::KILL),
            Effect::Began(Who::Hob(id)) => self.began(id, said),
            Effect::Began(Who::Person) => self.line_began(said),
            Effect::Ended(Who::Hob(id), end) => self.ended(id, end, said),
            Effect::Ended(Who::Person, end) => self.line_ended(end, said),
            Effect::Over(over) => {
                tracing::info!(terminal = self.row.name, ?over, "a terminal is over");
                self.over = Some((over, None));
            }
        }
    }
}

impl Life {
    fn hand_over(&mut self, id: CommandId) -> io::Result<()> {
        let command = self.known.get(&id).and_then(|it| it.command.as_deref());
        let command = command.unwrap_or_default();
        match &self.hand {
            Some(hand) => hand.give(&id.to_string(), command),
            None => Err(io::Error::other("its folder is gone")),
        }
    }

    /// What another life of the daemon handed over last.
    pub(super) fn handed(&self) -> Option<Handed> {
        let hand = self.hand.as_ref()?;
        let given = hand.given()?;
        Some(Handed {
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
            control.take_posix().await
        };
        if let Err(error) = nudged {
            // It is nudged again, or the terminal is gone.
            tracing::debug!(terminal = self.row.name, "not nudged: {error}");
        }
        // tmux hears of it before anything else is done here.
        tokio::task::yield_now().await;
    }

    /// Presses control and C, without waiting for tmux.
    fn interrupt(&mut self) {
        if let Some(control) = self.control.clone() {
            let foreground = foreground::of(control.session().shell_pid);
            if let Ok(Foreground::Group(group)) = foreground {
                self.interrupted = Some(group);
            }
            let tasks = &self.shared.parts.tasks;
            tasks.spawn_until_stop("terminal key", async move {
                // What does not heed is killed anyway.
                let _ = control.keys(&["C-c".to_owned()]).await;
            });
        }
    }

    /// Ends what a command left that was interrupted and is over.
    fn sweep(&mut self) {
        if let (Some(group), Some(control)) = (self.interrupted.take(), &self.control)
            && let Err(error) = foreground::end(control.session().shell_pid, group)
        {
            tracing::debug!(terminal = self.row.name, "not swept: {error}");
        }
    }

    /// Signals what runs in the foreground. Where that is the shell itself, only its keyboard can
    /// interrupt it.
    fn signal(&mut self, signal: foreground::Signal) {
        let Some(control) = &self.control else {
            return;
        };
        match foreground::kill(control.session().shell_pid, signal) {
            Ok(true) => {}
            Ok(false) => self.interrupt(),
            Err(error) => tracing::debug!(terminal = self.row.name, "not signalled: {error}"),
        }
    }

    pub(super) fn printing(&self, id: CommandId, began_us: Option<u64>) -> Current {
        let (columns, _) = self.screen.size();
        let most = if failpoint::broken(63) {
            1 << 30
        } else {
            OUTPUT_BYTES_MAX
        };
        Current {
            id,
            printed: Printed::new(columns, most),
            began_us,
        }
    }

    fn began(&mut self, id: CommandId, said: &Said) {
        self.current = Some(self.printing(id, said.at_us));
        let Some(command) = self.known.get_mut(&id) else {
            return;
        };
        command.state = CommandState::Running;
        command.started_at = said.at_us.map(|at_us| at_us / 1_000);
        let write = CommandWrite {
            command: command.clone(),
            shell_id: None,
        };
        self.notebook.command(write, self.reached);
    }

    fn ended(&mut self, id: CommandId, end: End, said: &Said) {
        let Some(mut command) = self.known.remove(&id) else {
            return;
        };
        self.sweep();
        self.finish(&mut command, end, said);
        self.shared.tally.ended(&command);
        let write = CommandWrite {
            command,
            shell_id: None,
        };
        self.notebook.command(write, self.reached);
    }

    fn line_began(&mut self, said: &Said) {
        let at_us = said.at_us.unwrap_or_default();
        let id = line_id(&self.row.id, &said.id, at_us);
        self.current = Some(self.printing(id, said.at_us));
        let line = TerminalCommand {
            id,
            terminal: self.row.name.clone(),
            by: CommandBy::Person,
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
            truncated: false,
            detail: None,
        };
        let write = CommandWrite {
            command: line.clone(),
            shell_id: Some(said.id.clone()),
        };
        self.line = Some((line, said.id.clone()));
        self.notebook.command(write, self.reached);
    }

    fn line_ended(&mut self, end: End, said: &Said) {
        let Some((mut line, shell_id)) = self.line.take() else {
            return;
        };
        line.command.clone_from(&said.typed);
        self.finish(&mut line, end, said);
        self.shared.tally.ended(&line);
        let write = CommandWrite {
            command: line,
            shell_id: Some(shell_id),
        };
        self.notebook.command(write, self.reached);
    }

    /// Fills in how a command ended, and what it printed.
    fn finish(&mut self, command: &mut TerminalCommand, end: End, said: &Said) {
        let wall_ms = self.shared.parts.clock.wall_ms();
        command.state = end.state;
        command.exit_code = end.exit_code;
        command.detail = end.why.map(words::why);
        command.ended_at = Some(said.at_us.map_or(wall_ms, |at_us| at_us / 1_000));
        let current = self.current.take_if(|it| it.id == command.id);
        // Around one that never began is what others printed, unless the shell spoke of it.
        let heard = |it: &Current| it.began_us.is_some() || end.exit_code.is_some();
        if let Some(current) = current.filter(heard) {
            let (text, truncated) = current.printed.text();
            command.output = Some(text);
            command.truncated = truncated;
            command.output_bytes = current.printed.bytes();
            let ended_us = said.at_us.unwrap_or(wall_ms.saturating_mul(1_000));
            let took_us = current.began_us.map(|began| ended_us.saturating_sub(began));
            command.duration_ms = took_us.map(|took_us| took_us / 1_000);
        }
    }
}
