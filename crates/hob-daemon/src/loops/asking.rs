//! The heart of an iteration: what is shown is put on record, the agent is asked with a key, and
//! its answer is waited for. After a crash the run that the key made is found and waited for.

use super::Shared;
use super::words::{moment, session_key, sum, watched};
use hob_core::rounds::{Shown, prompt};
use hob_store::{Prompted, StoreError};
use hob_wire::rooms::agent::{
    Abort, Cause, Cost, Run, RunParams, RunSelector, RunState, Wait, WaitParams,
};
use hob_wire::rooms::loops::{KIND, LoopConfig, MonitorOutput};
use hob_wire::work::Budget;
use hob_wire::{ErrorCode, RunId, WireError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

/// How long one wait for a run takes at the most: so soon it is noticed that a run waits for a
/// person.
const WAIT_MS: u64 = 10_000;
/// Why an iteration is given up that a crash cut off in the middle of a call.
const IN_DOUBT: &str = "It was cut off in the middle of a call, and nobody is there to say whether that call happened.";
/// Before the agent is asked again after it could not answer.
const AGAIN: Duration = Duration::from_millis(500);
/// How long a stopped run may take to end before it is told again.
const ABORT_AGAIN: Duration = Duration::from_secs(5);

/// What an iteration needs.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) name: String,
    pub(super) iteration: u32,
    pub(super) config: LoopConfig,
    pub(super) monitor: Option<MonitorOutput>,
    /// What all iterations of this start may still cost.
    pub(super) money_left: Option<u64>,
    /// Told which run it is, once there is one.
    pub(super) begun: Option<oneshot::Sender<RunId>>,
    pub(super) stop: CancellationToken,
}

/// How an iteration went.
#[derive(Clone, Debug, Default)]
pub(super) struct Answer {
    pub(super) success: bool,
    pub(super) cause: Option<Cause>,
    /// Why it failed.
    pub(super) message: Option<String>,
    pub(super) text: String,
    /// With what its children cost.
    pub(super) cost: Cost,
}

impl Answer {
    pub(super) fn failed(message: String) -> Answer {
        Answer {
            message: Some(message),
            ..Answer::default()
        }
    }
}

/// Asks, or goes on waiting for the answer of an iteration that was asked before.
pub(super) async fn ask(shared: Arc<Shared>, mut question: Question) -> Answer {
    let begun = match begin(&shared, &question).await {
        Ok(Some(run)) => run,
        Ok(None) => {
            return Answer {
                cause: Some(Cause::Aborted),
                ..Answer::failed("It was stopped before it was asked.".to_owned())
            };
        }
        Err(error) => return Answer::failed(error.message),
    };
    if let Some(told) = question.begun.take() {
        // Nobody may listen any more.
        let _ = told.send(begun);
    }
    match finish(&shared, begun, &question.stop).await {
        Ok(answer) => answer,
        Err(error) => Answer::failed(error.message),
    }
}

/// The run of this iteration: the one that is there, or a new one; none when it was stopped first.
async fn begin(shared: &Shared, question: &Question) -> Result<Option<RunId>, WireError> {
    let store = &shared.parts.store;
    let key = session_key(&question.name, question.iteration);
    let run = match store.run_of_session(&key).await? {
        Some(run) => run,
        None if question.stop.is_cancelled() => return Ok(None),
        None => {
            let params = request(shared, question, key).await?;
            hob_kit::failpoint::reach("loop.ask.before");
            let reply = shared.caller.call::<Run>(&params).await?;
            hob_kit::failpoint::reach("loop.ask.after");
            reply.run_id
        }
    };
    let prompted = Prompted {
        name: question.name.clone(),
        number: question.iteration,
        run,
        monitor: question.monitor.clone(),
    };
    store.prompt_iteration(prompted).await?;
    Ok(Some(run))
}

