//! `hob terminal run`: one command from its order to its exit code.
//!
//! Invariants: what it prints is listened to before it is ordered; its end is what the record says,
//! whatever was missed on the way; the first Ctrl-C ends the command, the second leaves it.

use super::Desk;
use super::printing::Printing;
use crate::failure::{Exit, Failure};
use crate::mind::order::fresh_id;
use crate::mind::talk::Interrupts;
use crate::render::words::{one_line, wrap};
use crate::render::{Screen, Tone, terminals};
use crate::terminal::Terminal;
use clap::ArgMatches;
use hob_client::{Client, ClientError, EventStream, Item, LinkState, Subscription};
use hob_wire::rooms::terminal::{
    Cancel, CancelParams, Command, CommandParams, CommandState, Execute, ExecuteParams,
    TerminalCommand, TerminalCommandChanged, TerminalOutput,
};
use hob_wire::{CommandId, Topic};
use std::pin::Pin;
use std::time::Duration;
use tokio::time::Instant;

/// One look at a command that has not ended.
const LOOK_MS: u64 = 60_000;
/// How long the last of what it printed may take to come after its end is known.
const TAIL_WAIT: Duration = Duration::from_secs(1);
/// How long a command may wait for its turn before the person is told.
const QUEUED_TOLD_AFTER: Duration = Duration::from_secs(1);
/// How long it may be silent before the person is told where to look.
const SILENCE_TOLD_AFTER: Duration = Duration::from_secs(15);
/// Between two looks at whether there is something to tell.
const TICK: Duration = Duration::from_millis(250);
/// The exit code of a command that was interrupted at its deadline, as of `timeout`.
const TIMED_OUT: u8 = 124;

type Pending<'c, T> = Option<Pin<Box<dyn Future<Output = Result<T, ClientError>> + 'c>>>;

pub(super) async fn run(desk: &Desk<'_>, matches: &ArgMatches) -> Result<(), Failure> {
    let mut interrupts = Interrupts::listen()?;
    let words = matches.get_many::<String>("command").into_iter().flatten();
    let line = words.cloned().collect::<Vec<_>>().join(" ");
    desk.ensure().await?;
    let topics = [
        TerminalOutput::SPEC.topic,
        TerminalCommandChanged::SPEC.topic,
    ];
    let stream = desk.client.subscribe(Subscription::to(topics)).await?;
    let params = ExecuteParams {
        name: desk.name.clone(),
        command: Some(line),
        detach: true,
        timeout_ms: matches.get_one::<u64>("timeout").copied(),
        idempotency_key: Some(fresh_id(&desk.context.world.dice)),
        ..ExecuteParams::default()
    };
    let ordered = desk.client.call_again::<Execute>(&params).await?;
    let Some(command) = ordered.commands.into_iter().next() else {
        return Err(Failure::failed("The terminal took no command."));
    };
    if matches.get_flag("detach") {
        return Ok(desk.context.terminal.shown(&command, terminals::queued)?);
    }
    let mut followed = Followed::new(desk, stream, command);
    let ended = followed.until_end(&mut interrupts).await?;
    followed.finish(&ended)
}

/// A command that is followed.
struct Followed<'c> {
    desk: &'c Desk<'c>,
    stream: EventStream,
    id: CommandId,
    terminal: String,
    printing: Printing,
    /// The record's word on its end.
    end: Pending<'c, TerminalCommand>,
    cancel: Pending<'c, ()>,
    began: Instant,
    printed_at: Instant,
    phase: Phase,
    told: Told,
    /// Some of what it printed did not come here.
    misses: bool,
    /// The daemon was away: it may tell again what it told before, so the rest is taken from the
    /// record at the end.
    is_cut: bool,
    interrupted: bool,
}

/// How far the events have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Queued,
    Running,
    /// Its last event has come: so has all it printed.
    Ended,
}

/// What the person was told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    queued: bool,
    silent: bool,
}

enum Woken {
    Item(Option<Result<Item, ClientError>>),
    Ended(Result<TerminalCommand, ClientError>),
    Cancelled(Result<(), ClientError>),
    Interrupted,
    Link(LinkState),
    Tick,
}

