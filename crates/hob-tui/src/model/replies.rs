//! What the daemon answered. Pure.

use super::{ActiveRun, Effect, Failure, ListReading, Model, Reply, Request};
use crate::screens::{Screen, ScreenData};
use crate::text::{Role, clean_line};
use hob_wire::RunId;
use hob_wire::rooms::agent::{RunState, RunView};
use hob_wire::rooms::onboard::{OnboardChooseResult, OnboardOptionsResult, OnboardOutcome};

impl Model {
    pub(super) fn take_reply(&mut self, reply: Reply) -> Vec<Effect> {
        match reply {
            Reply::Run {
                message,
                was_working,
                result,
            } => return self.take_run(&message, was_working, result),
            Reply::Stopped(Ok(stopped)) => {
                let text = match stopped.runs.len() {
                    0 => "Nothing is running here.".to_owned(),
                    1 => "The run was stopped.".to_owned(),
                    count => format!("{count} runs were stopped."),
                };
                self.run = None;
                self.notify(text, Role::Quiet);
            }
            Reply::Answered { question, result } => {
                if let Err(failure) = result {
                    self.cards.refused(&question, failure.sentence);
                }
            }
            Reply::Questions(Ok(questions)) => {
                self.cards.replace(questions, self.now);
            }
            Reply::Status { session, view } => {
                if session == self.session() {
                    self.take_status(view.map(|view| *view));
                }
            }
            Reply::Cost { session, summary } => {
                if session == self.session() {
                    self.cost = summary.map(|summary| summary.total).unwrap_or_default();
                }
            }
            Reply::Screen { screen, data } => return self.take_screen(screen, data),
            Reply::Forked(Ok(session)) => {
                self.notify("This is the copy; the first one stays.", Role::Good);
                let mut effects = self.show(Screen::Chat);
                effects.extend(self.follow_session(session));
                return effects;
            }
            Reply::Service(Ok(text)) => {
                self.notify(clean_line(&text), Role::Quiet);
                return self.read_list();
            }
            Reply::Options {
                is_state_only,
                result: Ok(result),
            } => return self.take_options(is_state_only, result),
            // A daemon of a former version has no such method, and then there is no choice.
            Reply::Options { .. } | Reply::Nothing => {}
            Reply::Chosen(result) => return self.take_choice(result),
            Reply::Stopped(Err(failure))
            | Reply::Questions(Err(failure))
            | Reply::Forked(Err(failure))
            | Reply::Service(Err(failure)) => self.fail(&failure),
        }
        Vec::new()
    }

    fn fail(&mut self, failure: &Failure) {
        self.notify(clean_line(&failure.sentence), Role::Bad);
    }

    fn take_run(
        &mut self,
        message: &str,
        was_working: bool,
        result: Result<RunId, Failure>,
    ) -> Vec<Effect> {
        match result {
            Ok(id) => {
                let known = self.run.as_ref().map(|run| run.id);
                if was_working && known == Some(id) {
                    self.notify("The run reads it at its next step.", Role::Quiet);
                } else if was_working && known.is_some() {
                    self.notify("It is next after the current run.", Role::Quiet);
                } else if known.is_none() {
                    self.run = Some(self.new_run(id, RunState::Queued));
                    // It may have ended before this reply was read.
                    let session = self.session().to_owned();
                    return vec![Effect::Call(Request::RunStatus(session))];
                }
            }
            Err(failure) => {
                // Nothing that was written is lost.
                if self.composer.is_empty() {
                    self.composer.set_text(message);
                }
                self.fail(&failure);
                if failure.lacks_model {
                    return self.show(Screen::Onboard);
                }
            }
        }
        Vec::new()
    }

    fn take_status(&mut self, view: Option<RunView>) {
        let Some(view) = view.filter(|view| view.state != RunState::Done) else {
            self.run = None;
            return;
        };
        let known = self.run.take().filter(|known| known.id == view.run_id);
        let is_stopping = known.as_ref().is_some_and(|known| known.is_stopping);
        let age = self
            .wall_ms
            .saturating_sub(view.started_at.unwrap_or(self.wall_ms));
        self.run = Some(ActiveRun {
            id: view.run_id,
            state: view.state,
            model: view.model.map(|model| clean_line(&model)),
            step: view.step.max(1),
            since: known.map_or(self.now.saturating_sub(age), |known| known.since),
            is_stopping,
        });
    }

    fn take_screen(
        &mut self,
        screen: Screen,
        data: Result<Box<ScreenData>, Failure>,
    ) -> Vec<Effect> {
        let former = std::mem::replace(&mut self.list_reading, ListReading::Idle);
        if screen == self.screen {
            match data {
                Ok(data) => self.list.fill(&data, self.wall_ms),
                Err(failure) => self.fail(&failure),
            }
        }
        if former == ListReading::ReadingStale || screen != self.screen {
            return self.read_list();
        }
        Vec::new()
    }

    fn take_options(&mut self, is_state_only: bool, result: OnboardOptionsResult) -> Vec<Effect> {
        if is_state_only {
            if let Some(model) = &result.model {
                self.answering.get_or_insert_with(|| clean_line(model));
                if self.onboard.waits() {
                    return self.model_ready();
                }
            }
            if result.offer && self.screen == Screen::Chat && !self.onboard.waits() {
                return self.show(Screen::Onboard);
            }
            return Vec::new();
        }
        self.onboard.chosen = 0;
        self.onboard.options = Some(result);
        Vec::new()
    }

    fn take_choice(&mut self, result: Result<OnboardChooseResult, Failure>) -> Vec<Effect> {
        self.onboard.is_busy = false;
        match result {
            Ok(chosen) => {
                self.onboard.message = Some(clean_line(&chosen.message));
                match chosen.outcome {
                    OnboardOutcome::Ready => return self.model_ready(),
                    OnboardOutcome::Installing => self.onboard.wait(self.now),
                    OnboardOutcome::Declined => return self.show(Screen::Chat),
                    OnboardOutcome::Refused => {}
                }
            }
            Err(failure) => self.onboard.message = Some(clean_line(&failure.sentence)),
        }
        Vec::new()
    }

    fn model_ready(&mut self) -> Vec<Effect> {
        self.onboard.stop_waiting();
        self.notify("A model is ready. Ask it something.", Role::Good);
        self.show(Screen::Chat)
    }
}
