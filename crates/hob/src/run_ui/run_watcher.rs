//! Following one run: hears its events, shows them, and carries a person's answers back.
//!
//! Invariants: every question is either put to a person or answered at once, never left to its
//! deadline; the first Ctrl-C stops the run, the second leaves.

use super::duty::{Duty, Reply};
use super::ending::{Ending, Wait};
use super::heard::{Heard, heard};
use super::lines;
use super::offer::Notices;
use super::question::Asked;
use super::shown::Shown;
use super::talk::{Interrupts, Setting};
use crate::commands::events::document;
use crate::failure::{Exit, Failure};
use crate::render::Tone;
use crate::terminal::Terminal;
use crate::ticker::Ticker;
use hob_client::{ClientError, Event, EventStream, Item, LinkState};
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, RunCompletedPayload, RunOf, RunSelector, RunServerPayload, RunState, RunView,
};
use hob_wire::work::Cause;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// Events kept while a question is on the screen; beyond that the stream itself waits.
const BACKLOG_MAX: usize = 4_096;
/// How long stopping a run is awaited, its daemon being found again included.
const STOP_WAIT: Duration = Duration::from_secs(15);
/// How long the end of a run is awaited after it was stopped.
const END_WAIT: Duration = Duration::from_secs(5);
/// How long stopping a run may take when nobody reads its words any more.
const LEAVE_WAIT: Duration = Duration::from_secs(2);

/// How long a model may be silent before a person is told that it is waited for.
const SILENCE_TOLD_AFTER: Duration = Duration::from_secs(1);
/// Between two looks at how long it has been silent.
const SILENCE_LOOK: Duration = Duration::from_millis(250);

/// A run being followed.
pub(super) struct Following<'c> {
    setting: Setting<'c>,
    stream: EventStream,
    link: watch::Receiver<LinkState>,
    run: RunId,
    /// The same with its session.
    of: RunOf,
    began: Instant,
    shown: Shown<'c>,
    duty: Duty<'c>,
    /// Questions behind the one on the screen.
    waiting: VecDeque<Asked>,
    /// Events that came while a question was on the screen.
    backlog: VecDeque<Event>,
    ending: Ending,
    /// How long nothing of the run has been seen, for a person; a local model may have to start.
    silence: Option<Ticker>,
    /// When to stop waiting for the end of a stopped run.
    leave_at: Option<Instant>,
}

/// What wakes the loop.
enum Woken {
    Item(Option<Result<Item, ClientError>>),
    Interrupted,
    Replied(Reply),
    Link,
    Overdue,
    Silence,
}

impl<'c> Following<'c> {
    pub(super) fn new(setting: Setting<'c>, stream: EventStream, of: RunOf, step: u32) -> Self {
        let screen = setting.context.terminal.asides();
        let for_a_person = screen.rows.is_some() && !setting.context.terminal.json;
        Following {
            silence: for_a_person.then(|| Ticker::new(screen, false)),
            link: stream.state(),
            stream,
            run: of.run_id,
            of,
            began: Instant::now(),
            shown: Shown::new(&setting.context.terminal, step),
            duty: Duty::default(),
            waiting: VecDeque::new(),
            backlog: VecDeque::new(),
            ending: Ending::default(),
            leave_at: None,
            setting,
        }
    }

    /// Starts with what the run has said and asked before anybody listened.
    pub(super) fn begin_on_the_way(&mut self, questions: Vec<Asked>) {
        self.waiting.extend(questions);
        self.duty.ask_status(self.setting.client, self.run);
    }

    pub(super) async fn end(&mut self, interrupts: &mut Interrupts) -> Result<Ending, Failure> {
        let ended = self.until_end(interrupts).await;
        if let Err(failure) = &ended
            && failure.exit == Exit::Done
        {
            // The reader of our words is gone, so nobody wants them any more.
            let selector = selector(self.run);
            let stop = self.setting.client.call::<Abort>(&selector);
            drop(tokio::time::timeout(LEAVE_WAIT, stop).await);
        }
        ended?;
        let took = self.began.elapsed().as_millis();
        self.ending.took_ms = u64::try_from(took).unwrap_or(u64::MAX);
        Ok(std::mem::take(&mut self.ending))
    }

    async fn until_end(&mut self, interrupts: &mut Interrupts) -> Result<(), Failure> {
        loop {
            self.next_question()?;
            if self.is_over() {
                return self.shown.break_line();
            }
            if let Some(event) = self.next_backlog() {
                self.event(&event)?;
                continue;
            }
            let has_room = self.backlog.len() < BACKLOG_MAX;
            let woken = tokio::select! {
                item = self.stream.next(), if has_room => Woken::Item(item),
                reply = self.duty.reply() => Woken::Replied(reply),
                () = interrupts.next() => Woken::Interrupted,
                Ok(()) = self.link.changed() => Woken::Link,
                () = overdue(self.leave_at) => Woken::Overdue,
                () = tokio::time::sleep(SILENCE_LOOK), if self.silence.is_some() => Woken::Silence,
            };
            self.wake(woken)?;
        }
    }

