//! What the daemon tells, beside blocks. Pure.

use super::{ActiveRun, Effect, LinkState, ListReading, Model, News, Request};
use crate::cards::Question;
use crate::screens::Screen;
use crate::text::{Role, clean_line};
use hob_wire::RunId;
use hob_wire::rooms::agent::RunState;

impl Model {
    pub(super) fn link_changed(&mut self, state: LinkState) -> Vec<Effect> {
        let former = std::mem::replace(&mut self.link, state);
        if former == state {
            return Vec::new();
        }
        match state {
            LinkState::Connected => {
                self.notify("The daemon is back.", Role::Good);
                let session = self.session().to_owned();
                // Its connections forgot who attends, and events may have been missed.
                let mut effects = vec![
                    Effect::Call(Request::Attend),
                    Effect::Call(Request::Questions),
                    Effect::Call(Request::RunStatus(session)),
                ];
                self.list_reading = ListReading::Idle;
                effects.extend(self.read_list());
                effects
            }
            LinkState::Searching | LinkState::Ended => Vec::new(),
        }
    }

    pub(super) fn take_news(&mut self, news: News) -> Vec<Effect> {
        match news {
            News::Asked(question) => return self.take_question(question),
            News::Answered { id } => self.cards.close(
                self.now,
                |it| matches!(it, Question::Permission(question) if question.id == id),
            ),
            News::CallEnded { run, call } => self.cards.close(self.now, |it| {
                matches!(it, Question::Doubt(doubt)
                    if doubt.run.run_id == run && doubt.call.id == call)
            }),
            News::Queued { session, run } => {
                if session == self.session() && self.run.is_none() {
                    self.run = Some(self.new_run(run, RunState::Queued));
                }
            }
            News::Started {
                session,
                run,
                model,
            } => {
                if session == self.session() {
                    let known = self.run.take().filter(|known| known.id == run);
                    let known = known.unwrap_or_else(|| self.new_run(run, RunState::Running));
                    self.run = Some(ActiveRun {
                        state: RunState::Running,
                        model: Some(clean_line(&model)),
                        ..known
                    });
                }
            }
            News::Step {
                session,
                run,
                step,
                input_tokens,
                model,
            } => {
                self.run_goes_on(run);
                if session == self.session() {
                    self.context_tokens = Some(input_tokens);
                    self.answering = Some(clean_line(&model));
                    self.take_step(run, step);
                }
            }
            News::Completed {
                session,
                run,
                is_success,
                message,
            } => return self.run_ended(&session, run, is_success, message),
            News::Server { session, text } => {
                if session == self.session() {
                    self.notify(clean_line(&text), Role::Quiet);
                }
            }
            News::ListChanged(screen) => {
                if self.screen == screen {
                    return self.read_list();
                }
            }
            News::Progress(text) => {
                let text = clean_line(&text);
                if self.screen == Screen::Onboard {
                    self.onboard.message = Some(text);
                } else {
                    self.notify(text, Role::Quiet);
                }
            }
        }
        Vec::new()
    }

    fn take_question(&mut self, question: Question) -> Vec<Effect> {
        let text = format!("hob asks: {}", clean_line(question.session()));
        let is_new = self.cards.ask(question, self.now);
        if is_new && !self.has_focus {
            return vec![Effect::Notify(text)];
        }
        Vec::new()
    }

    /// A run that goes on has more money and no doubt.
    fn run_goes_on(&mut self, run: RunId) {
        self.cards.close(self.now, |it| {
            it.run() == run && !matches!(it, Question::Permission(_))
        });
    }

    fn take_step(&mut self, run: RunId, step: u32) {
        if let Some(known) = self.run.as_mut().filter(|known| known.id == run) {
            known.step = known.step.max(step + 1);
            known.state = RunState::Running;
        }
    }

    fn run_ended(
        &mut self,
        session: &str,
        run: RunId,
        is_success: bool,
        message: Option<String>,
    ) -> Vec<Effect> {
        self.cards.close(self.now, |it| it.run() == run);
        if session != self.session() {
            return Vec::new();
        }
        if self.run.as_ref().is_some_and(|known| known.id == run) {
            self.run = None;
        }
        if let Some(message) = message.filter(|_| !is_success) {
            self.notify(clean_line(&message), Role::Warning);
        }
        let session = session.to_owned();
        let mut effects = vec![
            Effect::Call(Request::SessionCost(session.clone())),
            // Another one may be queued behind it.
            Effect::Call(Request::RunStatus(session)),
        ];
        if !self.has_focus {
            effects.push(Effect::Notify("hob: the run ended".to_owned()));
        }
        effects
    }

    pub(super) fn new_run(&self, id: RunId, state: RunState) -> ActiveRun {
        ActiveRun {
            id,
            state,
            model: None,
            step: 1,
            since: self.now,
            is_stopping: false,
        }
    }
}