impl<'c> Followed<'c> {
    fn new(desk: &'c Desk<'c>, stream: EventStream, command: TerminalCommand) -> Self {
        let now = Instant::now();
        Followed {
            stream,
            id: command.id,
            terminal: command.terminal,
            printing: Printing::new(desk.context.terminal.is_terminal()),
            end: Some(Box::pin(end(desk.client, command.id))),
            cancel: None,
            began: now,
            printed_at: now,
            phase: Phase::Queued,
            told: Told::default(),
            misses: false,
            is_cut: false,
            interrupted: false,
            desk,
        }
    }

    async fn until_end(&mut self, interrupts: &mut Interrupts) -> Result<TerminalCommand, Failure> {
        let mut link = self.stream.state();
        loop {
            self.desk.context.terminal.flush()?;
            let woken = tokio::select! {
                item = self.stream.next() => Woken::Item(item),
                ended = pending(&mut self.end) => Woken::Ended(ended),
                done = pending(&mut self.cancel) => Woken::Cancelled(done),
                () = interrupts.next() => Woken::Interrupted,
                Ok(()) = link.changed() => Woken::Link(*link.borrow_and_update()),
                () = tokio::time::sleep(TICK) => Woken::Tick,
            };
            match woken {
                Woken::Item(Some(Ok(item))) => self.item(&item)?,
                Woken::Item(Some(Err(error))) => return Err(error.into()),
                Woken::Item(None) => return Err(ClientError::Closed.into()),
                Woken::Ended(ended) => {
                    self.end = None;
                    let ended = ended?;
                    self.take_tail(&ended).await?;
                    return Ok(ended);
                }
                Woken::Cancelled(done) => {
                    self.cancel = None;
                    if let Err(error) = done {
                        Terminal::note(format!("It could not be ended: {error}"));
                    }
                }
                Woken::Interrupted => self.interrupt()?,
                Woken::Link(state) => self.tell_link(state),
                Woken::Tick => self.tell_waiting(),
            }
        }
    }

    /// What was printed last may still be on its way when the end is known: pieces are paced.
    async fn take_tail(&mut self, ended: &TerminalCommand) -> Result<(), Failure> {
        if self.desk.context.terminal.json || self.is_cut {
            return Ok(());
        }
        let output = ended.output.as_deref().unwrap_or_default();
        let last = output.trim_end().lines().next_back().unwrap_or_default();
        let until = Instant::now() + TAIL_WAIT;
        while self.phase != Phase::Ended || !self.printing.has_last(last) {
            match tokio::time::timeout_at(until, self.stream.next()).await {
                Ok(Some(Ok(item))) => self.item(&item)?,
                Ok(Some(Err(_)) | None) | Err(_) => break,
            }
        }
        Ok(())
    }

    fn item(&mut self, item: &Item) -> Result<(), Failure> {
        let Item::Event(event) = item else {
            self.misses = true;
            return Ok(());
        };
        if let Some(output) = event.read::<TerminalOutput>() {
            if output.command == Some(self.id) {
                self.misses |= output.dropped.is_some_and(|bytes| bytes > 0);
                self.printed_at = Instant::now();
                if self.phase == Phase::Queued {
                    self.phase = Phase::Running;
                }
                if !self.is_cut {
                    self.print(&output.text)?;
                }
            }
            return Ok(());
        }
        if let Some(changed) = event.read::<TerminalCommandChanged>()
            && changed.id == self.id
        {
            self.phase = match changed.state {
                CommandState::Queued => Phase::Queued,
                CommandState::Running => Phase::Running,
                _ => Phase::Ended,
            };
        }
        Ok(())
    }

    fn print(&mut self, text: &str) -> Result<(), Failure> {
        let terminal = &self.desk.context.terminal;
        if terminal.json {
            return Ok(());
        }
        let out = self.printing.take(text);
        Ok(terminal.bytes(out.as_bytes())?)
    }

    fn interrupt(&mut self) -> Result<(), Failure> {
        let name = one_line(&self.terminal);
        if self.interrupted {
            self.note(&format!(
                "Left; it may run on. `hob terminal attach {name}` shows it."
            ));
            return Err(Failure::quiet(Exit::Interrupted));
        }
        self.interrupted = true;
        self.note("Ending it …");
        let (client, params) = (
            self.desk.client,
            CancelParams {
                name: Some(self.terminal.clone()),
                id: Some(self.id),
            },
        );
        self.cancel = Some(Box::pin(async move {
            client.call_again::<Cancel>(&params).await.map(drop)
        }));
        Ok(())
    }

