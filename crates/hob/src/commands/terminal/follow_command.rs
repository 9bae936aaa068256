//! `hob terminal run`: runs a command, prints its output and exits with its exit code.
//!
//! Invariants: the output is read from the terminal's recording by its offsets, so neither a killed
//! daemon nor a lost connection repeats or loses any of it; the stored record decides how the
//! command ended; the first Ctrl-C ends the command, the second exits without waiting for it.

use super::TerminalCommands;
use super::args::TerminalRunArgs;
use super::output_filter::OutputFilter;
use super::recording_page::{page_bytes, read_page};
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{one_line, wrap};
use crate::render::{ScreenStyle, TextTone, terminals};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::run_request::fresh_id;
use crate::terminal::Terminal;
use hob_client::{ClientError, ConnectionState};
use hob_wire::rooms::terminal::{
    Cancel, Command, CommandState, Execute, TerminalCancelParams, TerminalCommand,
    TerminalCommandParams, TerminalExecuteParams, TerminalStreamParams, TerminalStreamResult,
};
use hob_wire::{CommandId, ErrorCode};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// The duration of one long poll for output.
const LONG_POLL_MS: u64 = 60_000;
/// The time in the queue after which the user gets a notice.
const QUEUED_NOTICE_AFTER: Duration = Duration::from_secs(1);
/// The duration of a poll in the queue: the answer says if the command waits.
const QUEUED_POLL_MS: u64 = 1_000;
/// The time without output after which the user gets a hint to attach.
const SILENCE_NOTICE_AFTER: Duration = Duration::from_secs(15);
/// The time between two checks for a notice.
const TICK: Duration = Duration::from_millis(250);
/// The exit code of a command that reached its timeout, as of the program `timeout`.
const TIMEOUT_EXIT_CODE: u8 = 124;

type PendingCall<'c, T> = Pin<Box<dyn Future<Output = Result<T, ClientError>> + 'c>>;

pub(super) async fn run(
    commands: &TerminalCommands<'_>,
    args: TerminalRunArgs,
) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    commands.ensure().await?;
    let params = TerminalExecuteParams {
        name: commands.name.clone(),
        command: Some(args.command.join(" ")),
        // The call returns at once; the output is polled for, so a lost connection loses nothing.
        detach: true,
        timeout_ms: args.timeout,
        // A retry must not type the command twice.
        idempotency_key: Some(fresh_id(&commands.context.host.randomness)),
        ..TerminalExecuteParams::default()
    };
    let ordered = commands.client.call_with_retry::<Execute>(&params).await?;
    let Some(command) = ordered.commands.into_iter().next() else {
        return Err(CommandFailure::failed(
            "The terminal did not accept the command.",
        ));
    };
    if args.detach {
        return Ok(commands
            .context
            .terminal
            .print_result(&command, terminals::queued)?);
    }
    let mut followed = FollowedCommand::new(commands, command);
    followed.wait_for_end(&mut interrupts).await?;
    let params = TerminalCommandParams {
        id: followed.id,
        wait_ms: None,
    };
    let ended = commands.client.call_with_retry::<Command>(&params).await?;
    followed.finish(&ended)
}

/// A command whose output is followed.
struct FollowedCommand<'c> {
    commands: &'c TerminalCommands<'c>,
    id: CommandId,
    terminal: String,
    filter: OutputFilter,
    /// The next read of the recording.
    params: TerminalStreamParams,
    cancel: Option<PendingCall<'c, ()>>,
    began: Instant,
    printed_at: Instant,
    state: CommandState,
    notices: NoticesShown,
    /// Some output was too old when it was asked for.
    has_gaps: bool,
    interrupted: bool,
}

/// The notices that were shown already.
#[derive(Clone, Copy, Debug, Default)]
struct NoticesShown {
    queued: bool,
    silent: bool,
}

enum FollowInput {
    Page(Result<TerminalStreamResult, ClientError>),
    Cancelled(Result<(), ClientError>),
    Interrupted,
    Link(ConnectionState),
    Tick,
}