/// What the agent is asked, after the memories it shows were put on record.
async fn request(
    shared: &Shared,
    question: &Question,
    key: String,
) -> Result<RunParams, WireError> {
    let store = &shared.parts.store;
    let (name, config) = (&question.name, &question.config);
    let (persistent, working) = store.show_memories(name, question.iteration).await?;
    let previous = store.last_response(name).await?;
    let at = question.monitor.as_ref().map(|output| moment(output.at));
    let shown = Shown {
        persistent: &persistent.text,
        working: &working.text,
        watched: question
            .monitor
            .as_ref()
            .map(|output| watched(output, at.as_deref().unwrap_or_default())),
        previous: &previous,
        task: &config.user,
        iteration: question.iteration,
    };
    let mut budget: Budget = config.budget.into();
    if let Some(left) = question.money_left {
        budget.micro_dollars = Some(budget.micro_dollars.map_or(left, |most| most.min(left)));
    }
    Ok(RunParams {
        task: prompt(&shown),
        idempotency_key: Some(key.clone()),
        session_key: key,
        kind: Some(KIND.to_owned()),
        model: config.model.clone(),
        budget: Some(budget),
        system: Some(config.system.clone()).filter(|system| !system.is_empty()),
        tools: config.tools.clone(),
        workspace: config.workspace.clone(),
        unattended: true,
        ..RunParams::default()
    })
}

/// Waits for the end of a run; ends it when the iteration is stopped.
async fn finish(
    shared: &Shared,
    run: RunId,
    stop: &CancellationToken,
) -> Result<Answer, WireError> {
    let waited = tokio::select! {
        waited = done(shared, run) => waited?,
        () = stop.cancelled() => Waited::Stopped,
    };
    if waited != Waited::Done {
        tokio::select! {
            () = ended(shared, run) => {}
            never = abort(shared, run) => never,
        }
    }
    let store = &shared.parts.store;
    let row = store.run(&run).await?;
    let below = match store.family_cost(&run).await {
        Ok(below) => below,
        Err(StoreError::NotFound(_)) => Cost::default(),
        Err(error) => return Err(error.into()),
    };
    let summary = row.summary;
    let why = match waited {
        Waited::InDoubt => Some(IN_DOUBT.to_owned()),
        Waited::Done | Waited::Stopped => summary.message,
    };
    let why = || why.unwrap_or_else(|| "It ended without an answer.".to_owned());
    Ok(Answer {
        success: summary.success,
        cause: summary.cause,
        message: (!summary.success).then(why),
        text: summary.text,
        cost: sum(summary.cost, below),
    })
}

/// Why nobody waits for a run any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waited {
    Done,
    /// It waits for a person, who is not there.
    InDoubt,
    Stopped,
}

/// Waits until a run is over, or would wait for ever.
async fn done(shared: &Shared, run: RunId) -> Result<Waited, WireError> {
    let wait = WaitParams {
        run_id: run,
        wait_ms: Some(WAIT_MS),
    };
    loop {
        match shared.caller.call::<Wait>(&wait).await {
            Ok(view) if view.state == RunState::Done => return Ok(Waited::Done),
            Ok(view) if view.state == RunState::InDoubt => return Ok(Waited::InDoubt),
            Ok(_) => {}
            // Its session was deleted, and it with it.
            Err(error) if error.code == ErrorCode::NotFound => return Err(error),
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Waits until a run is over that was told to end.
async fn ended(shared: &Shared, run: RunId) {
    loop {
        match done(shared, run).await {
            Ok(Waited::Done) | Err(_) => return,
            Ok(_) => tokio::time::sleep(AGAIN).await,
        }
    }
}

/// Tells a run to end, again and again; its end is seen by who waits for it.
async fn abort<T>(shared: &Shared, run: RunId) -> T {
    let selector = RunSelector {
        run_id: Some(run),
        session_key: None,
    };
    loop {
        let told = shared.caller.call::<Abort>(&selector).await;
        tokio::time::sleep(if told.is_ok() { ABORT_AGAIN } else { AGAIN }).await;
    }
}
