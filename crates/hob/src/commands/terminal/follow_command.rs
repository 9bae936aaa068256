//! `hob terminal run`: runs a command, prints its output and exits with its exit code.
//!
//! Invariants: the output is subscribed to before the command is sent; the stored record decides how
//! the command ended, whatever events were missed; the first Ctrl-C ends the command, the second
//! exits without waiting for it.

use super::TerminalCommands;
use super::args::TerminalRunArgs;
use super::output_filter::OutputFilter;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::{one_line, wrap};
use crate::render::{ScreenStyle, TextTone, terminals};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::run_request::fresh_id;
use crate::terminal::Terminal;
use hob_client::{Client, ClientError, ConnectionState, EventStream, StreamItem, SubscribeOptions};
use hob_wire::rooms::terminal::{
    Cancel, Command, CommandState, Execute, TerminalCancelParams, TerminalCommand,
    TerminalCommandChanged, TerminalCommandParams, TerminalExecuteParams, TerminalOutput,
};
use hob_wire::{CommandId, EventTopic};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// The duration of one long poll for the command's end.
const LONG_POLL_MS: u64 = 60_000;
/// The time the last output may take to arrive after the command's end is known.
const TAIL_WAIT: Duration = Duration::from_secs(1);
/// The time in the queue after which the user gets a notice.
const QUEUED_NOTICE_AFTER: Duration = Duration::from_secs(1);
/// The time without output after which the user gets a hint to attach.
const SILENCE_NOTICE_AFTER: Duration = Duration::from_secs(15);
/// The time between two checks for a notice.
const TICK: Duration = Duration::from_millis(250);
/// The exit code of a command that reached its timeout, as of the program `timeout`.
const TIMEOUT_EXIT_CODE: u8 = 124;

type OptionalCall<'c, T> = Option<Pin<Box<dyn Future<Output = Result<T, ClientError>> + 'c>>>;

pub(super) async fn run(
    commands: &TerminalCommands<'_>,
    args: TerminalRunArgs,
) -> Result<(), CommandFailure> {
    let mut interrupts = InterruptSignals::listen()?;
    commands.ensure().await?;
    let topics = [
        TerminalOutput::SPEC.topic,
        TerminalCommandChanged::SPEC.topic,
    ];
    let stream = commands
        .client
        .subscribe(SubscribeOptions::to(topics))
        .await?;
    let params = TerminalExecuteParams {
        name: commands.name.clone(),
        command: Some(args.command.join(" ")),
        // The call returns at once; the end is polled for, so a lost connection does not lose it.
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
    let mut followed = FollowedCommand::new(commands, stream, command);
    let ended = followed.wait_for_end(&mut interrupts).await?;
    followed.finish(&ended)
}

/// A command whose output is followed.
struct FollowedCommand<'c> {
    commands: &'c TerminalCommands<'c>,
    stream: EventStream,
    id: CommandId,
    terminal: String,
    filter: OutputFilter,
    /// The pending call for the command's stored end.
    end: OptionalCall<'c, TerminalCommand>,
    cancel: OptionalCall<'c, ()>,
    began: Instant,
    printed_at: Instant,
    phase: CommandPhase,
    notices: NoticesShown,
    /// Some output did not arrive.
    has_gaps: bool,
    /// The connection was lost. The daemon may repeat output after that, so the rest is taken from
    /// the stored record at the end.
    was_disconnected: bool,
    interrupted: bool,
}

/// The command's state according to the events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CommandPhase {
    Queued,
    Running,
    /// The last event has arrived, and all output with it.
    Ended,
}

/// The notices that were shown already.
#[derive(Clone, Copy, Debug, Default)]
struct NoticesShown {
    queued: bool,
    silent: bool,
}

enum FollowInput {
    Item(Option<Result<StreamItem, ClientError>>),
    Ended(Result<TerminalCommand, ClientError>),
    Cancelled(Result<(), ClientError>),
    Interrupted,
    Link(ConnectionState),
    Tick,
}

impl<'c> FollowedCommand<'c> {
    fn new(
        commands: &'c TerminalCommands<'c>,
        stream: EventStream,
        command: TerminalCommand,
    ) -> Self {
        let now = Instant::now();
        FollowedCommand {
            stream,
            id: command.id,
            terminal: command.terminal,
            filter: OutputFilter::new(commands.context.terminal.is_terminal()),
            end: Some(Box::pin(poll_end(commands.client, command.id))),
            cancel: None,
            began: now,
            printed_at: now,
            phase: CommandPhase::Queued,
            notices: NoticesShown::default(),
            has_gaps: false,
            was_disconnected: false,
            interrupted: false,
            commands,
        }
    }

