//! What a talk waits for beside its events: a status it asked for, the end of a stop, an answer
//! of the person. Each at most once at a time.

use super::following::selector;
use super::person::Person;
use super::question::{self, Asked, Said};
use crate::failure::Failure;
use crate::render::Screen;
use hob_client::{Client, ClientError};
use hob_core::family;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, Aborted, Allow, CallState, Resolve, RunInDoubtPayload, RunOf, RunPausedPayload,
    RunState, RunView, Status,
};
use hob_wire::rooms::permission::{Answer, Decision, Pending, PendingParams, Question};
use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

type Slot<'c, T> = Option<Pin<Box<dyn Future<Output = T> + 'c>>>;

/// What is under way.
#[derive(Default)]
pub(super) struct Duty<'c> {
    status: Slot<'c, Result<RunView, ClientError>>,
    stop: Slot<'c, Result<Aborted, ClientError>>,
    answer: Slot<'c, Reply>,
    /// The question on the screen, or being answered.
    asked: Option<Asked>,
    /// Whether its answer is given, so that what comes of it is ours.
    given: Rc<Cell<bool>>,
}

/// What came of it.
pub(super) enum Reply {
    Status(Result<Box<RunView>, ClientError>),
    Stopped(Result<Aborted, ClientError>),
    Answered(Result<(), Failure>),
    /// The person stops the run.
    Stop,
    /// The person leaves this question open.
    Later(Asked),
}

impl<'c> Duty<'c> {
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn ask_status(&mut self, client: &Client, run: RunId) {
        let client = client.clone();
        self.status = Some(Box::pin(async move {
            client.call_again::<Status>(&selector(run)).await
        }));
    }

    pub(super) fn stop(&mut self, client: &Client, run: RunId) {
        let client = client.clone();
        self.stop = Some(Box::pin(async move {
            client.call_again::<Abort>(&selector(run)).await
        }));
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn give_up_stopping(&mut self) {
        self.stop = None;
    }

    /// Puts a question to the person and sends what they say.
    pub(super) fn ask(
        &mut self,
        asked: Asked,
        person: &'c Person,
        screen: &'c Screen,
        client: &'c Client,
    ) {
        self.asked = Some(asked.clone());
        self.given = Rc::default();
        let given = Rc::clone(&self.given);
        self.answer = Some(Box::pin(async move {
            let said = asked.clone().ask(person, screen).await;
            given.set(true);
            match said {
                Ok(Said::Stop) => Reply::Stop,
                Ok(Said::Later) => Reply::Later(asked),
                Ok(said) => Reply::Answered(send(client, said).await),
                Err(failure) => Reply::Answered(Err(failure)),
            }
        }));
    }

    /// Denies what nobody can be asked.
    pub(super) fn deny(&mut self, question: Question, client: &'c Client) {
        let answer = question::answer(&question, Decision::Deny, None);
        self.asked = Some(Asked::Permission(Box::new(question)));
        self.given = Rc::new(Cell::new(true));
        self.answer = Some(Box::pin(async move {
            Reply::Answered(send(client, Said::Permission(answer)).await)
        }));
    }

    /// Takes back the question on the screen if it is one of these and has no answer yet; the
    /// terminal is as before.
    pub(super) fn withdraw(&mut self, is_it: impl FnOnce(&Asked) -> bool) -> bool {
        let withdrawn = !self.given.get() && self.asked.as_ref().is_some_and(is_it);
        if withdrawn {
            self.asked = None;
            self.answer = None;
        }
        withdrawn
    }

    /// The next thing that came of what is under way; never, when nothing is.
    pub(super) async fn reply(&mut self) -> Reply {
        tokio::select! {
            status = done(&mut self.status) => {
                self.status = None;
                Reply::Status(status.map(Box::new))
            }
            stopped = done(&mut self.stop) => {
                self.stop = None;
                Reply::Stopped(stopped)
            }
            reply = done(&mut self.answer) => {
                self.answer = None;
                self.asked = None;
                reply
            }
        }
    }
}

impl fmt::Debug for Duty<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duty")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

async fn done<T>(slot: &mut Slot<'_, T>) -> T {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn send(client: &Client, said: Said) -> Result<(), Failure> {
    match said {
        Said::Permission(params) => drop(client.call_again::<Answer>(&params).await?),
        Said::Doubt(params) => drop(client.call_again::<Resolve>(&params).await?),
        Said::Money(params) => drop(client.call_again::<Allow>(&params).await?),
        Said::Stop | Said::Later => {}
    }
    Ok(())
}

/// What a run asked before anybody listened.
pub(super) async fn open_questions(client: &Client, view: &RunView) -> Result<Vec<Asked>, Failure> {
    let pending = client
        .call_again::<Pending>(&PendingParams::default())
        .await?;
    let questions = pending.questions.into_iter();
    let mine = questions.filter(|question| {
        let is_childs = family::is_below(&question.session_key, &view.session_key);
        question.run_id == view.run_id || is_childs
    });
    let permissions = mine.map(|question| Asked::Permission(Box::new(question)));
    Ok(permissions.chain(told_by(view)).collect())
}

/// Questions that a run's own view tells of.
fn told_by(view: &RunView) -> Vec<Asked> {
    let of = || RunOf {
        session_key: view.session_key.clone(),
        run_id: view.run_id,
    };
    let doubts = view.calls.iter();
    let doubts = doubts.filter(|call| call.state == CallState::InDoubt);
    let doubts = doubts.map(|call| {
        Asked::Doubt(Box::new(RunInDoubtPayload {
            of: of(),
            step: call.step,
            call: call.call.clone(),
            began_at: view.started_at.unwrap_or(view.queued_at),
            known: "It had begun when the daemon went away; its run began at that time.".to_owned(),
        }))
    });
    let paused = (view.state == RunState::Paused).then(|| {
        Asked::Money(RunPausedPayload {
            of: of(),
            message: "The run paused because a budget does not cover its next call.".to_owned(),
        })
    });
    doubts.chain(paused).collect()
}