impl<'c> FollowedCommand<'c> {
    fn new(commands: &'c TerminalCommands<'c>, command: TerminalCommand) -> Self {
        let now = Instant::now();
        FollowedCommand {
            id: command.id,
            terminal: command.terminal,
            filter: OutputFilter::new(commands.context.terminal.is_terminal()),
            params: TerminalStreamParams {
                command: Some(command.id),
                ..TerminalStreamParams::default()
            },
            cancel: None,
            began: now,
            printed_at: now,
            state: CommandState::Queued,
            notices: NoticesShown::default(),
            has_gaps: false,
            interrupted: false,
            commands,
        }
    }

    /// Prints the output until the command has ended.
    async fn wait_for_end(
        &mut self,
        interrupts: &mut InterruptSignals,
    ) -> Result<(), CommandFailure> {
        let mut connection = self.commands.client.state();
        let mut page = self.read_next();
        loop {
            self.commands.context.terminal.flush()?;
            let input = tokio::select! {
                read = &mut page => FollowInput::Page(read),
                done = await_call(&mut self.cancel) => FollowInput::Cancelled(done),
                () = interrupts.next() => FollowInput::Interrupted,
                Ok(()) = connection.changed() => FollowInput::Link(*connection.borrow_and_update()),
                () = tokio::time::sleep(TICK) => FollowInput::Tick,
            };
            match input {
                FollowInput::Page(Ok(read)) => {
                    self.apply_page(&read)?;
                    if read.ended {
                        return Ok(());
                    }
                    page = self.read_next();
                }
                // The terminal has ended, and its recording with it.
                FollowInput::Page(Err(ClientError::Wire(error)))
                    if error.code == ErrorCode::NotFound =>
                {
                    self.has_gaps = true;
                    return Ok(());
                }
                FollowInput::Page(Err(error)) => return Err(error.into()),
                FollowInput::Cancelled(done) => {
                    self.cancel = None;
                    if let Err(error) = done {
                        Terminal::note(format!("The command could not be ended: {error}"));
                    }
                }
                FollowInput::Interrupted => self.interrupt()?,
                FollowInput::Link(state) => self.note_connection(state),
                FollowInput::Tick => self.note_waiting(),
            }
        }
    }

