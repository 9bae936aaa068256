//! `hob loop watch`: shows a loop live, as a screen, as lines, or as JSON events.
//!
//! Invariants: the watcher subscribes before it reads the loop, so that no event is missed; the
//! terminal is restored however the view ends; leaving the view never stops the loop.

mod alternate_screen;
mod event_line;
mod view;
mod watched_loop;

use super::LoopCommands;
use crate::commands::events::event_json;
use crate::failure::{CommandFailure, ExitStatus};
use crate::render::text::one_line;
use crate::render::{ScreenStyle, TextTone};
use crate::run_ui::follow_run::InterruptSignals;
use crate::run_ui::terminal_user::TerminalUser;
use crate::terminal::Terminal;
use alternate_screen::AlternateScreen;
use hob_client::{
    BusEvent, ClientError, ConnectionState, EventStream, StreamItem, SubscribeOptions,
};
use hob_wire::rooms::agent::{RunSelector, Status};
use hob_wire::rooms::loops::{Get, LoopEnd, LoopPhase, WorkOutcome};
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;
use watched_loop::{LoopReading, WatchedLoop};

/// The topics of the loop and of its runs' output.
const TOPICS: [&str; 4] = ["loop.*", "run.delta", "run.step", "run.tool"];
/// The time between two redraws.
const TICK: Duration = Duration::from_millis(100);
/// The redraws per step of the spinner.
const TICKS_PER_SPINNER_STEP: usize = 2;
/// The number of past iterations that are read.
const HISTORY_ITERATIONS: u32 = 30;
/// The delay before a reading is repeated because events arrived meanwhile.
const REREAD_DELAY: Duration = Duration::from_millis(300);

type PendingReading<'d> = Pin<Box<dyn Future<Output = Result<LoopReading, CommandFailure>> + 'd>>;

/// A loop being watched.
pub(super) struct LoopWatcher<'d> {
    commands: &'d LoopCommands<'d>,
    stream: EventStream,
    link: watch::Receiver<ConnectionState>,
    interrupts: InterruptSignals,
    watched: WatchedLoop,
    reading: Option<PendingReading<'d>>,
}

/// An input of the watcher's main loop.
enum WatchInput {
    Item(Option<Result<StreamItem, ClientError>>),
    Reading(Box<Result<LoopReading, CommandFailure>>),
    Link,
    Tick,
    Left(ExitStatus),
}