    /// The end of a stopped run may be told before what had happened is.
    fn is_over(&self) -> bool {
        let completed = self.ending.completed.is_some() && !self.duty.is_stopping();
        completed || self.ending.waits.is_some()
    }

    fn wake(&mut self, woken: Woken) -> Result<(), Failure> {
        if !matches!(woken, Woken::Silence)
            && let Some(silence) = &mut self.silence
        {
            silence.clear();
        }
        match woken {
            Woken::Silence => {
                self.tell_silence();
                Ok(())
            }
            Woken::Item(Some(Ok(Item::Event(event)))) => self.arrived(event),
            // The log lost some of it: the run itself knows how it stands.
            Woken::Item(Some(Ok(Item::Gap(_)))) => {
                self.duty.ask_status(self.setting.client, self.run);
                Ok(())
            }
            Woken::Item(Some(Err(error))) => Err(error.into()),
            Woken::Item(None) => Err(ClientError::Closed.into()),
            Woken::Interrupted => self.interrupted(),
            Woken::Replied(reply) => self.replied(reply),
            Woken::Link => {
                let state = *self.link.borrow_and_update();
                self.tell(state)
            }
            Woken::Overdue if self.ending.completed.is_some() => {
                self.duty.give_up_stopping();
                Ok(())
            }
            Woken::Overdue => {
                self.ending.waits = Some(Wait {
                    sentence: "The run was told to stop and has not said its end.".to_owned(),
                    next: format!("`hob run show {}` shows it.", self.run),
                });
                Ok(())
            }
        }
    }

    fn tell_silence(&mut self) {
        let silent = self.began.elapsed();
        if let Some(silence) = &mut self.silence
            && silent >= SILENCE_TOLD_AFTER
            && !self.duty.is_asking()
        {
            silence.show(&format!("  waiting for the model … {} s", silent.as_secs()));
        }
    }

