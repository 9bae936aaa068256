//! `hob loop watch`: a loop as it works, on a live screen, as lines, or as events.
//!
//! Invariants: it is listened to before it is read, so nothing falls in between; the terminal is
//! as it was when the view is left, however that happens; leaving never stops the loop.

mod line;
mod seen;
mod stage;
mod view;

use super::Desk;
use crate::commands::events::document;
use crate::failure::{Exit, Failure};
use crate::mind::person::Person;
use crate::mind::talk::Interrupts;
use crate::render::words::one_line;
use crate::render::{Screen, Tone};
use crate::terminal::Terminal;
use hob_client::{ClientError, Event, EventStream, Item, LinkState, Subscription};
use hob_wire::rooms::agent::{RunSelector, Status};
use hob_wire::rooms::loops::{Get, LoopEnd, LoopPhase, WorkOutcome};
use seen::{Reading, Seen};
use stage::Stage;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;

/// What a watcher listens to: the loop, and the words of its runs.
const TOPICS: [&str; 4] = ["loop.*", "run.delta", "run.step", "run.tool"];
/// Between two looks at whether the screen must be drawn anew.
const TICK: Duration = Duration::from_millis(100);
/// Ticks between two letters of the spinner and two seconds of a countdown.
const TICKS_A_TURN: usize = 2;
/// Iterations that are read to begin with.
const PAST: u32 = 30;
/// How long a second reading waits when events came in between.
const READ_AGAIN: Duration = Duration::from_millis(300);

type Read<'d> = Pin<Box<dyn Future<Output = Result<Reading, Failure>> + 'd>>;

/// A loop being watched.
pub(super) struct Watch<'d> {
    desk: &'d Desk<'d>,
    stream: EventStream,
    link: watch::Receiver<LinkState>,
    interrupts: Interrupts,
    seen: Seen,
    reading: Option<Read<'d>>,
}

/// What wakes the watcher.
enum Woken {
    Item(Option<Result<Item, ClientError>>),
    Reading(Box<Result<Reading, Failure>>),
    Link,
    Tick,
    Left(Exit),
}