    fn tell_link(&mut self, state: LinkState) {
        match state {
            LinkState::Searching => {
                self.is_cut = true;
                self.note("The daemon is away; the command goes on without it.");
            }
            LinkState::Connected => {
                self.note("The daemon is back; what is printed from now on comes at the end.");
            }
            LinkState::Ended => {}
        }
    }

    fn tell_waiting(&mut self) {
        let name = one_line(&self.terminal);
        let waits = self.phase == Phase::Queued && self.began.elapsed() >= QUEUED_TOLD_AFTER;
        if waits && !self.told.queued {
            self.told.queued = true;
            self.note(&format!(
                "{name} is busy; it waits for its turn. Ctrl-C takes it back."
            ));
        }
        let silent = self.printed_at.elapsed() >= SILENCE_TOLD_AFTER;
        if self.phase == Phase::Running && silent && !self.told.silent {
            self.told.silent = true;
            self.note(&format!(
                "(silent; if it waits for an answer, give it in `hob terminal attach {name}`)"
            ));
        }
    }

    /// Says something beside what is printed, to a person only.
    fn note(&self, words: &str) {
        let screen = self.desk.context.terminal.asides();
        if screen.width.is_none() || self.desk.context.terminal.json {
            return;
        }
        // The terminal has shown the key; the line begins over it.
        let begin = if self.interrupted { "\r" } else { "" };
        Terminal::note(format!("{begin}{}", screen.paint(Tone::Quiet, words)));
    }

    /// Prints what is left and ends as the command did.
    fn finish(&mut self, ended: &TerminalCommand) -> Result<(), Failure> {
        let terminal = &self.desk.context.terminal;
        if terminal.json {
            terminal.document(ended)?;
            return ended_as(ended, terminal.asides());
        }
        let output = ended.output.as_deref().unwrap_or_default();
        if !self.printing.has_any() {
            self.print(output)?;
        } else if self.is_cut {
            match self.printing.rest_of(output) {
                Some(rest) => self.print(rest)?,
                None => self.misses = true,
            }
        }
        let rest = self.printing.end();
        terminal.bytes(rest.as_bytes())?;
        terminal.flush()?;
        if self.misses && self.printing.has_any() {
            let id = terminals::short_id(ended.id);
            Terminal::note(format!(
                "Some of what it printed is not above: hob terminal history --id {id}"
            ));
        }
        ended_as(ended, terminal.asides())
    }
}

/// The end of a command, however often it must be asked for.
async fn end(client: &Client, id: CommandId) -> Result<TerminalCommand, ClientError> {
    let params = CommandParams {
        id,
        wait_ms: Some(LOOK_MS),
    };
    loop {
        let command = client.call_again::<Command>(&params).await?;
        if command.state.is_final() {
            return Ok(command);
        }
    }
}

async fn pending<T>(slot: &mut Pending<'_, T>) -> Result<T, ClientError> {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

/// The exit code of a command as that of this one.
fn ended_as(ended: &TerminalCommand, screen: &Screen) -> Result<(), Failure> {
    let detail = ended.detail.as_deref().map(one_line);
    let tell = |detail: &String| {
        let room = screen.width.unwrap_or(usize::MAX);
        wrap(detail, room).iter().for_each(Terminal::note);
    };
    let own = ended
        .exit_code
        .map(|code| u8::try_from(code & 0xff).unwrap_or(u8::MAX));
    let exit = match (ended.state, own) {
        (CommandState::Done, Some(0)) => {
            detail.iter().for_each(tell);
            return Ok(());
        }
        (CommandState::Done, Some(code)) => Exit::Own(code),
        (CommandState::Cancelled, Some(code)) if code != 0 => Exit::Own(code),
        (CommandState::Cancelled, _) => Exit::Interrupted,
        (CommandState::Timeout, _) => Exit::Own(TIMED_OUT),
        (_, _) => {
            let usual = || "The terminal went away under the command.".to_owned();
            let failure = Failure::failed(detail.unwrap_or_else(usual));
            return Err(failure.next("`hob terminal list` shows what there is."));
        }
    };
    detail.iter().for_each(tell);
    Err(Failure::quiet(exit))
}
