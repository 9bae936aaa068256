//! The event loop of one followed run: shows its events and sends a person's answers.
//!
//! Invariants: every question is shown to a person or answered at once, never left to its deadline;
//! the first Ctrl-C stops the run, the second ends the command.

use super::follow_run::{InterruptSignals, RunUiContext};
use super::followed_event::{FollowedEvent, parse_event};
use super::lines;
use super::outcome::{FollowOutcome, WaitingQuestion};
use super::pending_calls::{PendingCalls, PendingReply};
use super::question::UserQuestion;
use super::run_display::RunDisplay;
use super::shown_notices::ShownNotices;
use crate::commands::events::event_json;
use crate::failure::{CommandFailure, ExitStatus};
use crate::progress_line::ProgressLine;
use crate::render::TextTone;
use crate::terminal::Terminal;
use hob_client::{BusEvent, ClientError, ConnectionState, FollowItem, SessionFollower};
use hob_core::transcript::ListChange;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, RunCompletedPayload, RunRef, RunSelector, RunServerPayload, RunState, RunView,
};
use hob_wire::work::RunEndCause;
use std::collections::VecDeque;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The most events kept while a question is on the screen; beyond that the stream is not read.
const BACKLOG_MAX: usize = 4_096;
/// The wait for stopping a run, including a reconnection to the daemon.
const STOP_WAIT: Duration = Duration::from_secs(15);
/// The wait for the end of a run after it was stopped.
const END_WAIT: Duration = Duration::from_secs(5);
/// The wait for stopping a run when stdout is closed.
const LEAVE_WAIT: Duration = Duration::from_secs(2);

/// The silence of a model before a note says that hob waits for it.
const SILENCE_TOLD_AFTER: Duration = Duration::from_secs(1);
/// The interval of updating that note.
const SILENCE_LOOK: Duration = Duration::from_millis(250);

/// A run being followed.
pub(super) struct RunWatcher<'c> {
    ui: RunUiContext<'c>,
    stream: SessionFollower,
    link: watch::Receiver<ConnectionState>,
    run: RunId,
    /// The run with its session.
    run_ref: RunRef,
    started_at: Instant,
    display: RunDisplay<'c>,
    pending: PendingCalls<'c>,
    /// Blocks changed while a question was on the screen.
    is_stale: bool,
    /// Questions queued behind the one on the screen.
    waiting: VecDeque<UserQuestion>,
    /// Events that came while a question was on the screen.
    backlog: VecDeque<BusEvent>,
    outcome: FollowOutcome,
    /// The note about the silence before the first event, on a terminal; a local model may have to
    /// start.
    silence: Option<ProgressLine>,
    /// The deadline of waiting for the end of a stopped run, or for the last blocks of an ended one.
    leave_at: Option<Instant>,
    /// The last blocks did not come in time.
    gave_up: bool,
}

/// An event of the loop.
enum WatcherEvent {
    Item(Option<Result<FollowItem, ClientError>>),
    Interrupted,
    Replied(PendingReply),
    Link,
    Overdue,
    Silence,
}

impl<'c> RunWatcher<'c> {
    pub(super) fn new(
        ui: RunUiContext<'c>,
        stream: SessionFollower,
        of: RunRef,
        step: u32,
    ) -> Self {
        let screen = ui.context.terminal.stderr_screen();
        let for_a_person = screen.rows.is_some() && !ui.context.terminal.json;
        RunWatcher {
            silence: for_a_person.then(|| ProgressLine::new(screen, false)),
            link: stream.state(),
            stream,
            run: of.run_id,
            started_at: Instant::now(),
            display: RunDisplay::new(&ui.context.terminal, of.run_id, step),
            run_ref: of,
            is_stale: false,
            pending: PendingCalls::default(),
            waiting: VecDeque::new(),
            backlog: VecDeque::new(),
            outcome: FollowOutcome::default(),
            leave_at: None,
            gave_up: false,
            ui,
        }
    }

    /// Starts with the questions from before the subscription, and looks whether the run has ended.
    pub(super) fn begin_joined(&mut self, questions: Vec<UserQuestion>) {
        self.waiting.extend(questions);
        self.pending.ask_status(self.ui.client, self.run);
    }