impl<'d> Watch<'d> {
    pub(super) async fn open(desk: &'d Desk<'d>) -> Result<Watch<'d>, Failure> {
        let interrupts = Interrupts::listen()?;
        let stream = desk.client.subscribe(Subscription::to(TOPICS)).await?;
        Ok(Watch {
            link: stream.state(),
            stream,
            interrupts,
            seen: Seen::new(&desk.name),
            reading: None,
            desk,
        })
    }

    /// Watches until the loop ends or the person leaves.
    pub(super) async fn run(mut self) -> Result<(), Failure> {
        let first = read(self.desk, 0).await?;
        let is_running = first.one.state.running;
        if self.seen.read(first) {
            self.begin_reading(Duration::ZERO);
        }
        let terminal = &self.desk.context.terminal;
        let is_live = !terminal.json && terminal.screen().rows.is_some();
        let left = if is_live {
            self.live().await?
        } else if is_running {
            self.lines().await?
        } else {
            let name = one_line(&self.desk.name);
            let word = crate::render::loops::state(&self.seen.state);
            Terminal::note(format!(
                "{name} is not running ({word}). Start it: hob loop start {name} --watch"
            ));
            return Ok(());
        };
        self.farewell(left)
    }

    /// The live view; returns how it was left.
    async fn live(&mut self) -> Result<Option<Exit>, Failure> {
        let terminal = &self.desk.context.terminal;
        let person = Person::find();
        let leave = async {
            let pressed = match &person {
                // Anything else that is typed is not shown either.
                Some(person) => person.next_key("", &['q']).await.is_ok(),
                None => false,
            };
            // A terminal that cannot be read still has Ctrl-C.
            if !pressed {
                std::future::pending::<()>().await;
            }
        };
        tokio::pin!(leave);
        let mut stage = Stage::enter(terminal)?;
        let mut ticks = tokio::time::interval(TICK);
        let mut tick = 0;
        loop {
            let woken = tokio::select! {
                item = self.stream.next() => Woken::Item(item),
                reading = next_reading(&mut self.reading) => Woken::Reading(Box::new(reading)),
                Ok(()) = self.link.changed() => Woken::Link,
                _ = ticks.tick() => Woken::Tick,
                () = self.interrupts.next() => Woken::Left(Exit::Interrupted),
                () = &mut leave => Woken::Left(Exit::Done),
            };
            match woken {
                Woken::Tick => {
                    tick += 1;
                    let screen = self.screen();
                    let frame = view::frame(&self.seen, &screen, tick / TICKS_A_TURN);
                    stage.draw(frame, screen.width)?;
                }
                Woken::Left(how) => return Ok(Some(how)),
                other => {
                    self.wake(other)?;
                }
            }
            if self.is_over() {
                return Ok(None);
            }
        }
    }

    /// One line for each event, or the events themselves.
    async fn lines(&mut self) -> Result<Option<Exit>, Failure> {
        let terminal = &self.desk.context.terminal;
        loop {
            let woken = tokio::select! {
                item = self.stream.next() => Woken::Item(item),
                reading = next_reading(&mut self.reading) => Woken::Reading(Box::new(reading)),
                Ok(()) = self.link.changed() => Woken::Link,
                () = self.interrupts.next() => Woken::Left(Exit::Interrupted),
            };
            if let Woken::Left(how) = woken {
                return Ok(Some(how));
            }
            let was_away = self.seen.is_away;
            let event = self.wake(woken)?;
            if was_away != self.seen.is_away {
                Terminal::note(if was_away {
                    "The daemon is back."
                } else {
                    "The daemon is away; waiting for it."
                });
            }
            if let Some(event) = event {
                if terminal.json {
                    terminal.document(&document(&event))?;
                } else if let Some(line) = line::line(&event, &self.screen()) {
                    terminal.line(line)?;
                }
                terminal.flush()?;
            }
            if self.is_over() {
                return Ok(None);
            }
        }
    }

    /// Takes what came; returns the event if it is one of this loop.
    fn wake(&mut self, woken: Woken) -> Result<Option<Event>, Failure> {
        match woken {
            Woken::Item(Some(Ok(Item::Event(event)))) => {
                let now = self.desk.context.world.clock.wall_ms();
                let effect = self.seen.event(&event, now);
                if effect.wants_reading {
                    self.begin_reading(Duration::ZERO);
                }
                return Ok(effect.is_ours.then_some(event));
            }
            // The log lost some of it: the loop itself knows how it stands.
            Woken::Item(Some(Ok(Item::Gap(_)))) => self.begin_reading(Duration::ZERO),
            Woken::Item(Some(Err(error))) => return Err(error.into()),
            Woken::Item(None) => return Err(ClientError::Closed.into()),
            Woken::Reading(reading) => self.took(*reading),
            Woken::Link => {
                let state = *self.link.borrow_and_update();
                self.seen.is_away = state == LinkState::Searching;
                // What is not in the log, such as the words of a run, is read anew.
                if state == LinkState::Connected {
                    self.begin_reading(Duration::ZERO);
                }
            }
            Woken::Tick | Woken::Left(_) => {}
        }
        Ok(None)
    }

    fn took(&mut self, reading: Result<Reading, Failure>) {
        match reading {
            Ok(reading) => {
                if self.seen.read(reading) {
                    self.begin_reading(READ_AGAIN);
                }
            }
            Err(failure) if failure.exit == Exit::NotFound => self.seen.is_deleted = true,
            // Events still come, or the link says what is wrong.
            Err(_) => {}
        }
    }

    fn begin_reading(&mut self, after: Duration) {
        let (desk, asked_at) = (self.desk, self.seen.changes);
        if self.reading.is_none() {
            self.reading = Some(Box::pin(async move {
                tokio::time::sleep(after).await;
                read(desk, asked_at).await
            }));
        }
    }

    fn is_over(&self) -> bool {
        self.seen.end.is_some() || self.seen.is_deleted
    }

    /// The screen as it is now.
    fn screen(&self) -> Screen {
        let context = self.desk.context;
        let screen = Terminal::measured(context.terminal.screen());
        Screen {
            now_ms: context.world.clock.wall_ms(),
            ..screen
        }
    }

    /// What is said when the view is gone: how the loop stands, and how to come back.
    fn farewell(&self, left: Option<Exit>) -> Result<(), Failure> {
        let name = one_line(&self.desk.name);
        let terminal = &self.desk.context.terminal;
        if let Some(how) = left {
            let goes_on = if self.seen.state.running {
                format!("{name} goes on; hob loop watch {name} comes back to it.")
            } else {
                format!("{name} is not running; hob loop start {name} starts it.")
            };
            Terminal::note(terminal.asides().paint(Tone::Quiet, &goes_on));
            return match how {
                Exit::Done => Ok(()),
                other => Err(Failure::quiet(other)),
            };
        }
        let Some((end, message)) = &self.seen.end else {
            Terminal::note(format!("{name} was deleted."));
            return Ok(());
        };
        let sentence = crate::mind::lines::sentence(message);
        if *end == LoopEnd::Errors {
            return Err(Failure::new(Exit::Failed, "LOOP_FAILED", sentence)
                .next(format!("See why: hob loop history {name}")));
        }
        if !terminal.json && terminal.screen().rows.is_some() {
            let answer = self.seen.past.front();
            if let Some(past) = answer {
                terminal.line(format!("{}: {}", past.iteration, past.words))?;
            }
            Terminal::note(terminal.asides().paint(Tone::Quiet, &sentence));
        }
        self.outcome(*end)
    }

    /// What the iterations that were watched mean for whoever waited for the end of the loop.
    fn outcome(&self, end: LoopEnd) -> Result<(), Failure> {
        let name = one_line(&self.desk.name);
        let history = format!("See more: hob loop history {name}");
        if let Some(denied) = &self.seen.denied {
            let failure = Failure::new(Exit::Denied, "DENIED", one_line(denied));
            return Err(failure.next(history));
        }
        let once = self.seen.last.as_ref().filter(|_| end == LoopEnd::Once);
        let Some(last) = once.filter(|last| last.outcome != WorkOutcome::Ran) else {
            return Ok(());
        };
        let failure = Failure::new(Exit::Failed, "LOOP_FAILED", one_line(&last.message));
        Err(failure.next(history))
    }
}

async fn next_reading(reading: &mut Option<Read<'_>>) -> Result<Reading, Failure> {
    let Some(under_way) = reading else {
        return std::future::pending().await;
    };
    let done = under_way.await;
    *reading = None;
    done
}

/// The loop, its last iterations, and the run that is under way.
async fn read(desk: &Desk<'_>, asked_at: u64) -> Result<Reading, Failure> {
    let one = desk.client.call_again::<Get>(&desk.params()).await?;
    let history = desk.iterations(None, PAST).await?.iterations;
    let at_work = one.state.phase == LoopPhase::Prompt;
    let run = match one.state.run_id.filter(|_| at_work) {
        Some(run_id) => {
            let selector = RunSelector {
                run_id: Some(run_id),
                session_key: None,
            };
            desk.client.call_again::<Status>(&selector).await.ok()
        }
        None => None,
    };
    Ok(Reading {
        one,
        history,
        run,
        asked_at,
    })
}
