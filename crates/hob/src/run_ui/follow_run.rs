//! Ordering a run, or joining one on its way, and following it to its end.
//!
//! Invariant: the events are subscribed to before the run is ordered, so none is missed.

use super::duty;
use super::ending::Ending;
use super::following::Following;
use super::person::Person;
use crate::context::Context;
use crate::failure::{Exit, Failure};
use hob_client::{Client, EventStream, LinkState, Subscription};
use hob_wire::rooms::agent::{Run, RunOf, RunParams, RunView};
use hob_wire::rooms::permission::{Attend, AttendParams};
use std::convert::Infallible;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What a follower listens to.
const TOPICS: [&str; 3] = ["run.*", "permission.*", "tool.*"];

/// Ctrl-C as it comes.
#[derive(Debug)]
pub struct Interrupts(Signal);

impl Interrupts {
    pub fn listen() -> Result<Interrupts, Failure> {
        signal(SignalKind::interrupt())
            .map(Interrupts)
            .map_err(|error| Failure::failed(format!("Signals cannot be received: {error}.")))
    }

    pub async fn next(&mut self) {
        if self.0.recv().await.is_none() {
            std::future::pending::<()>().await;
        }
    }
}

/// Who talks, and on what.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'c> {
    pub context: &'c Context,
    pub client: &'c Client,
    /// Who can be asked, if anybody.
    pub person: Option<&'c Person>,
}

/// Orders a run and follows it to its end.
pub async fn run(
    setting: Setting<'_>,
    params: &RunParams,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    let stream = listen(setting.client, &params.session_key).await?;
    attend(setting).await;
    let ordered = setting.client.call_again::<Run>(params);
    let reply = tokio::select! {
        reply = ordered => reply?,
        // Nothing was accepted yet as far as we know; its session shows it otherwise.
        () = interrupts.next() => return Err(Failure::quiet(Exit::Interrupted)),
    };
    let following = {
        let of = RunOf {
            run_id: reply.run_id,
            session_key: reply.session_key,
        };
        Following::new(setting, stream, of, 1)
    };
    follow(following, setting, interrupts).await
}

/// Follows a run that is on its way already.
pub async fn join(
    setting: Setting<'_>,
    view: &RunView,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    let stream = listen(setting.client, &view.session_key).await?;
    attend(setting).await;
    let mut following = {
        let of = RunOf {
            run_id: view.run_id,
            session_key: view.session_key.clone(),
        };
        Following::new(setting, stream, of, view.step)
    };
    // What it asked before we came is not told again.
    let questions = duty::open_questions(setting.client, view).await?;
    following.begin_on_the_way(questions);
    follow(following, setting, interrupts).await
}

/// Follows a run to its end; meanwhile its questions wait for the person.
async fn follow(
    mut following: Following<'_>,
    setting: Setting<'_>,
    interrupts: &mut Interrupts,
) -> Result<Ending, Failure> {
    tokio::select! {
        ended = following.end(interrupts) => ended,
        never = keep_attending(setting) => match never {},
    }
}

/// Tells the daemon that this connection shows questions to a person, so that they wait for an
/// answer. Without the right to answer, or with a daemon that does not know it, they have their
/// deadline, and the question says so.
async fn attend(setting: Setting<'_>) {
    if setting.person.is_some() {
        let _ = setting.client.call_again::<Attend>(&AttendParams {}).await;
    }
}

/// Tells it again whenever the daemon was lost and found.
async fn keep_attending(setting: Setting<'_>) -> Infallible {
    let mut link = setting.client.state();
    loop {
        if link.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
        let state = *link.borrow_and_update();
        if state == LinkState::Connected {
            attend(setting).await;
        }
    }
}

async fn listen(client: &Client, session: &str) -> Result<EventStream, Failure> {
    let subscription = Subscription {
        session: Some(session.to_owned()),
        ..Subscription::to(TOPICS)
    };
    Ok(client.subscribe(subscription).await?)
}
