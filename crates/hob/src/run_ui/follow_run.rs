//! Starts a run, or joins a running one, and follows it to its end.
//!
//! Invariant: the subscription comes before the run starts, so no event is missed.

use super::outcome::FollowOutcome;
use super::pending_calls;
use super::run_watcher::RunWatcher;
use super::terminal_user::TerminalUser;
use crate::context::CommandContext;
use crate::failure::{CommandFailure, ExitStatus};
use hob_client::{Client, ConnectionState, EventStream, SubscribeOptions};
use hob_wire::rooms::agent::{AgentRunParams, Run, RunRef, RunView};
use hob_wire::rooms::permission::{Attend, PermissionAttendParams};
use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The topics of a follower.
const TOPICS: [&str; 3] = ["run.*", "permission.*", "tool.*"];

/// The stream of SIGINT signals (Ctrl-C).
#[derive(Debug)]
pub struct InterruptSignals(Signal);

impl InterruptSignals {
    pub fn listen() -> Result<InterruptSignals, CommandFailure> {
        signal(SignalKind::interrupt())
            .map(InterruptSignals)
            .map_err(|error| {
                CommandFailure::failed(format!("Signals cannot be received: {error}."))
            })
    }

    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// The context of a run's UI: command, client and terminal user.
#[derive(Clone, Copy, Debug)]
pub struct RunUiContext<'c> {
    pub context: &'c CommandContext,
    pub client: &'c Client,
    /// The person who answers questions, if there is one.
    pub person: Option<&'c TerminalUser>,
    /// The person was told already that the demo model answers.
    pub is_demo_named: bool,
}

/// Starts a run and follows it to its end.
pub async fn run(
    ui: RunUiContext<'_>,
    params: &AgentRunParams,
    interrupts: &mut InterruptSignals,
) -> Result<FollowOutcome, CommandFailure> {
    // Before the run starts: its first events would be missed otherwise.
    let stream = subscribe(ui.client, &params.session_key).await?;
    attend(ui).await;
    let ordered = ui.client.call_with_retry::<Run>(params);
    let reply = tokio::select! {
        reply = ordered => reply?,
        // The daemon has not accepted the run as far as the client knows; if it did, the session
        // shows it.
        () = interrupts.next() => return Err(CommandFailure::quiet(ExitStatus::Interrupted)),
    };
    let following = {
        let of = RunRef {
            run_id: reply.run_id,
            session_key: reply.session_key,
        };
        RunWatcher::new(ui, stream, of, 1)
    };
    follow(following, ui, interrupts).await
}

/// Follows a run that is already running.
pub async fn join(
    ui: RunUiContext<'_>,
    view: &RunView,
    interrupts: &mut InterruptSignals,
) -> Result<FollowOutcome, CommandFailure> {
    let stream = subscribe(ui.client, &view.session_key).await?;
    attend(ui).await;
    let mut following = {
        let of = RunRef {
            run_id: view.run_id,
            session_key: view.session_key.clone(),
        };
        RunWatcher::new(ui, stream, of, view.step)
    };
    // Questions from before the subscription are not published again.
    let questions = pending_calls::open_questions(ui.client, view).await?;
    following.begin_joined(questions);
    follow(following, ui, interrupts).await
}

/// Follows a run to its end and keeps its questions marked as attended.
async fn follow(
    mut following: RunWatcher<'_>,
    ui: RunUiContext<'_>,
    interrupts: &mut InterruptSignals,
) -> Result<FollowOutcome, CommandFailure> {
    tokio::select! {
        ended = following.end(interrupts) => ended,
        never = keep_attended(ui) => match never {},
    }
}

/// Tells the daemon that this connection shows questions to a person, so that they wait without a
/// deadline. The error is ignored: without the scope to answer, or with an older daemon, questions
/// keep their deadline and show it.
async fn attend(ui: RunUiContext<'_>) {
    if ui.person.is_some() {
        let _ = ui
            .client
            .call_with_retry::<Attend>(&PermissionAttendParams {})
            .await;
    }
}

/// Attends again after each reconnection.
async fn keep_attended(ui: RunUiContext<'_>) -> Infallible {
    let mut link = ui.client.state();
    loop {
        if link.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let state = *link.borrow_and_update();
        if state == ConnectionState::Connected {
            attend(ui).await;
        }
    }
}

async fn subscribe(client: &Client, session: &str) -> Result<EventStream, CommandFailure> {
    let subscription = SubscribeOptions {
        session: Some(session.to_owned()),
        ..SubscribeOptions::to(TOPICS)
    };
    Ok(client.subscribe(subscription).await?)
}