impl<'d> LoopWatcher<'d> {
    pub(super) async fn open(
        commands: &'d LoopCommands<'d>,
    ) -> Result<LoopWatcher<'d>, CommandFailure> {
        let interrupts = InterruptSignals::listen()?;
        let stream = commands
            .client
            .subscribe(SubscribeOptions::to(TOPICS))
            .await?;
        Ok(LoopWatcher {
            link: stream.state(),
            stream,
            interrupts,
            watched: WatchedLoop::new(&commands.name),
            reading: None,
            commands,
        })
    }

    /// Watches until the loop ends or the user leaves.
    pub(super) async fn run(mut self) -> Result<(), CommandFailure> {
        let first = fetch_reading(self.commands, 0).await?;
        let is_running = first.one.state.running;
        if self.watched.apply_reading(first) {
            self.begin_reading(Duration::ZERO);
        }
        let terminal = &self.commands.context.terminal;
        // Only a terminal has rows.
        let is_live = !terminal.json && terminal.screen().rows.is_some();
        let left = if is_live {
            self.run_live().await?
        } else if is_running {
            self.run_lines().await?
        } else {
            let name = one_line(&self.commands.name);
            let word = crate::render::loops::state(&self.watched.state);
            Terminal::note(format!(
                "{name} is not running ({word}). Start it: hob loop start {name} --watch"
            ));
            return Ok(());
        };
        self.report_exit(left)
    }

    /// Runs the live view. Returns the exit status if the user left, `None` if the loop ended.
    async fn run_live(&mut self) -> Result<Option<ExitStatus>, CommandFailure> {
        let terminal = &self.commands.context.terminal;
        let person = TerminalUser::find();
        let leave = async {
            let pressed = match &person {
                // Reading keys also keeps other typed keys from being echoed.
                Some(person) => person.next_key("", &['q']).await.is_ok(),
                None => false,
            };
            // A terminal that cannot be read still has Ctrl-C.
            if !pressed {
                std::future::pending::<()>().await;
            }
        };
        tokio::pin!(leave);
        let mut display = AlternateScreen::enter(terminal)?;
        let mut ticks = tokio::time::interval(TICK);
        let mut tick = 0;
        loop {
            let input = tokio::select! {
                item = self.stream.next() => WatchInput::Item(item),
                reading = next_reading(&mut self.reading) => WatchInput::Reading(Box::new(reading)),
                Ok(()) = self.link.changed() => WatchInput::Link,
                _ = ticks.tick() => WatchInput::Tick,
                () = self.interrupts.next() => WatchInput::Left(ExitStatus::Interrupted),
                () = &mut leave => WatchInput::Left(ExitStatus::Done),
            };
            match input {
                WatchInput::Tick => {
                    tick += 1;
                    let screen = self.screen();
                    let frame = view::frame(&self.watched, &screen, tick / TICKS_PER_SPINNER_STEP);
                    display.draw(frame, screen.width)?;
                }
                WatchInput::Left(how) => return Ok(Some(how)),
                other => {
                    self.handle_input(other)?;
                }
            }
            if self.is_over() {
                return Ok(None);
            }
        }
    }

    /// Prints one line per event, or the events as JSON. Returns as [`LoopWatcher::run_live`] does.
    async fn run_lines(&mut self) -> Result<Option<ExitStatus>, CommandFailure> {
        let terminal = &self.commands.context.terminal;
        loop {
            let input = tokio::select! {
                item = self.stream.next() => WatchInput::Item(item),
                reading = next_reading(&mut self.reading) => WatchInput::Reading(Box::new(reading)),
                Ok(()) = self.link.changed() => WatchInput::Link,
                () = self.interrupts.next() => WatchInput::Left(ExitStatus::Interrupted),
            };
            if let WatchInput::Left(how) = input {
                return Ok(Some(how));
            }
            let was_away = self.watched.is_away;
            let event = self.handle_input(input)?;
            if was_away != self.watched.is_away {
                Terminal::note(if was_away {
                    "The daemon is back."
                } else {
                    "The daemon is away; waiting for it."
                });
            }
            if let Some(event) = event {
                if terminal.json {
                    terminal.document(&event_json(&event))?;
                } else if let Some(line) = event_line::event_line(&event, &self.screen()) {
                    terminal.line(line)?;
                }
                terminal.flush()?;
            }
            if self.is_over() {
                return Ok(None);
            }
        }
    }

    /// Handles an input; returns the event if it is about this loop.
    fn handle_input(&mut self, input: WatchInput) -> Result<Option<BusEvent>, CommandFailure> {
        match input {
            WatchInput::Item(Some(Ok(StreamItem::Event(event)))) => {
                let now = self.commands.context.host.clock.wall_ms();
                let effect = self.watched.apply_event(&event, now);
                if effect.wants_reading {
                    self.begin_reading(Duration::ZERO);
                }
                return Ok(effect.is_about_loop.then_some(event));
            }
            // Events were lost, so the loop's state is read again.
            WatchInput::Item(Some(Ok(StreamItem::Gap(_)))) => self.begin_reading(Duration::ZERO),
            WatchInput::Item(Some(Err(error))) => return Err(error.into()),
            WatchInput::Item(None) => return Err(ClientError::Closed.into()),
            WatchInput::Reading(reading) => self.apply_reading(*reading),
            WatchInput::Link => {
                let state = *self.link.borrow_and_update();
                self.watched.is_away = state == ConnectionState::Searching;
                // Some events, such as run deltas, are not logged and so not replayed.
                if state == ConnectionState::Connected {
                    self.begin_reading(Duration::ZERO);
                }
            }
            WatchInput::Tick | WatchInput::Left(_) => {}
        }
        Ok(None)
    }

    fn apply_reading(&mut self, reading: Result<LoopReading, CommandFailure>) {
        match reading {
            Ok(reading) => {
                if self.watched.apply_reading(reading) {
                    self.begin_reading(REREAD_DELAY);
                }
            }
            Err(failure) if failure.exit == ExitStatus::NotFound => self.watched.is_deleted = true,
            // A failed reading is not fatal: events still arrive, or the connection state shows
            // the problem.
            Err(_) => {}
        }
    }

    fn begin_reading(&mut self, after: Duration) {
        // Taken before the delay, so that events during the delay outdate the reading too.
        let (commands, asked_at) = (self.commands, self.watched.changes);
        // One reading at a time is enough: an outdated one is repeated when it arrives.
        if self.reading.is_none() {
            self.reading = Some(Box::pin(async move {
                tokio::time::sleep(after).await;
                fetch_reading(commands, asked_at).await
            }));
        }
    }

    fn is_over(&self) -> bool {
        self.watched.end.is_some() || self.watched.is_deleted
    }

    /// The screen as it is now.
    fn screen(&self) -> ScreenStyle {
        let context = self.commands.context;
        let screen = Terminal::remeasured(context.terminal.screen());
        ScreenStyle {
            now_ms: context.host.clock.wall_ms(),
            ..screen
        }
    }

    /// Prints the loop's state after the view has closed, and how to come back to it.
    fn report_exit(&self, left: Option<ExitStatus>) -> Result<(), CommandFailure> {
        let name = one_line(&self.commands.name);
        let terminal = &self.commands.context.terminal;
        if let Some(how) = left {
            let goes_on = if self.watched.state.running {
                format!("{name} keeps running; hob loop watch {name} shows it again.")
            } else {
                format!("{name} is not running; start it: hob loop start {name}")
            };
            Terminal::note(terminal.stderr_screen().paint(TextTone::Quiet, &goes_on));
            return match how {
                ExitStatus::Done => Ok(()),
                other => Err(CommandFailure::quiet(other)),
            };
        }
        let Some((end, message)) = &self.watched.end else {
            Terminal::note(format!("{name} was deleted."));
            return Ok(());
        };
        let sentence = crate::run_ui::lines::sentence(message);
        if *end == LoopEnd::Errors {
            return Err(
                CommandFailure::new(ExitStatus::Failed, "LOOP_FAILED", sentence)
                    .next(format!("See why: hob loop history {name}")),
            );
        }
        if !terminal.json && terminal.screen().rows.is_some() {
            let answer = self.watched.past.front();
            if let Some(past) = answer {
                terminal.line(format!("{}: {}", past.iteration, past.summary))?;
            }
            Terminal::note(terminal.stderr_screen().paint(TextTone::Quiet, &sentence));
        }
        self.outcome(*end)
    }

    /// Returns the exit status that follows from the watched iterations.
    fn outcome(&self, end: LoopEnd) -> Result<(), CommandFailure> {
        let name = one_line(&self.commands.name);
        let history = format!("See more: hob loop history {name}");
        if let Some(denied) = &self.watched.denied {
            let failure = CommandFailure::new(ExitStatus::Denied, "DENIED", one_line(denied));
            return Err(failure.next(history));
        }
        let once = self.watched.last.as_ref().filter(|_| end == LoopEnd::Once);
        let Some(last) = once.filter(|last| last.outcome != WorkOutcome::Ran) else {
            return Ok(());
        };
        let failure =
            CommandFailure::new(ExitStatus::Failed, "LOOP_FAILED", one_line(&last.message));
        Err(failure.next(history))
    }
}

async fn next_reading(
    reading: &mut Option<PendingReading<'_>>,
) -> Result<LoopReading, CommandFailure> {
    let Some(under_way) = reading else {
        return std::future::pending().await;
    };
    let done = under_way.await;
    *reading = None;
    done
}

/// Reads the loop, its last iterations and its current run.
async fn fetch_reading(
    commands: &LoopCommands<'_>,
    asked_at: u64,
) -> Result<LoopReading, CommandFailure> {
    let one = commands
        .client
        .call_with_retry::<Get>(&commands.params())
        .await?;
    let history = commands
        .fetch_iterations(None, HISTORY_ITERATIONS)
        .await?
        .iterations;
    let at_work = one.state.phase == LoopPhase::Prompt;
    let run = match one.state.run_id.filter(|_| at_work) {
        Some(run_id) => {
            let selector = RunSelector {
                run_id: Some(run_id),
                session_key: None,
            };
            commands
                .client
                .call_with_retry::<Status>(&selector)
                .await
                .ok()
        }
        None => None,
    };
    Ok(LoopReading {
        one,
        history,
        run,
        asked_at,
    })
}
