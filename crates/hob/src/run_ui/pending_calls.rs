//! The calls a run watcher waits for beside its events: a status, the end of a stop, a person's
//! answer. At most one of each kind is pending.

use super::question::{self, UserAnswer, UserQuestion};
use super::run_watcher::selector;
use super::terminal_user::TerminalUser;
use crate::failure::CommandFailure;
use crate::render::ScreenStyle;
use hob_client::{Client, ClientError};
use hob_core::child_runs;
use hob_wire::id::RunId;
use hob_wire::rooms::agent::{
    Abort, AgentAbortResult, Allow, Resolve, RunInDoubtPayload, RunPausedPayload, RunRef, RunState,
    RunView, Status, ToolCallState,
};
use hob_wire::rooms::permission::{
    Answer, Pending, PermissionDecision, PermissionPendingParams, PermissionQuestion,
};
use std::cell::Cell;
use std::fmt;
use std::pin::Pin;
use std::rc::Rc;

type PendingFuture<'c, T> = Option<Pin<Box<dyn Future<Output = T> + 'c>>>;

/// The pending calls.
#[derive(Default)]
pub(super) struct PendingCalls<'c> {
    status: PendingFuture<'c, Result<RunView, ClientError>>,
    stop: PendingFuture<'c, Result<AgentAbortResult, ClientError>>,
    answer: PendingFuture<'c, PendingReply>,
    /// The question on the screen, or being answered.
    asked: Option<UserQuestion>,
    /// The person has answered, so the resulting `permission.answered` event is this client's own.
    is_answered: Rc<Cell<bool>>,
}

/// The result of a pending call.
pub(super) enum PendingReply {
    Status(Result<Box<RunView>, ClientError>),
    Stopped(Result<AgentAbortResult, ClientError>),
    Answered(Result<(), CommandFailure>),
    /// The person stops the run.
    Stop,
    /// The person postpones this question.
    Later(UserQuestion),
}

impl<'c> PendingCalls<'c> {
    pub(super) fn is_asking(&self) -> bool {
        self.asked.is_some()
    }

    pub(super) fn ask_status(&mut self, client: &Client, run: RunId) {
        let client = client.clone();
        self.status = Some(Box::pin(async move {
            client.call_with_retry::<Status>(&selector(run)).await
        }));
    }

    pub(super) fn stop(&mut self, client: &Client, run: RunId) {
        let client = client.clone();
        self.stop = Some(Box::pin(async move {
            client.call_with_retry::<Abort>(&selector(run)).await
        }));
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_some()
    }

    pub(super) fn give_up_stopping(&mut self) {
        self.stop = None;
    }

    /// Shows a question to the person and sends the answer.
    pub(super) fn ask(
        &mut self,
        asked: UserQuestion,
        person: &'c TerminalUser,
        screen: &'c ScreenStyle,
        client: &'c Client,
    ) {
        self.asked = Some(asked.clone());
        self.is_answered = Rc::default();
        let is_answered = Rc::clone(&self.is_answered);
        self.answer = Some(Box::pin(async move {
            let answer = asked.clone().ask(person, screen).await;
            // Set before sending: the event of this answer may arrive before the reply.
            is_answered.set(true);
            match answer {
                Ok(UserAnswer::Stop) => PendingReply::Stop,
                Ok(UserAnswer::Later) => PendingReply::Later(asked),
                Ok(answer) => PendingReply::Answered(send_answer(client, answer).await),
                Err(failure) => PendingReply::Answered(Err(failure)),
            }
        }));
    }

    /// Denies a question because nobody can be asked.
    pub(super) fn deny(&mut self, question: PermissionQuestion, client: &'c Client) {
        let answer = question::answer(&question, PermissionDecision::Deny, None);
        self.asked = Some(UserQuestion::Permission(Box::new(question)));
        self.is_answered = Rc::new(Cell::new(true));
        self.answer = Some(Box::pin(async move {
            PendingReply::Answered(send_answer(client, UserAnswer::Permission(answer)).await)
        }));
    }

    /// Withdraws the question on the screen if it matches and has no answer yet. Dropping its future
    /// restores the terminal.
    pub(super) fn withdraw(&mut self, is_it: impl FnOnce(&UserQuestion) -> bool) -> bool {
        let withdrawn = !self.is_answered.get() && self.asked.as_ref().is_some_and(is_it);
        if withdrawn {
            self.asked = None;
            self.answer = None;
        }
        withdrawn
    }

    /// Waits for the next result; forever when nothing is pending.
    pub(super) async fn next_reply(&mut self) -> PendingReply {
        tokio::select! {
            status = poll_pending(&mut self.status) => {
                self.status = None;
                PendingReply::Status(status.map(Box::new))
            }
            stopped = poll_pending(&mut self.stop) => {
                self.stop = None;
                PendingReply::Stopped(stopped)
            }
            reply = poll_pending(&mut self.answer) => {
                self.answer = None;
                self.asked = None;
                reply
            }
        }
    }
}

impl fmt::Debug for PendingCalls<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Duty")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

async fn poll_pending<T>(slot: &mut PendingFuture<'_, T>) -> T {
    match slot {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

async fn send_answer(client: &Client, answer: UserAnswer) -> Result<(), CommandFailure> {
    match answer {
        UserAnswer::Permission(params) => drop(client.call_with_retry::<Answer>(&params).await?),
        UserAnswer::Doubt(params) => drop(client.call_with_retry::<Resolve>(&params).await?),
        UserAnswer::Budget(params) => drop(client.call_with_retry::<Allow>(&params).await?),
        UserAnswer::Stop | UserAnswer::Later => {}
    }
    Ok(())
}

/// The open questions of a run from before the subscription.
pub(super) async fn open_questions(
    client: &Client,
    view: &RunView,
) -> Result<Vec<UserQuestion>, CommandFailure> {
    let pending = client
        .call_with_retry::<Pending>(&PermissionPendingParams::default())
        .await?;
    let questions = pending.questions.into_iter();
    let mine = questions.filter(|question| {
        let is_childs = child_runs::is_descendant(&question.session_key, &view.session_key);
        question.run_id == view.run_id || is_childs
    });
    let permissions = mine.map(|question| UserQuestion::Permission(Box::new(question)));
    Ok(permissions.chain(questions_in_view(view)).collect())
}

/// The questions that the run's view contains: calls in doubt and a used-up budget.
fn questions_in_view(view: &RunView) -> Vec<UserQuestion> {
    let of = || RunRef {
        session_key: view.session_key.clone(),
        run_id: view.run_id,
    };
    let doubts = view.calls.iter();
    let doubts = doubts.filter(|call| call.state == ToolCallState::InDoubt);
    let doubts = doubts.map(|call| {
        UserQuestion::Doubt(Box::new(RunInDoubtPayload {
            run: of(),
            step: call.step,
            call: call.call.clone(),
            began_at: view.started_at.unwrap_or(view.queued_at),
            known: "It had started when the daemon ended; the time is the start of its run."
                .to_owned(),
        }))
    });
    let paused = (view.state == RunState::Paused).then(|| {
        UserQuestion::Budget(RunPausedPayload {
            run: of(),
            message: "The run paused because a budget does not cover its next call.".to_owned(),
        })
    });
    doubts.chain(paused).collect()
}