    pub(super) async fn end(
        &mut self,
        interrupts: &mut InterruptSignals,
    ) -> Result<FollowOutcome, CommandFailure> {
        let ended = self.until_end(interrupts).await;
        if ended.is_err() {
            // The error comes next, and must not run into the answer. A closed stdout has no line.
            let _ = self.display.break_line();
        }
        if let Err(failure) = &ended
            && failure.exit == ExitStatus::Done
        {
            // Stdout is closed (`hob ask … | head`), so nobody reads the rest of the run.
            let selector = selector(self.run);
            let stop = self.ui.client.call::<Abort>(&selector);
            drop(tokio::time::timeout(LEAVE_WAIT, stop).await);
        }
        ended?;
        let took = self.started_at.elapsed().as_millis();
        self.outcome.took_ms = u64::try_from(took).unwrap_or(u64::MAX);
        self.outcome.refused = self.display.take_refused();
        Ok(std::mem::take(&mut self.outcome))
    }

    async fn until_end(&mut self, interrupts: &mut InterruptSignals) -> Result<(), CommandFailure> {
        loop {
            self.ask_next_question()?;
            if self.is_over() {
                if let Some(completed) = &self.outcome.completed {
                    let notes = &completed.notes;
                    self.display.finish(self.stream.blocks(), notes)?;
                }
                return self.display.break_line();
            }
            if self.is_stale && !self.pending.is_asking() {
                self.is_stale = false;
                self.display.refresh(self.stream.blocks())?;
            }
            if let Some(event) = self.next_backlog() {
                self.handle_event(&event)?;
                continue;
            }
            // A full backlog stops reading the stream: backpressure instead of unbounded memory.
            let has_room = self.backlog.len() < BACKLOG_MAX;
            let woken = tokio::select! {
                item = self.stream.next(), if has_room => WatcherEvent::Item(item),
                reply = self.pending.next_reply() => WatcherEvent::Replied(reply),
                () = interrupts.next() => WatcherEvent::Interrupted,
                Ok(()) = self.link.changed() => WatcherEvent::Link,
                () = sleep_until(self.leave_at) => WatcherEvent::Overdue,
                () = tokio::time::sleep(SILENCE_LOOK), if self.silence.is_some() => WatcherEvent::Silence,
            };
            self.handle_wakeup(woken)?;
        }
    }

    /// Returns true when the run is over. Its end may arrive before its last blocks, and before the
    /// reply of the stop, whose report must still be shown.
    fn is_over(&self) -> bool {
        let is_shown = self.gave_up || self.stream.is_current();
        let completed = self.outcome.completed.is_some() && is_shown;
        completed && !self.pending.is_stopping() || self.outcome.waits.is_some()
    }

    fn handle_wakeup(&mut self, woken: WatcherEvent) -> Result<(), CommandFailure> {
        if !matches!(woken, WatcherEvent::Silence)
            && let Some(silence) = &mut self.silence
        {
            silence.clear();
        }
        match woken {
            WatcherEvent::Silence => {
                self.show_silence();
                Ok(())
            }
            WatcherEvent::Item(Some(Ok(FollowItem::Event(event)))) => self.receive_event(event),
            WatcherEvent::Item(Some(Ok(FollowItem::Blocks(changes)))) => self.show_blocks(&changes),
            // The event log dropped events, so the state comes from the run itself.
            WatcherEvent::Item(Some(Ok(FollowItem::Gap(_)))) => {
                self.pending.ask_status(self.ui.client, self.run);
                Ok(())
            }
            WatcherEvent::Item(Some(Err(error))) => Err(error.into()),
            WatcherEvent::Item(None) => Err(ClientError::Closed.into()),
            WatcherEvent::Interrupted => self.handle_interrupt(),
            WatcherEvent::Replied(reply) => self.handle_reply(reply),
            WatcherEvent::Link => {
                let state = *self.link.borrow_and_update();
                self.show_connection(state)
            }
            WatcherEvent::Overdue if self.outcome.completed.is_some() => {
                self.pending.give_up_stopping();
                self.gave_up = true;
                Ok(())
            }
            WatcherEvent::Overdue => {
                self.outcome.waits = Some(WaitingQuestion {
                    sentence: "The run was asked to stop and has not ended yet.".to_owned(),
                    next: format!("`hob run show {}` shows it.", self.run),
                });
                Ok(())
            }
        }
    }