    async fn wait_for_end(
        &mut self,
        interrupts: &mut InterruptSignals,
    ) -> Result<TerminalCommand, CommandFailure> {
        let mut connection = self.stream.state();
        loop {
            self.commands.context.terminal.flush()?;
            let input = tokio::select! {
                item = self.stream.next() => FollowInput::Item(item),
                ended = await_call(&mut self.end) => FollowInput::Ended(ended),
                done = await_call(&mut self.cancel) => FollowInput::Cancelled(done),
                () = interrupts.next() => FollowInput::Interrupted,
                Ok(()) = connection.changed() => FollowInput::Link(*connection.borrow_and_update()),
                () = tokio::time::sleep(TICK) => FollowInput::Tick,
            };
            match input {
                FollowInput::Item(Some(Ok(item))) => self.handle_item(&item)?,
                FollowInput::Item(Some(Err(error))) => return Err(error.into()),
                FollowInput::Item(None) => return Err(ClientError::Closed.into()),
                FollowInput::Ended(ended) => {
                    self.end = None;
                    let ended = ended?;
                    self.take_tail(&ended).await?;
                    return Ok(ended);
                }
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

    /// Waits for the last output. Output events are paced, so they may arrive after the end is known.
    async fn take_tail(&mut self, ended: &TerminalCommand) -> Result<(), CommandFailure> {
        if self.commands.context.terminal.json || self.was_disconnected {
            return Ok(());
        }
        let output = ended.output.as_deref().unwrap_or_default();
        let last = output.trim_end().lines().next_back().unwrap_or_default();
        let until = Instant::now() + TAIL_WAIT;
        while self.phase != CommandPhase::Ended || !self.filter.ends_with_line(last) {
            match tokio::time::timeout_at(until, self.stream.next()).await {
                Ok(Some(Ok(item))) => self.handle_item(&item)?,
                Ok(Some(Err(_)) | None) | Err(_) => break,
            }
        }
        Ok(())
    }

    fn handle_item(&mut self, item: &StreamItem) -> Result<(), CommandFailure> {
        // A gap may have held output of this command.
        let StreamItem::Event(event) = item else {
            self.has_gaps = true;
            return Ok(());
        };
        if let Some(output) = event.read::<TerminalOutput>() {
            if output.command == Some(self.id) {
                self.has_gaps |= output.dropped.is_some_and(|bytes| bytes > 0);
                self.printed_at = Instant::now();
                if self.phase == CommandPhase::Queued {
                    self.phase = CommandPhase::Running;
                }
                if !self.was_disconnected {
                    self.print(&output.text)?;
                }
            }
            return Ok(());
        }
        if let Some(changed) = event.read::<TerminalCommandChanged>()
            && changed.id == self.id
        {
            self.phase = match changed.state {
                CommandState::Queued => CommandPhase::Queued,
                CommandState::Running => CommandPhase::Running,
                _ => CommandPhase::Ended,
            };
        }
        Ok(())
    }

    fn print(&mut self, text: &str) -> Result<(), CommandFailure> {
        let terminal = &self.commands.context.terminal;
        if terminal.json {
            return Ok(());
        }
        let out = self.filter.push(text);
        Ok(terminal.bytes(out.as_bytes())?)
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
                self.was_disconnected = true;
                self.note("The daemon is away; the command keeps running.");
            }
            ConnectionState::Connected => {
                self.note("The daemon is back; the rest of the output is shown at the end.");
            }
            ConnectionState::Ended => {}
        }
    }

    fn note_waiting(&mut self) {
        let name = one_line(&self.terminal);
        let waits =
            self.phase == CommandPhase::Queued && self.began.elapsed() >= QUEUED_NOTICE_AFTER;
        if waits && !self.notices.queued {
            self.notices.queued = true;
            self.note(&format!(
                "{name} is busy; the command is queued. Ctrl-C cancels it."
            ));
        }
        let silent = self.printed_at.elapsed() >= SILENCE_NOTICE_AFTER;
        if self.phase == CommandPhase::Running && silent && !self.notices.silent {
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
        let output = ended.output.as_deref().unwrap_or_default();
        if !self.filter.has_output() {
            self.print(output)?;
        } else if self.was_disconnected {
            match self.filter.unprinted_rest(output) {
                Some(rest) => self.print(rest)?,
                None => self.has_gaps = true,
            }
        }
        let rest = self.filter.finish();
        terminal.bytes(rest.as_bytes())?;
        terminal.flush()?;
        if self.has_gaps && self.filter.has_output() {
            let id = terminals::short_id(ended.id);
            Terminal::note(format!(
                "Some output is missing above; see it all: hob terminal history --id {id}"
            ));
        }
        exit_result(ended, terminal.stderr_screen())
    }
}

/// Polls until the command has ended.
async fn poll_end(client: &Client, id: CommandId) -> Result<TerminalCommand, ClientError> {
    let params = TerminalCommandParams {
        id,
        wait_ms: Some(LONG_POLL_MS),
    };
    loop {
        let command = client.call_with_retry::<Command>(&params).await?;
        if command.state.is_final() {
            return Ok(command);
        }
    }
}

async fn await_call<T>(slot: &mut OptionalCall<'_, T>) -> Result<T, ClientError> {
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