    fn read_next(&self) -> PendingCall<'c, TerminalStreamResult> {
        let wait_ms = match self.state {
            CommandState::Queued => QUEUED_POLL_MS,
            _ => LONG_POLL_MS,
        };
        let params = TerminalStreamParams {
            wait_ms: Some(wait_ms),
            ..self.params.clone()
        };
        Box::pin(read_page(self.commands.client, params))
    }

    fn apply_page(&mut self, page: &TerminalStreamResult) -> Result<(), CommandFailure> {
        self.state = page.state.unwrap_or(self.state);
        self.has_gaps |= page.skipped > 0;
        self.params.since = page.next;
        if page.recording.is_some() {
            self.params.recording.clone_from(&page.recording);
        }
        let bytes = page_bytes(page)?;
        if bytes.is_empty() {
            return Ok(());
        }
        self.printed_at = Instant::now();
        let text = self.filter.push_bytes(&bytes);
        self.print(&text)
    }

    fn print(&self, text: &str) -> Result<(), CommandFailure> {
        let terminal = &self.commands.context.terminal;
        if terminal.json {
            return Ok(());
        }
        Ok(terminal.bytes(text.as_bytes())?)
    }

    fn interrupt(&mut self) -> Result<(), CommandFailure> {
        let name = one_line(&self.terminal);
        if self.interrupted {
            self.note(&format!(
                "The command may still be running. See it: hob terminal attach {name}"
            ));
            return Err(CommandFailure::quiet(ExitStatus::Interrupted));
        }
        self.interrupted = true;
        self.note("Ending the command …");
        let (client, params) = (
            self.commands.client,
            TerminalCancelParams {
                name: Some(self.terminal.clone()),
                id: Some(self.id),
            },
        );
        self.cancel = Some(Box::pin(async move {
            client.call_with_retry::<Cancel>(&params).await.map(drop)
        }));
        Ok(())
    }

    fn note_connection(&mut self, state: ConnectionState) {
        match state {
            ConnectionState::Searching => {
                self.note("The daemon is away; the command keeps running.");
            }
            ConnectionState::Connected => self.note("The daemon is back."),
            ConnectionState::Ended => {}
        }
    }

    fn note_waiting(&mut self) {
        let name = one_line(&self.terminal);
        let waits =
            self.state == CommandState::Queued && self.began.elapsed() >= QUEUED_NOTICE_AFTER;
        if waits && !self.notices.queued {
            self.notices.queued = true;
            self.note(&format!(
                "{name} is busy; the command is queued. Ctrl-C cancels it."
            ));
        }
        let silent = self.printed_at.elapsed() >= SILENCE_NOTICE_AFTER;
        if self.state == CommandState::Running && silent && !self.notices.silent {
            self.notices.silent = true;
            self.note(&format!(
                "(no output; if it waits for input, answer it in `hob terminal attach {name}`)"
            ));
        }
    }

    /// Shows a notice on stderr, only on a terminal.
    fn note(&self, text: &str) {
        let screen = self.commands.context.terminal.stderr_screen();
        if screen.width.is_none() || self.commands.context.terminal.json {
            return;
        }
        // The terminal echoed ^C; the carriage return overwrites it.
        let begin = if self.interrupted { "\r" } else { "" };
        Terminal::note(format!("{begin}{}", screen.paint(TextTone::Quiet, text)));
    }

    /// Prints the remaining output and returns the command's exit status.
    fn finish(&mut self, ended: &TerminalCommand) -> Result<(), CommandFailure> {
        let terminal = &self.commands.context.terminal;
        if terminal.json {
            terminal.document(ended)?;
            return exit_result(ended, terminal.stderr_screen());
        }
        // The recording is gone, or says nothing of a line that never began.
        if !self.filter.has_output() {
            self.has_gaps = false;
            let output = ended.output.as_deref().unwrap_or_default();
            let output = self.filter.push(output);
            self.print(&output)?;
        }
        let rest = self.filter.finish();
        terminal.bytes(rest.as_bytes())?;
        terminal.flush()?;
        if self.has_gaps {
            let id = terminals::short_id(ended.id);
            Terminal::note(format!(
                "Some output is missing above; see it all: hob terminal history --id {id}"
            ));
        }
        exit_result(ended, terminal.stderr_screen())
    }
}

async fn await_call<T>(slot: &mut Option<PendingCall<'_, T>>) -> Result<T, ClientError> {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// Returns the exit status of this process for the ended command.
fn exit_result(ended: &TerminalCommand, screen: &ScreenStyle) -> Result<(), CommandFailure> {
    let detail = ended.detail.as_deref().map(one_line);
    let tell = |detail: &String| {
        let room = screen.width.unwrap_or(usize::MAX);
        wrap(detail, room).iter().for_each(Terminal::note);
    };
    // The exit code of a process is one byte.
    let own = ended
        .exit_code
        .map(|code| u8::try_from(code & 0xff).unwrap_or(u8::MAX));
    let exit = match (ended.state, own) {
        (CommandState::Done, Some(0)) => {
            detail.iter().for_each(tell);
            return Ok(());
        }
        (CommandState::Done, Some(code)) => ExitStatus::Own(code),
        (CommandState::Cancelled, Some(code)) if code != 0 => ExitStatus::Own(code),
        (CommandState::Cancelled, _) => ExitStatus::Interrupted,
        (CommandState::Timeout, _) => ExitStatus::Own(TIMEOUT_EXIT_CODE),
        (_, _) => {
            let usual = || "The terminal was closed while the command ran.".to_owned();
            let failure = CommandFailure::failed(detail.unwrap_or_else(usual));
            return Err(failure.next("See `hob terminal list`."));
        }
    };
    detail.iter().for_each(tell);
    Err(CommandFailure::quiet(exit))
}