    fn show_blocks(&mut self, changes: &[ListChange]) -> Result<(), CommandFailure> {
        if self.pending.is_asking() {
            self.is_stale = true;
            return Ok(());
        }
        let blocks = self.stream.blocks();
        let mut own = blocks
            .iter()
            .rev()
            .take_while(|it| it.run_id == Some(self.run));
        if self.silence.is_some() && own.any(|block| block.details.step.is_some()) {
            self.silence = None;
        }
        self.display.blocks(blocks, changes)
    }

    fn show_silence(&mut self) {
        let silent = self.started_at.elapsed();
        if let Some(silence) = &mut self.silence
            && silent >= SILENCE_TOLD_AFTER
            && !self.pending.is_asking()
        {
            silence.show(&format!("  waiting for the model … {} s", silent.as_secs()));
        }
    }

    fn receive_event(&mut self, event: BusEvent) -> Result<(), CommandFailure> {
        if !self.pending.is_asking() {
            return self.handle_event(&event);
        }
        // With a question on the screen, only events that end the question are handled at once.
        match parse_event(&event, &self.run_ref) {
            Some(FollowedEvent::Answered(_) | FollowedEvent::Completed(_)) => {
                self.handle_event(&event)
            }
            Some(_) => {
                self.backlog.push_back(event);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn next_backlog(&mut self) -> Option<BusEvent> {
        if self.pending.is_asking() {
            return None;
        }
        self.backlog.pop_front()
    }

    fn handle_event(&mut self, event: &BusEvent) -> Result<(), CommandFailure> {
        let Some(parsed) = parse_event(event, &self.run_ref) else {
            return Ok(());
        };
        let terminal = &self.ui.context.terminal;
        if terminal.json {
            terminal.document(&event_json(event))?;
            // Each event is flushed, so that a reading program sees it at once.
            terminal.flush()?;
        }
        if !matches!(parsed, FollowedEvent::Other | FollowedEvent::Server(_)) {
            self.silence = None;
        }
        match parsed {
            FollowedEvent::Server(asked) => self.name_server(&asked),
            FollowedEvent::Output(output) => self.display.output(&output),
            FollowedEvent::Asked(asked) => {
                self.waiting.push_back(asked);
                Ok(())
            }
            FollowedEvent::Answered(answered) => {
                let is_it = |asked: &UserQuestion| match asked {
                    UserQuestion::Permission(question) => question.id == answered.id,
                    _ => false,
                };
                self.waiting.retain(|asked| !is_it(asked));
                if self.pending.withdraw(is_it) {
                    Terminal::note(format!("\n  {}", lines::answered_elsewhere(&answered)));
                }
                Ok(())
            }
            FollowedEvent::Completed(completed) => {
                self.completed(*completed);
                Ok(())
            }
            FollowedEvent::Other => Ok(()),
        }
    }

    /// Shows which server gets the prompt, the first time in this home; the demo model is named before
    /// each answer, because people take an answer for more.
    fn name_server(&mut self, asked: &RunServerPayload) -> Result<(), CommandFailure> {
        let context = self.ui.context;
        let line = lines::server_line(asked);
        let is_shown = if asked.demo {
            !std::mem::replace(&mut self.ui.is_demo_named, true)
        } else {
            !context.terminal.json && ShownNotices::is_first_server(&context.host.home, &line)
        };
        if !is_shown || context.terminal.json {
            return Ok(());
        }
        if let Some(silence) = &mut self.silence {
            silence.clear();
        }
        let line = self.display.asides().paint(TextTone::Quiet, &line);
        self.display.aside(line)
    }

    fn completed(&mut self, completed: RunCompletedPayload) {
        self.pending.withdraw(|_| true);
        self.outcome.completed = Some(completed);
        self.leave_at.get_or_insert(Instant::now() + END_WAIT);
    }

    /// Shows the next question to the person. Without a person it is denied or left waiting.
    fn ask_next_question(&mut self) -> Result<(), CommandFailure> {
        if self.pending.is_asking() || self.outcome.interrupted || self.is_over() {
            return Ok(());
        }
        let Some(asked) = self.waiting.pop_front() else {
            return Ok(());
        };
        self.display.make_room()?;
        if let Some(person) = self.ui.person {
            let screen = self.display.asides();
            self.pending.ask(asked, person, screen, self.ui.client);
            return Ok(());
        }
        match asked {
            UserQuestion::Permission(question) => {
                self.outcome.denied.push(lines::permission(&question));
                self.pending.deny(*question, self.ui.client);
            }
            other => self.outcome.waits = Some(WaitingQuestion::of(&other)),
        }
        Ok(())
    }

    fn handle_reply(&mut self, reply: PendingReply) -> Result<(), CommandFailure> {
        match reply {
            PendingReply::Status(Ok(view)) => {
                self.status(*view);
                Ok(())
            }
            PendingReply::Stopped(Ok(stopped)) => {
                self.leave_at = Some(Instant::now() + END_WAIT);
                let screen = self.display.asides();
                let mine = stopped.runs.iter().find(|view| view.run_id == self.run);
                for line in mine
                    .map(|view| lines::stop_report(view, screen))
                    .unwrap_or_default()
                {
                    self.display.aside(line)?;
                }
                Ok(())
            }
            PendingReply::Stopped(Err(error)) => {
                self.leave_at = Some(Instant::now() + END_WAIT);
                self.display
                    .aside(format!("The run could not be stopped: {error}"))
            }
            // After a failed status a later event of the run shows its end.
            PendingReply::Status(Err(_)) | PendingReply::Answered(Ok(())) => Ok(()),
            PendingReply::Answered(Err(failure)) => self.handle_failed_answer(&failure),
            PendingReply::Stop => self.stop(),
            PendingReply::Later(asked) => {
                self.outcome.waits = Some(WaitingQuestion::of(&asked));
                Ok(())
            }
        }
    }

    fn status(&mut self, view: RunView) {
        if view.state == RunState::Done {
            // The last event may be lost in a gap, so the status ends the run too.
            self.completed(completed_from_view(view));
        }
    }

    /// Handles an answer that failed. A question that is gone needs no answer. Otherwise, such as
    /// without the scope to answer, it stops the run, which would wait for somebody else.
    fn handle_failed_answer(&mut self, failure: &CommandFailure) -> Result<(), CommandFailure> {
        if failure.exit == ExitStatus::NotFound {
            return Ok(());
        }
        self.display.aside(failure.text())?;
        self.stop()
    }

    fn handle_interrupt(&mut self) -> Result<(), CommandFailure> {
        // A second Ctrl-C ends the command without waiting for the stop.
        if self.outcome.interrupted {
            return Err(CommandFailure::quiet(ExitStatus::Interrupted));
        }
        self.stop()
    }

    fn stop(&mut self) -> Result<(), CommandFailure> {
        self.outcome.interrupted = true;
        self.pending.withdraw(|_| true);
        self.waiting.clear();
        self.pending.stop(self.ui.client, self.run);
        self.leave_at = Some(Instant::now() + STOP_WAIT);
        // The terminal has echoed ^C; the carriage return overwrites it.
        let begin = self.display.asides().width.map_or("", |_| "\r");
        self.display.aside(format!("{begin}Stopping …"))
    }

    /// Shows when the connection to the daemon is lost or restored.
    fn show_connection(&mut self, state: ConnectionState) -> Result<(), CommandFailure> {
        match state {
            ConnectionState::Searching => self
                .display
                .aside("The daemon is away; waiting for it.".to_owned()),
            ConnectionState::Connected => self
                .display
                .aside("The daemon is back; the run continues.".to_owned()),
            ConnectionState::Ended => Ok(()),
        }
    }
}

async fn sleep_until(at: Option<Instant>) {
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

/// Builds the end of a run from its status.
fn completed_from_view(view: RunView) -> RunCompletedPayload {
    let cause = view.cause.unwrap_or(RunEndCause::Answered);
    RunCompletedPayload {
        run: RunRef {
            session_key: view.session_key,
            run_id: view.run_id,
        },
        response: view.text,
        success: cause == RunEndCause::Answered,
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