    fn arrived(&mut self, event: Event) -> Result<(), Failure> {
        if !self.duty.is_asking() {
            return self.event(&event);
        }
        // With a question on the screen only what makes it void is heard at once.
        match heard(&event, &self.of) {
            Some(Heard::Answered(_) | Heard::Completed(_)) => self.event(&event),
            Some(_) => {
                self.backlog.push_back(event);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn next_backlog(&mut self) -> Option<Event> {
        if self.duty.is_asking() {
            return None;
        }
        self.backlog.pop_front()
    }

    fn event(&mut self, event: &Event) -> Result<(), Failure> {
        let Some(heard) = heard(event, &self.of) else {
            return Ok(());
        };
        let terminal = &self.setting.context.terminal;
        if terminal.json {
            terminal.document(&document(event))?;
            terminal.flush()?;
        }
        if !matches!(heard, Heard::Other | Heard::Server(_)) {
            self.silence = None;
        }
        match heard {
            Heard::Server(asked) => self.name_server(&asked),
            Heard::Piece(delta) => {
                self.shown.piece(&delta)?;
                if self.shown.wants_status() {
                    self.duty.ask_status(self.setting.client, self.run);
                }
                Ok(())
            }
            Heard::Tool(tool) => {
                if let Some(denial) = &tool.denial {
                    let words = lines::call_words(&tool.call);
                    self.ending.refused.insert(denial.call_id.clone(), words);
                }
                self.shown.tool(&tool)
            }
            Heard::Output(output) => self.shown.output(&output),
            Heard::Step(step) => self.shown.step(&step),
            Heard::Asked(asked) => {
                self.waiting.push_back(asked);
                Ok(())
            }
            Heard::Answered(answered) => {
                let is_it = |asked: &Asked| match asked {
                    Asked::Permission(question) => question.id == answered.id,
                    _ => false,
                };
                self.waiting.retain(|asked| !is_it(asked));
                if self.duty.withdraw(is_it) {
                    Terminal::note(format!("\n  {}", lines::answered_elsewhere(&answered)));
                }
                Ok(())
            }
            Heard::Completed(completed) => self.completed(*completed),
            Heard::Other => Ok(()),
        }
    }

    /// Says who gets the prompt, the first time in this home.
    fn name_server(&mut self, asked: &RunServerPayload) -> Result<(), Failure> {
        let context = self.setting.context;
        let line = lines::asking(asked);
        if context.terminal.json || !Notices::is_first_server(&context.world.home, &line) {
            return Ok(());
        }
        if let Some(silence) = &mut self.silence {
            silence.clear();
        }
        let line = self.shown.asides().paint(Tone::Quiet, &line);
        self.shown.aside(line)
    }

    fn completed(&mut self, completed: RunCompletedPayload) -> Result<(), Failure> {
        self.duty.withdraw(|_| true);
        self.shown.completed(&completed)?;
        self.ending.completed = Some(completed);
        Ok(())
    }

    /// Puts the next question to the person, or answers it at once when there is none.
    fn next_question(&mut self) -> Result<(), Failure> {
        if self.duty.is_asking() || self.ending.interrupted || self.is_over() {
            return Ok(());
        }
        let Some(asked) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.shown.make_room()?;
        if let Some(person) = self.setting.person {
            let screen = self.shown.asides();
            self.duty.ask(asked, person, screen, self.setting.client);
            return Ok(());
        }
        match asked {
            Asked::Permission(question) => {
                self.ending.denied.push(lines::permission(&question));
                self.duty.deny(*question, self.setting.client);
            }
            other => self.ending.waits = Some(Wait::of(&other)),
        }
        Ok(())
    }

    fn replied(&mut self, reply: Reply) -> Result<(), Failure> {
        match reply {
            Reply::Status(Ok(view)) => self.status(*view),
            Reply::Status(Err(_)) => {
                self.shown.status_failed();
                Ok(())
            }
            Reply::Stopped(Ok(stopped)) => {
                self.leave_at = Some(Instant::now() + END_WAIT);
                let screen = self.shown.asides();
                let mine = stopped.runs.iter().find(|view| view.run_id == self.run);
                for line in mine
                    .map(|view| lines::happened(view, screen))
                    .unwrap_or_default()
                {
                    self.shown.aside(line)?;
                }
                Ok(())
            }
            Reply::Stopped(Err(error)) => {
                self.leave_at = Some(Instant::now() + END_WAIT);
                self.shown
                    .aside(format!("It could not be stopped: {error}"))
            }
            Reply::Answered(Ok(())) => Ok(()),
            Reply::Answered(Err(failure)) => self.unanswered(&failure),
            Reply::Stop => self.stop(),
            Reply::Later(asked) => {
                self.ending.waits = Some(Wait::of(&asked));
                Ok(())
            }
        }
    }

    fn status(&mut self, view: RunView) -> Result<(), Failure> {
        if view.state == RunState::Done {
            // Its last event is on the way unless the log lost it; either way this is the end.
            return self.completed(completed_of(view));
        }
        self.shown.status(&view)
    }

    /// An answer that did not arrive: a question that is gone needs none, without the scope to
    /// answer the run would wait for somebody else.
    fn unanswered(&mut self, failure: &Failure) -> Result<(), Failure> {
        if failure.exit == Exit::NotFound {
            return Ok(());
        }
        self.shown.aside(failure.text())?;
        self.stop()
    }

    fn interrupted(&mut self) -> Result<(), Failure> {
        if self.ending.interrupted {
            return Err(Failure::quiet(Exit::Interrupted));
        }
        self.stop()
    }

    fn stop(&mut self) -> Result<(), Failure> {
        self.ending.interrupted = true;
        self.duty.withdraw(|_| true);
        self.waiting.clear();
        self.duty.stop(self.setting.client, self.run);
        self.leave_at = Some(Instant::now() + STOP_WAIT);
        // The terminal has shown the key; the line begins over it.
        let begin = self.shown.asides().width.map_or("", |_| "\r");
        self.shown.aside(format!("{begin}Stopping …"))
    }

    /// Says when the daemon goes and comes back.
    fn tell(&mut self, state: LinkState) -> Result<(), Failure> {
        match state {
            LinkState::Searching => self
                .shown
                .aside("The daemon is away; waiting for it.".to_owned()),
            LinkState::Connected => self
                .shown
                .aside("The daemon is back; the run goes on.".to_owned()),
            LinkState::Ended => Ok(()),
        }
    }
}

async fn overdue(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at).await,
        None => std::future::pending().await,
    }
}

pub(super) fn selector(run: RunId) -> RunSelector {
    RunSelector {
        run_id: Some(run),
        session_key: None,
    }
}

/// The end of a run as its status tells it.
fn completed_of(view: RunView) -> RunCompletedPayload {
    let cause = view.cause.unwrap_or(Cause::Answered);
    RunCompletedPayload {
        of: RunOf {
            session_key: view.session_key,
            run_id: view.run_id,
        },
        response: view.text,
        success: cause == Cause::Answered,
        cause,
        message: None,
        cost: view.cost,
        model: view.model,
        notes: view.notes,
        denied: view
            .calls
            .into_iter()
            .filter_map(|call| call.denial)
            .collect(),
    }
}
